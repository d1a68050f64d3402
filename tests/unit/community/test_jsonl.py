"""A community folder is parsed as untrusted data."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.community.items import CommunityItems
from comind.community.jsonl import is_community_folder, read_community_folder
from comind.community.sanitize import sanitize, sanitize_line
from comind.domain.community import is_reference
from comind.errors import CommunityError
from tests.unit.community.folders import comment, community, dataset, discussion, notebook

_DEMOS = Path(__file__).parents[3] / "comind" / "demos" / "communities"


def _read(folder: Path, **files: list[object]) -> tuple[CommunityItems, list[str]]:
    items = read_community_folder(community(folder, **files))
    return items, [remark.text(numbered=True) for remark in items.remarks]


@pytest.mark.parametrize(
    ("name", "notebooks"),
    [("demo-tumours", 3), ("demo-diabetes", 3), ("demo-digits", 3), ("demo-mosaic", 4)],
)
def test_the_demos_are_read_whole(name: str, notebooks: int) -> None:
    """Nothing in the demos' communities is rejected."""
    items = read_community_folder(_DEMOS / name)
    assert items.remarks == ()
    assert len(items.notebooks) == notebooks
    assert all(notebook.source.strip() for notebook in items.notebooks)


def test_every_file_is_optional(tmp_path: Path) -> None:
    """A folder with one of the three files is a community folder."""
    items, said = _read(tmp_path, discussions=[discussion()])
    assert (len(items.notebooks), len(items.discussions), len(items.datasets)) == (0, 1, 0)
    assert said == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "notebooks.jsonl, line 2: is no JSON object"),
        ("[" * 100_000, "notebooks.jsonl, line 2: is no JSON object"),
        ("7", "notebooks.jsonl, line 2: is no JSON object"),
        (b"\xff\xfe{}", "notebooks.jsonl, line 2: is no JSON object"),
        (b'{"ref": "a/b", "title": "\\ud800"}', "notebooks.jsonl, line 2: is no JSON object"),
        ("{}", "notebooks.jsonl, line 2: ref: is missing"),
        (notebook("../../etc"), "notebooks.jsonl, line 2: ref: is not owner/name"),
        (notebook("a/../b"), "notebooks.jsonl, line 2: ref: is not owner/name"),
        (notebook("a/b\n"), "notebooks.jsonl, line 2: ref: is not owner/name"),
        (notebook(created_at="2023-03-01T12:00:00"), "ada/one: created_at: has no zone, such as Z"),
        (notebook(created_at="yesterday"), "ada/one: created_at: is no ISO 8601 time"),
        (notebook(created_at=1700000000), "ada/one: created_at: is no ISO 8601 time"),
        (notebook(created_at="0001-01-01T00:00:00+14:00"), "ada/one: created_at: is out of range"),
        (notebook(vote_times=["2023-03-01"]), "ada/one: vote_times: has no zone"),
        (notebook(votes=10**400), "ada/one: votes: "),
        (notebook(votes=-1), "ada/one: votes: "),
        (notebook(votes=True), "ada/one: votes: "),
        ('{"ref": "ada/one", "public_score": NaN, "source": ""}', "line 2: is no JSON object"),
        (notebook(title=["a"]), "ada/one: title: is no text"),
        (notebook(source=None), "ada/one: has neither source nor path"),
        (notebook(source='{"cells": 3}'), "ada/one: is not a Jupyter notebook"),
        (notebook(source=None, path="/etc/passwd"), "ada/one: path: is neither .py nor .ipynb"),
        (notebook(source=None, path="../secret.py"), "ada/one: path: no plain file"),
        (notebook(source=None, path="/secret.py"), "ada/one: path: no plain file"),
        (notebook(source=None, path="link.py"), "ada/one: path: no plain file"),
        (notebook(source=None, path="linked/secret.py"), "ada/one: path: no plain file"),
        (notebook(source=None, path="pipe.py"), "ada/one: path: no plain file"),
        (notebook(source=None, path="gone.py"), "ada/one: path: no plain file"),
        (notebook(source=None, path="nul\0.py"), "ada/one: path: no plain file"),
        (notebook(source=None, path=f"{'n' * 300}.py"), "ada/one: path: no plain file"),
    ],
)
def test_a_bad_item_is_left_out(tmp_path: Path, line: object, reason: str) -> None:
    """An invalid line is rejected with a one-line reason, and the other lines are used."""
    folder = tmp_path / "community"
    folder.mkdir()
    (tmp_path / "secret.py").write_text("password = 1\n")
    (folder / "link.py").symlink_to(tmp_path / "secret.py")
    (folder / "linked").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.py")
    items, said = _read(folder, notebooks=[notebook("good/first"), line, notebook("good/last", 2)])
    assert [each.ref for each in items.notebooks] == ["good/first", "good/last"]
    [remark] = said
    assert reason in remark
    assert remark.isprintable()
    assert len(remark) < 200


