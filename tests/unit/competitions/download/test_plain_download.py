"""Plain downloads are arranged as competition folders, or refused with one line."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.app.downloads import prepare_download
from comind.competitions.competition_folder import load_competition
from comind.competitions.download.plain_download import arrange_download, is_code_competition
from comind.domain.competition import SAMPLE_SUBMISSION
from comind.errors import CompetitionError
from comind.splits.checked_plan import check_competition
from tests.examples import examples
from tests.unit.competitions.download.downloads import DOWNLOADS, REFUSED, Download, Refused, place

pytestmark = pytest.mark.slow


def _place(case: Download | Refused, root: Path) -> Path:
    """Write the files of a case as a folder or a zip."""
    return place(case.files(), root, packed=case.packed)


def _snapshot(source: Path) -> dict[Path, tuple[bytes, int]]:
    files = [path for path in (source, *source.rglob("*")) if path.is_file()]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize("case", DOWNLOADS, ids=lambda case: case.name)
def test_a_download_is_understood(case: Download, tmp_path: Path) -> None:
    """Tables, ids, labels and metric are inferred, the competition is valid, the source unchanged."""
    source = _place(case, tmp_path)
    before = _snapshot(source)
    layout = arrange_download(source, tmp_path / "project" / "download", describe=case.describe)
    competition = load_competition(layout.folder)
    assert competition.metric == case.metric
    assert competition.id_columns == case.ids
    assert competition.label_columns == case.labels
    report = "\n".join(layout.lines())
    for part in case.findings:
        assert part in report
    plan = check_competition(competition)
    assert plan.rows
    if competition.target_columns != SAMPLE_SUBMISSION:
        assert set(competition.target_columns) <= set(plan.data.sample.columns)
    assert _snapshot(source) == before


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_download_is_refused(case: Refused, tmp_path: Path) -> None:
    """What cannot be understood is refused with a line and a hint, and leaves no folder of data."""
    source = _place(case, tmp_path)
    target = tmp_path / "project" / "download"
    with pytest.raises(CompetitionError) as caught:
        arrange_download(source, target)
    message = str(caught.value).replace(str(source.parent) + "/", "")
    assert message.startswith(case.line)
    assert case.hint in caught.value.hint
    assert not target.exists()


def _case(name: str) -> Download:
    return next(case for case in DOWNLOADS if case.name == name)


def test_a_changed_description_is_kept(tmp_path: Path) -> None:
    """competition.yaml is written once; corrected by hand it stays, also when the files change."""
    source = _place(_case("numbers"), tmp_path)
    target = tmp_path / "project" / "download"
    described = arrange_download(source, target).folder / "competition.yaml"
    assert not arrange_download(source, target).kept
    described.write_text(described.read_text().replace("metric: rmse", "metric: mae"))
    (source / "notes.csv").write_text("a,b\n1,2\n")
    layout = arrange_download(source, target)
    assert layout.kept
    assert (target / "public" / "notes.csv").is_file()
    assert load_competition(target).metric == "mae"


def test_a_deleted_description_is_written_again(tmp_path: Path) -> None:
    """Without competition.yaml the folder is arranged anew, without leftovers of a killed run."""
    source = _place(_case("numbers"), tmp_path)
    target = tmp_path / "project" / "download"
    arrange_download(source, target)
    (target / "competition.yaml").unlink()
    (target / ".new-killed").mkdir()
    assert not arrange_download(source, target).kept
    assert load_competition(target).metric == "rmse"
    assert not (target / ".new-killed").exists()


def test_a_pickle_beside_the_tables_is_a_side_file(tmp_path: Path) -> None:
    """Only a pickle named like a table of the competition is refused."""
    source = _place(_case("numbers"), tmp_path)
    (source / "vocabulary.pkl").write_bytes(b"\x80\x04.")
    folder = arrange_download(source, tmp_path / "p" / "download").folder
    assert (folder / "public" / "vocabulary.pkl").is_file()


def test_no_second_copy_of_the_labels(tmp_path: Path) -> None:
    """Of train.csv and train.parquet one is left, as the other would show labels of validation rows."""
    source = _place(_case("numbers"), tmp_path)
    pd.read_csv(source / "train.csv").to_parquet(source / "train.parquet")
    folder = arrange_download(source, tmp_path / "p" / "download").folder
    assert [path.name for path in (folder / "public").glob("train*")] == ["train.csv"]


def test_json_lines_may_be_called_json(tmp_path: Path) -> None:
    """A record in each line of a .json file is a table, as of RNA sequences on Kaggle."""
    source = _place(_case("JSON lines"), tmp_path)
    plain = arrange_download(source, tmp_path / "p" / "plain").folder / "public/train.csv"
    for path in source.glob("*.jsonl"):
        path.rename(path.with_suffix(".json"))
    folder = arrange_download(source, tmp_path / "p" / "download").folder
    assert (folder / "public/train.csv").read_bytes() == plain.read_bytes()


def test_a_row_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    """A broken line far into a table is refused like one at its start."""
    source = _place(_case("JSON lines"), tmp_path)
    (source / "train.jsonl").write_text('{"id": 1, "price": 2}\n' * 2000 + "{broken\n")
    with pytest.raises(CompetitionError, match=r"train\.jsonl: cannot be read"):
        arrange_download(source, tmp_path / "p" / "download")


def test_nothing_is_done_twice(tmp_path: Path) -> None:
    """An unchanged download is not arranged again; a change of its files is noticed."""
    source = _place(_case("numbers in a zip"), tmp_path)
    target = tmp_path / "project" / "download"
    first = arrange_download(source, target)
    made = (target / "public").stat().st_ino
    assert arrange_download(source, target) == first
    assert (target / "public").stat().st_ino == made
    source.write_bytes(b"no archive any more")
    with pytest.raises(CompetitionError):
        arrange_download(source, target)


def test_values_beside_the_files_are_taken(tmp_path: Path) -> None:
    """A competition.yaml in the download answers what is open."""
    source = _place(next(case for case in REFUSED if case.name == "what to predict is open"), tmp_path)
    (source / "competition.yaml").write_text("target_columns: [price]\nmetric: mae\n")
    competition = load_competition(arrange_download(source, tmp_path / "p" / "download").folder)
    assert (competition.metric, competition.target_columns) == ("mae", ("price",))
    assert "price" in competition.label_columns


@pytest.mark.parametrize(
    "name", ["pictures in folders of classes", "pictures with classes in their names"]
)
def test_no_path_shows_a_label(name: str, tmp_path: Path) -> None:
    """Labels in folders or names are columns only; the number of a file says nothing about its label."""
    folder = arrange_download(_place(_case(name), tmp_path), tmp_path / "p" / "download").folder
    table = pd.read_csv(folder / "public" / "train.csv")
    paths = [path.relative_to(folder).as_posix() for path in folder.rglob("*.png")]
    assert not any(label in path for label in set(table["label"]) for path in paths)
    assert all((folder / "public" / file).is_file() for file in table["file"])
    first = table.sort_values("id")["label"].head(len(table) // 2)
    assert first.nunique() == 2


def test_answers_are_not_public(tmp_path: Path) -> None:
    """Of a folder with public/ and private/, only public/ is data; the rest is linked beside it."""
    source = tmp_path / "past"
    source.mkdir()
    _place(_case("numbers"), tmp_path).rename(source / "public")
    (source / "private").mkdir()
    (source / "private" / "answers.csv").write_text("id,price\n1,2\n")
    folder = arrange_download(source, tmp_path / "p" / "download").folder
    assert not list((folder / "public").rglob("answers.csv"))
    assert load_competition(folder).answers.is_file()


def test_a_link_is_refused(tmp_path: Path) -> None:
    """A symbolic link among the files could lead to labels, so it is refused."""
    source = _place(_case("numbers"), tmp_path)
    (source / "more.csv").symlink_to(source / "train.csv")
    with pytest.raises(CompetitionError, match=r"more\.csv is a symbolic link"):
        arrange_download(source, tmp_path / "p" / "download")


def test_a_table_of_as_many_rows_is_not_joined(tmp_path: Path) -> None:
    """Without a common column, a table of labels is joined only if its name has train in it."""
    source = _place(_case("numbers"), tmp_path)
    rows = len((source / "train.csv").read_text().splitlines()) - 1
    (source / "labels.csv").write_text("name\n" + "x\n" * rows)
    folder = arrange_download(source, tmp_path / "p" / "download").folder
    assert "name" not in pd.read_csv(folder / "public" / "train.csv").columns


def test_hidden_files_are_left_out(tmp_path: Path) -> None:
    """Files and folders of operating systems and of git are no data."""
    source = _place(_case("numbers"), tmp_path)
    (source / ".git").mkdir()
    (source / ".git" / "HEAD").write_text("x")
    (source / ".DS_Store").write_text("x")
    folder = arrange_download(source, tmp_path / "p" / "download").folder
    assert not [path for path in (folder / "public").rglob("*") if path.name.startswith((".", "HEAD"))]


def test_a_project_is_no_download(tmp_path: Path) -> None:
    """A folder that holds the project itself is refused, as its results would become data."""
    source = _place(_case("numbers"), tmp_path)
    with pytest.raises(CompetitionError, match="holds the project's folder"):
        prepare_download(source, source)


def test_two_downloads_of_one_name_have_two_folders(tmp_path: Path) -> None:
    """A download elsewhere with the same name does not replace the first."""
    folders = []
    for where in ("a", "b"):
        (tmp_path / where).mkdir()
        source = _place(_case("numbers in a zip"), tmp_path / where)
        folders.append(prepare_download(source, tmp_path / "project").folder)
    assert folders[0].name == "download"
    assert folders[1].name.startswith("download-")
    assert all((folder / "public" / "train.csv").is_file() for folder in folders)


@pytest.mark.parametrize(
    ("page", "train_rows", "test_rows", "said"),
    [
        ("This is a Code Competition.", 60, 20, "the page says 'Code Competition'"),
        ("Submissions must be made through Notebooks.", 60, 20, "the page says 'Submissions must be"),
        ("Scored on RMSE.", 600, 3, "test.csv is an example"),
        ("Scored on RMSE. Share notebooks and code.", 60, 20, None),
    ],
)
def test_a_code_competition_is_recognised(
    page: str, train_rows: int, test_rows: int, said: str | None, tmp_path: Path
) -> None:
    """By its page or a test.csv of a few rows; the report says what to submit instead of a file."""
    folder = tmp_path / "download"
    folder.mkdir()
    (folder / "description.md").write_text(page)
    rows = [f"{n},{n % 7},{n / 3}\n" for n in range(train_rows)]
    (folder / "train.csv").write_text("id,x,y\n" + "".join(rows))
    tests = [f"{n},{n % 7}\n" for n in range(train_rows, train_rows + test_rows)]
    (folder / "test.csv").write_text("id,x\n" + "".join(tests))
    layout = arrange_download(folder, tmp_path / "project" / "download")
    found = [each.text for each in layout.findings if each.topic == "code"]
    assert is_code_competition(layout.folder) == bool(found) == bool(said)
    assert all(text.startswith(said or "") and "submit the script" in text for text in found)


_CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=6)


@examples(60)
@given(
    names=st.lists(
        st.sampled_from(["train", "Test", "sample_submission", "labels", "extra", "y_train", "X_train"]),
        unique=True,
    ),
    suffix=st.sampled_from([".csv", ".tsv", ".txt", ".jsonl", ".json", ".csv.gz", ".parquet", ".zip"]),
    columns=st.lists(st.sampled_from(["id", "x", "y", "", "a;b"]), min_size=1, max_size=4),
    rows=st.lists(st.lists(_CELLS, min_size=1, max_size=4), max_size=6),
    packed=st.booleans(),
)
def test_any_download_is_understood_or_refused(
    names: list[str], suffix: str, columns: list[str], rows: list[list[str]], *, packed: bool
) -> None:
    """Whatever the files hold, the result is a competition or one line, and the source is unchanged."""
    content = "\n".join(",".join(cells) for cells in [columns, *rows]).encode("utf-8", "replace")
    files = {f"{name}{suffix}": content for name in names}
    case = Refused("any", "", lambda: files, "", "", packed=packed)
    with tempfile.TemporaryDirectory() as folder:
        source = _place(case, Path(folder))
        before = _snapshot(source)
        with suppress(CompetitionError):
            load_competition(arrange_download(source, Path(folder) / "p" / "download").folder)
        assert _snapshot(source) == before


def _killed_at(point: str, source: Path, target: Path) -> None:
    """Arrange a download in a process that is killed at a failpoint."""
    pid = os.fork()
    if pid == 0:
        os.environ["COMIND_KILL_AT"] = point
        arrange_download(source, target)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1]), f"never came to {point}"


def test_a_killed_arrangement_goes_on_with_the_files_that_are_unpacked(tmp_path: Path) -> None:
    """After kills between files and before the tables, each file of a zip is unpacked once."""
    files = {f"train/{label}/{n}.txt": f"{label} {n}" for label in ("cat", "dog") for n in range(20)}
    files |= {f"test/{n}.txt": f"unknown {n}" for n in range(5)}
    source = place({name: text.encode() for name, text in files.items()}, tmp_path, packed=True)
    whole = arrange_download(source, tmp_path / "whole" / "download").folder
    target = tmp_path / "killed" / "download"
    _killed_at("file-unpacked:7", source, target)
    assert len([path for path in target.rglob("*.txt") if path.is_file()]) == 7
    _killed_at("file-unpacked:11", source, target)
    assert len([path for path in target.rglob("*.txt") if path.is_file()]) == 18
    _killed_at("download-unpacked", source, target)
    unpacked = {path.stat().st_ino for path in target.rglob("*.txt") if path.is_file()}
    arrange_download(source, target)
    assert {path.stat().st_ino for path in target.rglob("*.txt") if path.is_file()} == unpacked
    found = {path.relative_to(target): path.read_bytes() for path in target.rglob("*") if path.is_file()}
    assert found == {
        path.relative_to(whole): path.read_bytes() for path in whole.rglob("*") if path.is_file()
    }


def test_a_failed_arrangement_leaves_no_files(tmp_path: Path) -> None:
    """What was linked of a download that cannot be understood is removed again."""
    source = place({"notes.csv": b"a,b\n1,2\n"}, tmp_path, packed=False)
    target = tmp_path / "project" / "download"
    with pytest.raises(CompetitionError):
        arrange_download(source, target)
    assert not list(target.glob(".files-*"))


def test_a_metric_of_a_file_beside_comes_along(tmp_path: Path) -> None:
    """The file that the download's competition.yaml names is beside the arranged one, and is used."""
    source = _place(_case("classes"), tmp_path)
    asked = "metric: {function: score.py:within, maximize: true, needs: labels}\n"
    (source / "competition.yaml").write_text(asked)
    (source / "score.py").write_text("def within(t, p):\n    return float((t == p).mean())\n")
    layout = arrange_download(source, tmp_path / "project" / "download")
    assert "score.py:within (competition.yaml)" in "\n".join(layout.lines())
    data = check_competition(load_competition(layout.folder)).data
    assert data.metric.name == "score.py:within"


def test_a_metrics_file_outside_of_the_download_is_not_taken(tmp_path: Path) -> None:
    """A path that leads out of the folder is refused when it is loaded, and nothing is copied."""
    source = _place(_case("classes"), tmp_path)
    asked = "metric: {function: ../score.py:within, maximize: true, needs: labels}\n"
    (source / "competition.yaml").write_text(asked)
    (source.parent / "score.py").write_text("")
    layout = arrange_download(source, tmp_path / "project" / "download")
    with pytest.raises(CompetitionError, match=r"competition.yaml: metric.function"):
        load_competition(layout.folder)
    assert not (layout.folder.parent / "score.py").exists()
