"""Logs survive crashes and power failures, and detect every other change."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.log.campaign_events import CAMPAIGN_EVENTS, WorkFinished, WorkPlanned
from comind.errors import CampaignError, LogError
from comind.eventlog.log import EventLog, LogTail, is_written, read_log
from tests.unit.campaign.samples import code, failed, opened


def _write(path: Path, events: int = 3) -> bytes:
    with EventLog(path, CAMPAIGN_EVENTS) as log:
        log.append(opened())
        for number in range(events - 1):
            log.append(WorkPlanned(id=f"attempt-{number:03d}", work=code()))
    return path.read_bytes()


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    """A log returns its events in order, numbered, with times that never go back."""
    path = tmp_path / "log.jsonl"
    _write(path)
    with EventLog(path, CAMPAIGN_EVENTS) as log:
        log.append(WorkFinished(id="attempt-000", outcome=failed()))
    records = read_log(path, CAMPAIGN_EVENTS)
    assert [record.seq for record in records] == [0, 1, 2, 3]
    assert records[3].event == WorkFinished(id="attempt-000", outcome=failed())
    assert [record.elapsed for record in records] == sorted(record.elapsed for record in records)


@given(where=st.floats(0, 1, exclude_max=True))
def test_a_torn_tail_is_dropped(tmp_path_factory: pytest.TempPathFactory, where: float) -> None:
    """A torn last line is dropped at any length, and appending continues."""
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    whole = _write(path)
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    path.write_bytes(whole[: last + int(where * (len(whole) - last))])
    with EventLog(path, CAMPAIGN_EVENTS) as log:
        assert len(log.records) == 2
        log.append(WorkPlanned(id="attempt-001", work=code()))
    assert len(read_log(path, CAMPAIGN_EVENTS)) == 3


def test_zeros_after_a_power_cut_are_dropped(tmp_path: Path) -> None:
    """A tail of zeros, as a file system may leave it, counts as torn."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(_write(path) + b"\0" * 4096)
    with EventLog(path, CAMPAIGN_EVENTS) as log:
        assert len(log.records) == 3
        log.append(WorkFinished(id="attempt-000", outcome=failed()))
    assert len(read_log(path, CAMPAIGN_EVENTS)) == 4


@given(where=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_changed_byte_is_found(
    tmp_path_factory: pytest.TempPathFactory, where: float, flip: int
) -> None:
    """A change of any byte of a complete line is an error that names the line."""
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    whole = bytearray(_write(path))
    whole[int(where * (len(whole) - 1))] ^= flip  # all but the last newline: that is a torn tail
    path.write_bytes(bytes(whole))
    with pytest.raises(LogError, match="line"):
        read_log(path, CAMPAIGN_EVENTS)


def test_a_missing_line_is_found(tmp_path: Path) -> None:
    """A missing line is an error."""
    path = tmp_path / "log.jsonl"
    lines = _write(path).splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    with pytest.raises(LogError, match="line 2: checksum mismatch"):
        read_log(path, CAMPAIGN_EVENTS)


def test_a_log_has_one_writer(tmp_path: Path) -> None:
    """A second writer fails at once."""
    path = tmp_path / "log.jsonl"
    with EventLog(path, CAMPAIGN_EVENTS), pytest.raises(CampaignError, match="another process"):
        EventLog(path, CAMPAIGN_EVENTS)
    EventLog(path, CAMPAIGN_EVENTS).close()


def test_whether_a_log_is_written_is_seen_from_outside(tmp_path: Path) -> None:
    """A log counts as written from open to close; the check creates no file and stops no writer."""
    path = tmp_path / "log.jsonl"
    assert not is_written(path)
    assert not path.exists()
    with EventLog(path, CAMPAIGN_EVENTS) as log:
        assert is_written(path)
        log.append(opened())
    assert not is_written(path)


def test_a_tail_reads_each_record_once(tmp_path: Path) -> None:
    """A concurrent reader gets every record once."""
    path = tmp_path / "log.jsonl"
    tail = LogTail(path, CAMPAIGN_EVENTS)
    assert list(tail.read()) == []
    with EventLog(path, CAMPAIGN_EVENTS) as log:
        log.append(opened())
        assert [record.seq for record in tail.read()] == [0]
        log.append(WorkPlanned(id="attempt-000", work=code()))
        assert [record.seq for record in tail.read()] == [1]
        assert list(tail.read()) == []


def test_the_clock_goes_on_where_it_was(tmp_path: Path) -> None:
    """The elapsed time of a reopened log continues from its last record, or a later given time."""
    path = tmp_path / "log.jsonl"
    _write(path)
    with EventLog(path, CAMPAIGN_EVENTS, elapsed=5000.0) as log:
        record = log.append(WorkFinished(id="attempt-000", outcome=failed()))
    assert 5000.0 <= record.elapsed < 5010.0


def test_time_before_a_log_was_opened_is_added(tmp_path: Path) -> None:
    """Seconds that a start took count as running time."""
    seconds = iter([100.0, 107.0])
    with EventLog(tmp_path / "log.jsonl", CAMPAIGN_EVENTS, now=lambda: next(seconds)) as log:
        log.add_time(20)
        assert log.elapsed == 27.0


def test_an_event_of_another_version_is_named(tmp_path: Path) -> None:
    """A complete line with an unknown event is an error with a hint."""
    path = tmp_path / "log.jsonl"
    _write(path)
    from comind.campaign.log.work_events import WORK_EVENTS

    with pytest.raises(LogError, match="not an event of this version"):
        read_log(path, WORK_EVENTS)