def test_a_bad_comment_leaves_the_thread(tmp_path: Path) -> None:
    """An invalid comment is rejected without its discussion."""
    comments = [comment("a"), {"id": "b", "posted_at": "never"}, 7, comment("c")]
    items, said = _read(tmp_path, discussions=[discussion(comments=comments)])
    assert [each.id for each in items.discussions[0].comments] == ["a", "c"]
    assert said == [
        "discussions.jsonl, 1: comment b: posted_at: is no ISO 8601 time",
        "discussions.jsonl, 1: a comment is no JSON object",
    ]


def test_numbers_are_ids_too(tmp_path: Path) -> None:
    """A numeric id, as Kaggle's discussions have, is accepted."""
    thread = discussion(id=17, comments=[comment("x", id=18), comment("y", id=19, parent=18)])
    items, said = _read(tmp_path, discussions=[thread])
    assert said == []
    assert items.discussions[0].id == "17"
    assert items.discussions[0].comments[1].parent == "18"


def test_an_unknown_key_is_said_once(tmp_path: Path) -> None:
    """Unknown keys are ignored, with one remark, as a key may be misspelt."""
    items, said = _read(tmp_path, notebooks=[notebook(vote_tims=[]), notebook("b/c", vote_tims=[])])
    assert len(items.notebooks) == 2
    assert set(said) == {"notebooks.jsonl: the unknown key 'vote_tims' is ignored"}


def test_links_to_strange_places_are_dropped(tmp_path: Path) -> None:
    """Of a notebook's declared sources, only valid `owner/name` references are kept."""
    line = notebook(datasets=["a/b", "../x", 7, "titanic"], notebooks=None, forked_from="../../x")
    items, _ = _read(tmp_path, notebooks=[line])
    assert items.notebooks[0].datasets == ("a/b",)
    assert items.notebooks[0].notebooks == ()
    assert items.notebooks[0].forked_from is None


def test_a_jupyter_notebook_becomes_a_program(tmp_path: Path) -> None:
    """Code cells become code, Markdown and magics comments, and outputs are dropped."""
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "text"]},
        {"cell_type": "code", "source": "!pip install x\n%time\nx = 1", "outputs": [{"png": "A" * 99}]},
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    inline = notebook("b/inline", source=json.dumps({"cells": cells}))
    items, said = _read(tmp_path, notebooks=[notebook(source=None, path="n.ipynb"), inline])
    assert said == []
    expected = "# %% [markdown]\n# # Title\n#\n# text\n\n# %%\n# !pip install x\n# %time\nx = 1\n"
    assert [each.source for each in items.notebooks] == [expected, expected]


def test_a_huge_source_is_truncated_with_a_mark(tmp_path: Path) -> None:
    """Source code beyond the limit is truncated with a mark."""
    (tmp_path / "huge.py").write_text("x = 1\n" * 1_000_000)
    lines = [notebook(source=None, path="huge.py"), notebook("b/c", source="y" * 250_000)]
    items, _ = _read(tmp_path, notebooks=lines)
    for each in items.notebooks:
        assert len(each.source) <= 200_000
        assert "[cut: " in each.source[-100:]


def test_binary_data_is_not_a_program(tmp_path: Path) -> None:
    """A binary file is replaced by a line with its size."""
    (tmp_path / "binary.py").write_bytes(bytes(range(256)) * 100)
    items, _ = _read(tmp_path, notebooks=[notebook(source=None, path="binary.py")])
    assert items.notebooks[0].source == "# [25600 bytes that are not text]\n"


def test_hidden_characters_are_gone(tmp_path: Path) -> None:
    """Control and invisible characters, in which instructions can hide, are stripped."""
    text = "a\x1b[31mb\u202ec\U000e0041d\x00e\r\nf\U0001f600\u200d"
    items, _ = _read(
        tmp_path,
        notebooks=[notebook(title=text, source=text)],
        discussions=[discussion(body=text, comments=[comment("a", body=text)])],
    )
    expected = "a[31mbcde\nf\U0001f600\u200d"
    assert items.notebooks[0].source == expected
    assert items.notebooks[0].title == "a [31mb c d e f\U0001f600\u200d"
    assert items.discussions[0].body == items.discussions[0].comments[0].body == expected


