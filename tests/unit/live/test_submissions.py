"""The submission store is durable."""

from pathlib import Path

import pytest

from comind.errors import LiveError
from comind.live.fault_injection import RouteError
from comind.live.router import parse_body
from comind.live.scoring import GradingResult
from comind.live.submissions import Submission, SubmissionStore
from tests.unit.live.worlds import NOON, ROUTES, open_world, world_folder


def _submission() -> Submission:
    return Submission(ref=0, competition="small", user="ann", at=NOON, file_name="a.csv")


_RECORDED = (
    b'{"ref":1,"competition":"small","user":"ann","at":"2023-06-01T12:00:00Z","file_name":"a.csv",'
    b'"description":"","total_bytes":3,"marks":null}\n'
    b'{"ref":2,"competition":"small","user":"bob","at":"2023-06-01T12:00:00Z","file_name":"b.csv",'
    b'"description":"na\xc3\xafve \xe2\x80\xa8 \\"2\\"\\r\\n","total_bytes":6,"marks":null}\n'
    b'{"ref":1,"competition":"small","user":"ann","at":"2023-06-01T12:00:00Z","file_name":"a.csv",'
    b'"description":"","total_bytes":3,"marks":{"valid":true,"message":"","public":0.1,'
    b'"private":1e-7,"score":null}}\n'
)
"""A log of two submissions, one of them graded, from before logs were event stores."""


def _file(folder: Path, content: bytes) -> Path:
    path = folder / "uploaded.csv"
    path.write_bytes(content)
    return path


def test_a_recorded_book_is_read_and_gone_on_with(tmp_path: Path) -> None:
    """A log of an earlier version is read completely, and lines are still written byte for byte."""
    path = tmp_path / "submissions.jsonl"
    path.write_bytes(_RECORDED)
    store = SubmissionStore(tmp_path)
    ann, bob = store.select("small")
    store.close()
    assert (ann.ref, ann.user, ann.marks) == (
        1,
        "ann",
        GradingResult(valid=True, public=0.1, private=1e-7),
    )
    assert (bob.ref, bob.status, bob.description) == (2, "pending", 'naïve \u2028 "2"\r\n')
    assert path.read_bytes() == _RECORDED
    fresh = SubmissionStore(tmp_path / "fresh")
    for one in (ann, bob):
        fresh.accept(one.model_copy(update={"marks": None}), _file(tmp_path, b"x" * one.total_bytes))
    fresh.grade(ann.ref, GradingResult(valid=True, public=0.1, private=1e-7))
    fresh.close()
    assert (tmp_path / "fresh" / "submissions.jsonl").read_bytes() == _RECORDED


def test_a_torn_last_line_is_a_submission_that_never_was(tmp_path: Path) -> None:
    """A torn last line is dropped, and the next submission is written as a whole line."""
    store = SubmissionStore(tmp_path)
    store.accept(_submission(), _file(tmp_path, b"one"))
    store.close()
    with (tmp_path / "submissions.jsonl").open("ab") as file:
        file.write(b'{"ref": 2, "comp')
    again = SubmissionStore(tmp_path)
    assert again.accept(_submission(), _file(tmp_path, b"two")).ref == 2
    again.grade(2, GradingResult(valid=True, score=1.0))
    again.close()
    found = SubmissionStore(tmp_path).select("small")
    assert [(each.ref, each.status) for each in found] == [(1, "pending"), (2, "complete")]


def test_a_book_has_one_writer(tmp_path: Path) -> None:
    """A second server on the same folder is refused in one line."""
    store = SubmissionStore(tmp_path)
    with pytest.raises(LiveError, match="another server"):
        SubmissionStore(tmp_path)
    store.close()
    SubmissionStore(tmp_path).close()


def test_what_was_handed_in_is_kept_as_it_came(tmp_path: Path) -> None:
    """A submitted file is stored byte for byte under the submission's ref."""
    store = SubmissionStore(tmp_path)
    kept = store.accept(_submission(), _file(tmp_path, b"\xff\x00"))
    assert store.path(kept.ref).read_bytes() == b"\xff\x00"
    assert kept.total_bytes == 2


def test_a_request_that_no_file_could_hold_is_refused() -> None:
    """A request with a lone surrogate, which cannot be encoded, is refused."""
    with pytest.raises(RouteError, match="cannot be parsed"):
        parse_body(ROUTES["ListSubmissions"], b'{"competitionName": "\\ud800"}')


def test_a_file_without_a_header_is_graded_as_invalid(tmp_path: Path) -> None:
    """A file without a header is graded as invalid."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON)
    mine = tmp_path / "mine.csv"
    for content in ('"', ",", "\n\n"):
        mine.write_text(content)
        submitted = world.submit(mine)
        assert submitted.marks is None or not submitted.marks.valid
