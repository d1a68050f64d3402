"""Activity: since when a cell has left no trace, and since when it has computed nothing."""

from hypothesis import given
from hypothesis import strategies as st

from comind.session.activity import Activity, Stall
from comind.session.load import CellUsage

_GIB = 1 << 30


def _usage(
    cpu: float, memory: int = _GIB, written_at: float = 5.0, gpu: float | None = None
) -> CellUsage:
    return CellUsage(cpu_seconds=cpu, memory_bytes=memory, written_at=written_at, gpu_percent=gpu)


def _after(*usages: CellUsage | None, printed_at: int | None = None) -> Stall:
    """Take one usage every 10 seconds, the first at 10 s; return the last stall."""
    activity, stall = Activity(), Stall()
    for number, usage in enumerate(usages):
        stall = activity.take(usage, 10.0 * (number + 1), printed=number == printed_at)
    return stall


def test_a_cell_that_does_nothing_is_idle_since_the_first_inspection() -> None:
    """An interpreter that waits uses a little processor time, which counts as none."""
    assert _after(_usage(3), _usage(3.1), _usage(3.25)) == Stall(20, 20, 0.0125)


def test_a_cell_that_computes_is_not_idle() -> None:
    """Processor time of any process of the session counts, and its mean is known."""
    assert _after(_usage(3), _usage(13), _usage(43)) == Stall(0, 20, 2.0)


def test_use_of_a_gpu_is_no_idleness() -> None:
    """A processor that waits for the GPU waits for something."""
    assert _after(_usage(3, gpu=90), _usage(3, gpu=90)).idle == 0
    assert _after(_usage(3, gpu=0), _usage(3, gpu=0)).idle == 10


def test_output_memory_and_files_are_traces() -> None:
    """Each begins both times anew; memory counts that a slow growth has added up, too."""
    assert _after(_usage(1), _usage(11), _usage(21), printed_at=2) == Stall()
    assert _after(_usage(1), _usage(11, written_at=6.0)) == Stall()
    assert _after(_usage(1), _usage(11, memory=2 * _GIB)) == Stall()
    growing = [_usage(1.0, memory=_GIB + number * _GIB // 250) for number in range(4)]
    assert [_after(*growing[:count]).unchanged for count in (1, 2, 3, 4)] == [0, 10, 20, 0]


def test_a_usage_that_is_not_known_is_no_stall() -> None:
    """Where nothing can be measured, and after a gap, nothing is said."""
    assert _after(None, None) == Stall()
    assert _after(_usage(1), None, _usage(1)) == Stall()
    assert _after(_usage(1), None, _usage(1), _usage(1)).idle == 10


@given(
    st.lists(
        st.tuples(st.floats(0, 50), st.integers(0, 1 << 40), st.booleans()), min_size=1, max_size=20
    )
)
def test_a_stall_is_no_longer_than_what_was_seen(steps: list[tuple[float, int, bool]]) -> None:
    """Whatever a cell uses, times are within those observed, and idle ones within those unchanged."""
    activity, cpu = Activity(), 0.0
    for number, (more, memory, printed) in enumerate(steps):
        cpu += more
        stall = activity.take(_usage(cpu, memory), 10.0 * (number + 1), printed=printed)
        assert 0 <= stall.idle <= stall.unchanged <= 10.0 * number
        assert stall.cores >= 0