@pytest.mark.parametrize(
    ("breaks", "reason"),
    [
        (lambda file: file.write_bytes(bytes(range(256)) * 9), "is no JSON lines"),
        (lambda file: file.write_text('[\n{"ref":\n'), "is no JSON lines"),
        (lambda file: file.mkdir(), "is no plain file"),
        (os.mkfifo, "is no plain file"),
        (lambda file: file.symlink_to("/etc/passwd"), "is a symbolic link"),
        (lambda file: file.symlink_to("/nowhere"), "is a symbolic link"),
    ],
    ids=["binary", "pretty-printed", "folder", "pipe", "link", "link to nowhere"],
)
def test_a_broken_file_is_an_error(tmp_path: Path, breaks: object, reason: str) -> None:
    """A file that is invalid as a whole raises a one-line error that names it."""
    breaks(tmp_path / "notebooks.jsonl")  # type: ignore[operator]
    with pytest.raises(CommunityError, match=f"notebooks.jsonl: {reason}"):
        read_community_folder(tmp_path)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    """A missing folder, or one without any of the files, is an error."""
    assert not is_community_folder(tmp_path)
    for folder, reason in ((tmp_path, "is no community folder"), (tmp_path / "x", "no such folder")):
        with pytest.raises(CommunityError, match=reason):
            read_community_folder(folder)


def test_a_line_that_never_ends_is_passed_over(tmp_path: Path) -> None:
    """A line of a hundred megabytes is skipped in bounded memory, and the next one is read."""
    items, said = _read(tmp_path, notebooks=[b'{"ref": "' + b"a" * (100 << 20) + b'"}', notebook()])
    assert [each.ref for each in items.notebooks] == ["ada/one"]
    assert said == ["notebooks.jsonl, line 1: is no JSON object"]


@given(st.lists(st.one_of(st.binary(max_size=60), st.text(max_size=60)), max_size=5))
def test_no_line_can_break_the_reading(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes | str]
) -> None:
    """Arbitrary lines beside a valid item leave that item and at most one remark each."""
    plain = [line.encode() if isinstance(line, str) else line for line in lines]
    items, said = _read(tmp_path_factory.mktemp("any"), notebooks=[notebook(), *plain])
    assert [each.ref for each in items.notebooks] == ["ada/one"]
    assert all(text.isprintable() for text in said)


@given(st.text(), st.integers(100, 300))
def test_clean_text_is_bounded_and_clean(text: str, length: int) -> None:
    """Sanitizing truncates to the limit, and is idempotent."""
    cleaned = sanitize(text, length)
    assert len(cleaned) <= length
    assert sanitize(cleaned, length) == cleaned
    assert len(sanitize_line(text, length)) <= length
    assert "\n" not in sanitize_line(text, length)


@given(st.text(alphabet="a./-_\n\0\\", max_size=9))
def test_a_reference_is_two_safe_names(text: str) -> None:
    """Every accepted reference is two plain names that cannot leave a folder."""
    if is_reference(text):
        parts = text.split("/")
        assert len(parts) == 2
        assert all(part.strip(".") and not part.startswith((".", "-")) for part in parts)
        assert not set("\n\0\\") & set(text)


def test_a_dataset_tells_its_path(tmp_path: Path) -> None:
    """A dataset's path is kept as written, and validated when its files are copied."""
    items, _ = _read(tmp_path, datasets=[dataset(path="files/a.csv"), dataset("b/c")])
    assert [str(each.path) for each in items.datasets] == ["files/a.csv", "None"]


def test_what_was_observed_is_dated(tmp_path: Path) -> None:
    """Totals, tier and score of a line with `observed_at` count from then on; comments inherit it."""
    seen = {"observed_at": "2023-03-09T00:00:00Z", "vote_times": None, "votes": 7}
    items, said = _read(
        tmp_path,
        notebooks=[notebook(**seen, author_tier="master", public_score=0.5)],
        discussions=[discussion(**seen, comments=[comment("c", votes=2, vote_times=None)])],
        datasets=[dataset(observed_at="2023-03-09T00:00:00Z")],
    )
    assert said == []
    [one], [thread] = items.notebooks, items.discussions
    assert (one.votes, one.author_tier, one.public_score) == (0, "", None)
    [total] = one.observed
    assert (total.votes, total.author_tier, total.public_score) == (7, "master", 0.5)
    assert [each.votes for each in (*thread.observed, *thread.comments[0].observed)] == [7, 2]
    assert total.at == thread.comments[0].observed[0].at
