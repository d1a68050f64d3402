"""Knowledge bases: what ships, files, hashes, and extraction from communities and papers."""

import json
import os
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from comind.errors import ReplyError, UsageError
from comind.knowledge.extraction import Source, community_sources, extract_entries, paper_sources
from comind.knowledge.knowledge_base import open_pinned, pin, read_base
from comind.knowledge.label_tree import label_tree
from comind.llm.exchange import ask
from comind.testing import ScriptedModel

_FINDING = {"kind": "trick", "title": "Scale: columns", "text": "Standardise each column."}
_EXTRACT = {"useful": True, "findings": [_FINDING]}
_LABELS = [{"numbers": [6]}, {"numbers": [1]}]


def test_the_shipped_base_is_labelled_and_dated() -> None:
    """Every entry has a date and labels of the tree; every kind of data has a method."""
    base = open_pinned(pin("builtin"))
    labels = {f"{top}/{each}" for top, below in label_tree().items() for each in below}
    assert len(base.entries) >= 40
    for entry in base.entries:
        assert entry.published is not None
        assert entry.labels
        assert set(entry.labels) <= labels
        assert not entry.competition
    covered = {label.split("/")[0] for entry in base.entries for label in entry.labels}
    assert len(covered & set(label_tree())) >= 9
    assert {entry.entry_type for entry in base.entries} == {"method", "trick"}


def test_an_as_of_time_hides_later_entries() -> None:
    """An entry of the day itself may be later than the moment, so it is hidden."""
    base = open_pinned(pin("builtin"))
    moment = datetime(2018, 12, 3, 12, tzinfo=UTC)
    seen = base.visible(moment)
    assert 0 < len(seen) < len(base.entries)
    assert all(each.published and each.published < date(2018, 12, 3) for each in seen)
    assert "catboost-for-categories" not in {each.id for each in seen}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "while parsing"),
        ("- id: a", "entry 0.kind: Field required"),
        ("- {id: a, kind: trick, title: t, text: t}\n" * 2, "two entries have the id 'a'"),
    ],
)
def test_a_file_that_is_no_base_is_refused(content: str, reason: str, tmp_path: Path) -> None:
    """The message names the file and the reason."""
    (tmp_path / "a.yaml").write_text(content)
    with pytest.raises(UsageError, match=reason):
        read_base(tmp_path)


def test_a_folder_of_model_cards_is_a_base(tmp_path: Path) -> None:
    """Each card is an entry without labels; a README is about the folder."""
    (tmp_path / "my net.md").write_text("# A net\n2020-01-02\nUse it.")
    (tmp_path / "README.md").write_text("Our models.")
    [entry] = read_base(tmp_path).entries
    assert (entry.id, entry.title, entry.published) == ("my-net", "A net", date(2020, 1, 2))
    assert entry.labels == ()


def test_an_empty_card_is_refused(tmp_path: Path) -> None:
    """The message names the file and the reason."""
    (tmp_path / "empty.md").write_text(" ")
    with pytest.raises(UsageError, match=r"empty\.md: the card's text: String should have at least 1"):
        read_base(tmp_path)


def test_a_missing_base_is_refused(tmp_path: Path) -> None:
    """A folder without files, and a path without a file, are no bases."""
    for path in (tmp_path, tmp_path / "no.yaml"):
        with pytest.raises(UsageError):
            pin(str(path))


def test_a_hash_depends_on_the_content_alone(tmp_path: Path) -> None:
    """The same entries in one file or two have one hash; another text has another."""
    first, second = (f"- {{id: {name}, kind: trick, title: t, text: t}}\n" for name in "ab")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "1.yaml").write_text(second)
    (tmp_path / "two" / "2.yaml").write_text(first)
    (tmp_path / "one.yaml").write_text(first + second)
    assert read_base(tmp_path / "two").sha256 == read_base(tmp_path / "one.yaml").sha256
    (tmp_path / "one.yaml").write_text(first)
    assert read_base(tmp_path / "two").sha256 != read_base(tmp_path / "one.yaml").sha256


def test_papers_have_the_date_of_their_name_or_header(tmp_path: Path) -> None:
    """A date in the name counts before one in the first lines; without any it is unknown."""
    (tmp_path / "2020-02-03 a.txt").write_text("# A title\n2019-01-01")
    (tmp_path / "b.md").write_text("B title\nDate: 2021-05-06\n")
    (tmp_path / "c.txt").write_text("C title")
    (tmp_path / "d.pdf").write_text("no text")
    found = [(each.title, each.published) for each in paper_sources(tmp_path)]
    assert found == [
        ("A title", date(2020, 2, 3)),
        ("B title", date(2021, 5, 6)),
        ("C title", None),
    ]


