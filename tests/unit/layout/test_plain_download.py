"""Plain downloads are arranged as competition folders, or refused with one line."""

import io
import zipfile
from pathlib import Path

import pytest

from comind.domain.competition import SAMPLE_SUBMISSION
from comind.errors import CompetitionError
from comind.evaluation.competition_checks import check_competition
from comind.evaluation.competition_folder import load_competition
from comind.layout.plain_download import arrange_download
from tests.unit.layout.downloads import DOWNLOADS, REFUSED, Download, Refused


def _place(case: Download | Refused, root: Path) -> Path:
    """Write the files of a download as a folder or a zip."""
    files = case.files()
    if case.packed:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        (root / "download.zip").write_bytes(buffer.getvalue())
        return root / "download.zip"
    (root / "download").mkdir()
    for name, content in files.items():
        path = root / "download" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root / "download"


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
    assert plan.validation_rows()
    if competition.target_columns != SAMPLE_SUBMISSION:
        assert set(competition.target_columns) <= set(plan.sample.columns)
    assert _snapshot(source) == before


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_download_is_refused(case: Refused, tmp_path: Path) -> None:
    """What cannot be understood is refused with a line and a hint, and leaves no folder of data."""
    source = _place(case, tmp_path)
    target = tmp_path / "project" / "download"
    with pytest.raises(CompetitionError) as caught:
        arrange_download(source, target)
    told = str(caught.value).replace(str(source.parent) + "/", "")
    assert told.startswith(case.line)
    assert case.hint in caught.value.hint
    assert not (target / "public").exists()
