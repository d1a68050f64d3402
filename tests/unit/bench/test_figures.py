"""Figures are written as SVG and PNG, with the same bytes each time."""

import io
import re
from pathlib import Path

import pytest
from PIL import Image

from comind.bench.figures import FIGURES, write_figures
from comind.bench.statistics import compute_statistics
from tests.unit.bench.benches import bench, run, whole_bench

_STATISTICS = compute_statistics(whole_bench())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The figures by file name."""
    folder = tmp_path_factory.mktemp("figures")
    return {path.name: path.read_bytes() for path in write_figures(_STATISTICS, folder)}


def test_every_figure_is_written(written: dict[str, bytes]) -> None:
    """Each figure is an SVG and a PNG."""
    assert set(written) == {f"{name}.{form}" for name in FIGURES for form in ("svg", "png")}


def test_bytes_are_the_same(written: dict[str, bytes], tmp_path: Path) -> None:
    """A second time gives the same bytes, without a date, whatever the settings of matplotlib are."""
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 20, "figure.dpi": 50, "savefig.bbox": "tight"}):
        again = {path.name: path.read_bytes() for path in write_figures(_STATISTICS, tmp_path)}
        assert mpl.rcParams["font.size"] == 20
    assert again == written
    assert not any(b"dc:date" in content for content in written.values())


def test_figures_are_a_column_wide(written: dict[str, bytes]) -> None:
    """A PNG is 3.3 inches wide at 300 dots per inch, and less than 6 inches high."""
    for name, content in written.items():
        if name.endswith(".png"):
            width, height = Image.open(io.BytesIO(content)).size
            assert width == pytest.approx(990, abs=1)
            assert height < 1800


def test_axes_have_units(written: dict[str, bytes]) -> None:
    """Labels of axes say in which units they are; the SVG has them as comments."""
    labels = {
        "win-rate-over-time": ("Time since the start (minutes)", "Win rate (% of teams)"),
        "win-rate-over-cost": ("Money spent on models (US$)",),
        "win-rate-over-tokens": ("Tokens read and written (millions)",),
        "code-over-time": ("Lines of code", "Mean cyclomatic", "complexity"),
        "paired-differences": ("(percentage points, 95 % interval)",),
        "validation-against-test": ("Validation score (s.d., larger is better)",),
        "places-on-leaderboards": ("Rank (% of teams)", "Score"),
        "tokens-by-arm": ("Tokens per competition (thousands)",),
    }
    for name, texts in labels.items():
        comments = re.findall(r"<!-- (.*?) -->", written[f"{name}.svg"].decode(), re.DOTALL)
        shown = "\n".join(comments)
        assert all(text in shown for text in texts), name


def test_figures_without_data_are_left_out(tmp_path: Path) -> None:
    """A bench of one run without a leaderboard has no figure."""
    results = bench([run("base", "a", 0, win_rate=None, score=2.0)], ("base",))
    assert write_figures(compute_statistics(results), tmp_path / "none") == []


def test_names_may_be_long_and_have_any_character(tmp_path: Path) -> None:
    """Many arms, with long names and dollar signs, are drawn; one competition has no interval."""
    arms = [*(f"${number} of a long name that is truncated ${number}" for number in range(9)), "base"]
    runs = [run(arm, "a", 0, validation_score=0.4, prompt_tokens=5) for arm in arms]
    files = write_figures(compute_statistics(bench(runs, arms)), tmp_path)
    drawn = ["win-rate-over-tokens", "paired-differences", "tokens-by-arm"]
    assert [path.stem for path in files[::2]] == drawn
