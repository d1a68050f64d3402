"""The description of a problem: the data profile is computed on demand, then cached."""

from pathlib import Path

import pytest
from PIL import Image

from comind.competitions.competition_folder import load_competition
from comind.domain.competition import SplitRule
from comind.domain.problem import DataShape
from comind.llm.tokens import count_tokens
from comind.profile.problem_description import describe_problem
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from comind.system.files import hash_tree
from tests.unit.competitions.folders import competition_folder, raw


@pytest.fixture
def split(tmp_path: Path) -> SplitFolder:
    """The split of a small competition with odd side files."""
    folder = competition_folder(tmp_path)
    raw("public/empty.csv", b"")(folder)
    raw("public/binary.csv", b"\xff\xfe\0")(folder)
    raw("public/notes.txt", b"five.")(folder)
    raw("public/images/a.dat", b"")(folder)
    return make_split(load_competition(folder), tmp_path / "splits", seed=0)


def test_how_rows_were_cut_is_told(split: SplitFolder) -> None:
    """The words for the validation rows and for the folds are those of the split's own rule."""
    rule = SplitRule(kind="time", column="id")
    split.metadata.write_text(split.read().model_copy(update={"rule": rule}).model_dump_json())
    problem = describe_problem(split)
    assert problem.held_out == "the last rows by id"
    assert problem.fold_rows == "consecutive rows by id, fold 0 the earliest"


def test_side_files_may_be_anything(split: SplitFolder) -> None:
    """The profile describes the tables, whatever the side files are."""
    problem = describe_problem(split, count_tokens)
    assert problem.preview.startswith("train.csv: 30 rows, 3 columns")
    assert "notes.txt: 5 bytes" in problem.preview
    assert "empty.csv: 0 bytes, cannot be read as a table (is empty)" in problem.preview
    assert (problem.train_rows, problem.validation_rows, problem.test_rows) == (30, 10, 10)


def test_without_a_measure_nothing_is_counted(split: SplitFolder) -> None:
    """Without a token counter there is no profile and no cached file."""
    assert describe_problem(split).preview == ""
    assert not split.facts.exists()


def test_facts_are_counted_once(split: SplitFolder) -> None:
    """The profile is cached beside the public files, which do not change, and reused."""
    before = hash_tree(split.public)
    first = describe_problem(split, count_tokens).preview
    assert split.facts.read_text() == first
    assert hash_tree(split.public) == before == split.read().public_sha256
    split.facts.write_text("as an earlier version told it")
    assert describe_problem(split, count_tokens).preview == "as an earlier version told it"


def test_descriptions_are_truncated_beyond_fifty_thousand_characters(tmp_path: Path) -> None:
    """A description of 50,000 characters is complete; much longer ones are truncated."""
    folder = competition_folder(tmp_path)
    raw("public/description.md", "word " * 10_000 + "end")(folder)
    split = make_split(load_competition(folder), tmp_path / "splits", seed=0)
    assert describe_problem(split).description.endswith("end")
    (split.public / "description.md").write_text("x" * 100_000)
    assert len(describe_problem(split).description) == 60_000


def test_masks_of_images_are_a_shape_of_their_own(tmp_path: Path) -> None:
    """Rows whose label is a mask are images with masks; without images they are a table."""
    public = tmp_path / "public"
    (public / "images").mkdir(parents=True)
    (tmp_path / "competition.yaml").write_text(
        "id: shapes\ntitle: Shapes\nmetric: mean-dice\nid_columns: [id]\n"
        "label_columns: [mask]\ntarget_columns: [mask]\n"
    )
    rows = [f"p{row}" for row in range(60)]
    (public / "train.csv").write_text("id,mask\n" + "".join(f"{row},1 2\n" for row in rows[:40]))
    (public / "test.csv").write_text("id\n" + "".join(f"{row}\n" for row in rows[40:]))
    sample = "id,mask\n" + "".join(f"{row},1 1\n" for row in rows[40:])
    (public / "sample_submission.csv").write_text(sample)
    table = make_split(load_competition(tmp_path), tmp_path / "splits", seed=0)
    assert describe_problem(table).shape is DataShape.TABLE
    for row, name in enumerate(rows):
        Image.new("L", (4, 4), row).save(public / "images" / f"{name}.png")
    images = make_split(load_competition(tmp_path), tmp_path / "others", seed=0)
    assert describe_problem(images).shape is DataShape.MASKS
