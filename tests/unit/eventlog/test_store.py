"""The event store: a log and its folded state, with one writer and any number of readers."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from comind.domain.value import Value
from comind.errors import CampaignError, DiskError, LogError
from comind.eventlog.log import Record
from comind.eventlog.store import EventStore, LogSchema, StateTail


class Booked(Value):
    """Something was added; one that is negative contradicts everything."""

    amount: int
    note: str = ""


def _apply(state: tuple[int, ...], record: Record[Booked]) -> tuple[int, ...]:
    if record.event.amount < 0:
        raise LogError("less than nothing was booked")
    return (*state, record.event.amount)


_SEALED = LogSchema(TypeAdapter(Booked), (), _apply)
_BARE = LogSchema(TypeAdapter(Booked), (), _apply, sealed=False)

Schema = LogSchema[tuple[int, ...], Booked]
both = pytest.mark.parametrize("schema", [_SEALED, _BARE], ids=["sealed", "bare"])


def _write(path: Path, schema: Schema, amounts: list[int]) -> bytes:
    with EventStore(path, schema) as store:
        for amount in amounts:
            store.record(Booked(amount=amount))
    return path.read_bytes()


@both
def test_what_is_recorded_is_the_state(tmp_path: Path, schema: Schema) -> None:
    """Each event is applied once it is written, and a reopened store has the same state."""
    path = tmp_path / "log.jsonl"
    with EventStore(path, schema) as store:
        assert store.state == ()
        assert store.record(Booked(amount=1)) == store.state == (1,)
        assert store.record(Booked(amount=2)) == store.state == (1, 2)
    with EventStore(path, schema) as again:
        assert again.state == (1, 2)


@both
@given(amounts=st.lists(st.integers(0, 10**6), max_size=8), where=st.floats(0, 1))
def test_a_log_truncated_at_any_byte_folds_to_its_complete_lines(
    tmp_path_factory: pytest.TempPathFactory, schema: Schema, amounts: list[int], where: float
) -> None:
    """A log truncated at any byte folds to its complete lines, and appending continues."""
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    whole = _write(path, schema, amounts)
    path.write_bytes(kept := whole[: round(where * len(whole))])
    left = tuple(amounts[: kept.count(b"\n")])
    assert schema.read(path) == left
    with EventStore(path, schema) as store:
        assert store.state == left
        store.record(Booked(amount=7))
    assert schema.read(path) == (*left, 7)


@both
def test_a_second_writer_is_refused_by_the_lock(tmp_path: Path, schema: Schema) -> None:
    """The lock is held until the store is closed; closing twice is allowed."""
    store = EventStore(tmp_path / "log.jsonl", schema)
    with pytest.raises(CampaignError, match="being written by another process"):
        EventStore(tmp_path / "log.jsonl", schema)
    store.close()
    store.close()
    EventStore(tmp_path / "log.jsonl", schema).close()


@both
def test_anyone_reads_beside_the_writer(tmp_path: Path, schema: Schema) -> None:
    """Reading takes no lock, sees each event once it is recorded, and creates no file."""
    path = tmp_path / "log.jsonl"
    assert schema.read(path) == ()
    assert not path.exists()
    with EventStore(path, schema) as store:
        for amount in range(3):
            store.record(Booked(amount=amount))
            assert schema.read(path) == store.state


def test_the_clock_goes_on(tmp_path: Path) -> None:
    """The elapsed time continues from the last record, or from a later given time."""
    path = tmp_path / "log.jsonl"
    with EventStore(path, _SEALED, elapsed=5000.0) as store:
        store.record(Booked(amount=1))
    with EventStore(path, _SEALED, elapsed=10.0) as again:
        assert 5000.0 <= again.elapsed < 5010.0


@both
def test_a_log_that_contradicts_itself_is_refused(tmp_path: Path, schema: Schema) -> None:
    """Contradicting records are errors for writer and readers, and the lock is released."""
    path = tmp_path / "log.jsonl"
    with EventStore(path, schema) as store, pytest.raises(LogError):
        store.record(Booked(amount=-1))
    for _ in range(2):
        with pytest.raises(LogError, match="less than nothing"):
            EventStore(path, schema)
    with pytest.raises(LogError, match="less than nothing"):
        schema.read(path)


@both
def test_a_tail_keeps_what_it_read_before_an_error(tmp_path: Path, schema: Schema) -> None:
    """Records before an invalid line are applied once, and reading continues when it is repaired."""
    path = tmp_path / "log.jsonl"
    lines = _write(path, schema, [1, 2, 3]).splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{}\n" + lines[2])
    tail = StateTail(path, schema)
    for _ in range(2):
        with pytest.raises(LogError, match="line 2"):
            tail.update()
        assert tail.state == (1,)
    path.write_bytes(b"".join(lines))
    assert tail.update() == (1, 2, 3)
    assert tail.update() == (1, 2, 3)


@both
@pytest.mark.parametrize("stray", [b"\n", b"\0\n", b"{}\n", b"[\n", b"\xff\n"])
def test_a_stray_line_is_found(tmp_path: Path, schema: Schema, stray: bytes) -> None:
    """An invalid line in the middle is an error that names it, and nothing is dropped."""
    path = tmp_path / "log.jsonl"
    first, second = _write(path, schema, [1, 2]).splitlines(keepends=True)
    path.write_bytes(first + stray + second)
    with pytest.raises(LogError, match="line 2"):
        EventStore(path, schema)
    assert path.read_bytes() == first + stray + second


def test_a_bare_line_is_the_event(tmp_path: Path) -> None:
    """Lines of an unsealed log are only the events."""
    assert _write(tmp_path / "log.jsonl", _BARE, [1]) == b'{"amount":1,"note":""}\n'


@contextmanager
def _no_file_larger_than(size: int) -> Iterator[None]:
    """Simulate a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@both
def test_what_the_disk_has_no_room_for_did_not_happen(tmp_path: Path, schema: Schema) -> None:
    """With a full disk state and log are unchanged, and appending works again with free space."""
    path = tmp_path / "log.jsonl"
    with EventStore(path, schema) as store:
        store.record(Booked(amount=1))
        size = path.stat().st_size
        with (
            _no_file_larger_than(size + 10),
            pytest.raises(DiskError, match="no space left on its disk for the log"),
        ):
            store.record(Booked(amount=2))
        assert store.state == (1,)
        assert path.stat().st_size == size
        store.record(Booked(amount=3))
    assert schema.read(path) == (1, 3)