def test_a_date_that_does_not_exist_is_none(tmp_path: Path) -> None:
    """The next date counts; without any it is unknown."""
    (tmp_path / "2021-13-45.txt").write_text("A\n2020-01-02")
    (tmp_path / "2021-02-30.txt").write_text("B")
    assert [each.published for each in paper_sources(tmp_path)] == [None, date(2020, 1, 2)]


def test_a_paper_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    """The line names the file."""
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(UsageError, match=r"a\.txt: cannot be read \(Is a directory\)$"):
        list(paper_sources(tmp_path))


def test_a_community_is_read_by_votes(tmp_path: Path) -> None:
    """The discussions and notebooks with the most votes are sources, with competition and date."""
    threads = [
        {"id": name, "title": f"T{name}", "author": "a", "body": "Scale.", "votes": votes}
        | {"posted_at": "2021-01-02T00:00:00Z"}
        for name, votes in (("1", 3), ("2", 9))
    ]
    (tmp_path / "discussions.jsonl").write_text("".join(json.dumps(each) + "\n" for each in threads))
    [source] = community_sources(tmp_path, "demo", 1)
    assert (source.title, source.competition, source.published) == ("T2", "demo", date(2021, 1, 2))


def test_a_notebook_is_read_in_its_current_version(tmp_path: Path) -> None:
    """Former versions are no sources."""
    versions = [
        {"ref": "a/b", "version": number, "title": "N", "author": "a", "votes": 5, "language": "python"}
        | {"created_at": f"2021-01-0{number}T00:00:00Z", "source": f"x = {number}"}
        for number in (1, 3, 2)
    ]
    (tmp_path / "notebooks.jsonl").write_text("".join(json.dumps(each) + "\n" for each in versions))
    [source] = community_sources(tmp_path, "demo", 10)
    assert (source.text, source.published) == ("x = 3", date(2021, 1, 3))


def _extracted(base: Path, source: Source, *replies: dict[str, Any]) -> tuple[int | None, int]:
    model = ScriptedModel([json.dumps(each) for each in replies])
    return extract_entries(partial(ask, model), 32_000, base, source), len(model.requests)


_SOURCE = Source("post", "discussion 1", "How I did it", "I scaled.", date(2021, 1, 2), "demo")


def test_a_source_is_paid_once(tmp_path: Path) -> None:
    """Its entries have labels, date and competition; the same content costs nothing again."""
    assert _extracted(tmp_path, _SOURCE, _EXTRACT, *_LABELS) == (1, 3)
    assert _extracted(tmp_path, _SOURCE) == (None, 0)
    [entry] = read_base(tmp_path).entries
    assert (entry.entry_type, entry.title, entry.competition) == ("trick", "Scale: columns", "demo")
    assert entry.labels == ("tabular data/classification", "tabular data")
    assert entry.published == date(2021, 1, 2)
    assert read_base(tmp_path).visible(None, "demo") == ()


def test_a_source_of_no_use_is_paid_once_too(tmp_path: Path) -> None:
    """It leaves an empty file, and no entries."""
    assert _extracted(tmp_path, _SOURCE, {"useful": False}) == (0, 1)
    assert _extracted(tmp_path, _SOURCE) == (None, 0)
    assert read_base(tmp_path).entries == ()


@pytest.mark.parametrize("replies", [[{}] * 3, [_EXTRACT, *[{}] * 3]])
def test_a_source_that_fails_is_left_for_the_next_build(
    replies: list[dict[str, Any]], tmp_path: Path
) -> None:
    """Without valid replies nothing is written."""
    with pytest.raises(ReplyError):
        _extracted(tmp_path, _SOURCE, *replies)
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_no_text_costs_no_reply(tmp_path: Path) -> None:
    """A paper whose file name is no UTF-8 becomes entries like any other."""
    (tmp_path / os.fsdecode(b"about-\xff.md")).write_text("")
    [source] = paper_sources(tmp_path)
    source = source._replace(text="Trees grow.")
    assert _extracted(tmp_path, source, _EXTRACT, *_LABELS) == (1, 3)


def test_papers_are_entries_of_their_own_kind(tmp_path: Path) -> None:
    """Whatever the model calls a finding, that of a paper is a paper."""
    source = _SOURCE._replace(source_type="paper", competition="", published=None)
    _extracted(tmp_path, source, _EXTRACT, *_LABELS)
    [entry] = read_base(tmp_path).entries
    assert entry.entry_type == "paper"
    assert read_base(tmp_path).visible(datetime(2030, 1, 1, tzinfo=UTC)) == ()
