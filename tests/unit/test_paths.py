"""Resolve the argument COMPETITION to a folder."""

from pathlib import Path

import pytest

from comind.app.paths import find_or_fetch_competition
from comind.competitions.download.plain_download import arrange_download
from comind.errors import CompetitionError
from tests.unit.prepared import prepared_images


def test_prepared_data_are_adapted_once(tmp_path: Path) -> None:
    """Prepared data is adapted once, without the answers, and reused."""
    given, project = prepared_images(tmp_path / "mle"), tmp_path / "project"
    folder = find_or_fetch_competition(str(given), project)
    assert folder == project / "data" / "prepared" / given.name
    assert (folder / "public" / "test.csv").read_text() == "id\nc.jpg\n"
    assert not (folder / "private").exists()
    assert find_or_fetch_competition(str(given), project) == folder
    assert find_or_fetch_competition(str(folder), project) == folder


def test_what_is_nothing_stays_nothing(tmp_path: Path) -> None:
    """An unknown name raises a CompetitionError."""
    with pytest.raises(CompetitionError, match="there is no such folder"):
        find_or_fetch_competition("../nowhere", tmp_path)


def _download(folder: Path) -> Path:
    """Make a plain download."""
    folder.mkdir(parents=True)
    (folder / "train.csv").write_text("id,area,price\n" + "".join(f"{n},{n},{n}\n" for n in range(30)))
    (folder / "test.csv").write_text("id,area\n30,1\n31,2\n")
    return folder


def test_one_download_has_one_folder_by_any_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative and absolute paths, `..` and a link name the same competition."""
    source, other = _download(tmp_path / "dl" / "flats"), _download(tmp_path / "other" / "flats")
    project = tmp_path / "work" / "project"
    project.mkdir(parents=True)
    (tmp_path / "work" / "link").symlink_to(source)
    monkeypatch.chdir(tmp_path / "work")
    forms = ("../dl/flats", str(source), "link", f"{tmp_path}/work/../dl/flats", "../dl/../dl/flats/.")
    found = {find_or_fetch_competition(form, project) for form in forms}
    assert found == {project / "data" / "downloads" / "flats"}
    assert find_or_fetch_competition("../other/flats", project).name.startswith("flats-")
    monkeypatch.chdir(other)
    assert find_or_fetch_competition(".", project).name.startswith("flats-")


def test_a_folder_that_was_made_from_a_path_with_dots_is_found(tmp_path: Path) -> None:
    """Folders of former versions, which have the path as it was typed, are used as before."""
    source, project = _download(tmp_path / "flats"), tmp_path / "project"
    made = project / "data" / "downloads" / "flats-e56f0a"
    project.mkdir()
    arrange_download(project / ".." / "flats", made)
    assert find_or_fetch_competition(str(source), project) == made
