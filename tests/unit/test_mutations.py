"""Numbers that decide are held by tests: with another number, the named tests fail.

Each mutation is made in a copy of the code, in which `pytest` runs one file of tests in a few seconds.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_SPLITS, _PROFILE = "tests/unit/splits/test_boundaries.py", "tests/unit/profile/test_boundaries.py"
_NAMES = "tests/unit/competitions/download/test_numbers_of_names.py"
_ARRAYS = "tests/unit/competitions/download/test_array_files.py"
_KINDS = "tests/unit/competitions/test_answer_kinds.py"
_CHECKS = "tests/unit/competitions/test_competition_checks.py"
_SPELLING = "tests/unit/competitions/test_label_spelling.py"
_CODED = "tests/unit/grading/test_coded_boundaries.py"
_GRADING = "tests/unit/grading/test_grading.py"
_ERRORS = "tests/unit/grading/blending/test_error_correlation.py"
_BLENDS = "tests/unit/grading/blending/test_blend_boundaries.py"
_PARTS = "tests/unit/grading/test_score_breakdown.py"
_ARCHIVES = "tests/unit/competitions/download/test_limits_of_archives.py"
_TAKEN = "tests/unit/competitions/download/test_taken_files.py"
_AGREEMENT = "tests/unit/grading/test_agreement.py"
_BOARD = "tests/unit/grading/test_leaderboard.py"

_MUTATIONS = (
    ("splits/search.py", "_FEWEST_A_CLASS = 5", "_FEWEST_A_CLASS = 4", _SPLITS),
    ("splits/search.py", "_LATER = 0.99", "_LATER = 0.98", _SPLITS),
    ("splits/search.py", "_MOST_GROUPINGS = 3", "_MOST_GROUPINGS = 4", _SPLITS),
    ("splits/quality.py", "_GAP = 0.05", "_GAP = 0.07", _SPLITS),
    ("splits/quality.py", "_OVERLAP = 1.1", "_OVERLAP = 1.2", _SPLITS),
    ("splits/relations.py", "LARGEST_GROUP = 5, 0.5", "LARGEST_GROUP = 5, 0.51", _SPLITS),
    ("splits/pooled_rows.py", "LEAST_RELATED = 0.3", "LEAST_RELATED = 0.27", _SPLITS),
    ("splits/groupings/prefix.py", "_INTERLEAVED = 0.6", "_INTERLEAVED = 0.5", _SPLITS),
    ("splits/groupings/duplicates.py", "_LEAST_NEAR = 0.2", "_LEAST_NEAR = 0.17", _SPLITS),
    ("splits/groupings/blocks.py", "_GUESSED = 0.4, 0.6", "_GUESSED = 0.4, 0.65", _SPLITS),
    ("splits/adversarial_validation.py", "_LEAST_ROWS = 50", "_LEAST_ROWS = 49", _SPLITS),
    ("profile/column_statistics.py", "_NOTABLE = 0.05", "_NOTABLE = 0.06", _PROFILE),
    ("profile/column_statistics.py", "_LEAST_ALIKE = 4", "_LEAST_ALIKE = 3", _PROFILE),
    ("profile/column_statistics.py", "wide / 10", "wide / 9", _PROFILE),
    ("profile/overlaps.py", "_NEARLY = 0.95", "_NEARLY = 0.9", _PROFILE),
    ("profile/overlaps.py", "_REPEATED = 1.1", "_REPEATED = 1.0", _PROFILE),
    ("profile/side_files.py", "_LEAST_FILES = 0.01", "_LEAST_FILES = 0.02", _PROFILE),
    ("profile/problem_description.py", "_MOST = 0.5", "_MOST = 0.6", _PROFILE),
    (
        "profile/problem_description.py",
        "_SPACES_IN_LONG_TEXT = 3, 12",
        "_SPACES_IN_LONG_TEXT = 3, 11",
        _PROFILE,
    ),
    ("profile/prompts/columns.j2", "few, many = 12, 20", "few, many = 13, 20", _PROFILE),
    ("profile/prompts/columns.j2", "rare=0.005", "rare=0.004", _PROFILE),
    ("metrics/metric_names.py", "_CLASSES = 20", "_CLASSES = 21", _NAMES),
    ("metrics/page_passages.py", "_SECTION = 1_500", "_SECTION = 1_600", _NAMES),
    ("metrics/metric_names.py", "_SHORT = 3", "_SHORT = 4", _NAMES),
    ("competitions/download/file_labels.py", "_SAME_KIND = 0.95", "_SAME_KIND = 0.9", _NAMES),
    ("competitions/download/file_labels.py", "_MOST_CLASSES = 0.1", "_MOST_CLASSES = 0.2", _NAMES),
    ("competitions/download/table_formats.py", "_SAMPLED = 1_000", "_SAMPLED = 1_001", _NAMES),
    ("competitions/download/array_files.py", "_LEAST_SIDE = 4", "_LEAST_SIDE = 5", _ARRAYS),
    ("competitions/data.py", "_MOST_CLASSES = 20, 0.1", "_MOST_CLASSES = 21, 0.1", _KINDS),
    ("competitions/data.py", "_MOST_CLASSES = 20, 0.1", "_MOST_CLASSES = 20, 0.11", _KINDS),
    ("competitions/competition_checks.py", "_NAMING = 0.5", "_NAMING = 0.55", _CHECKS),
    ("competitions/label_spelling.py", "_FEW_CLASSES = 50", "_FEW_CLASSES = 51", _SPELLING),
    ("competitions/label_spelling.py", "_COPIED = 0.2", "_COPIED = 0.19", _SPELLING),
    ("competitions/label_spelling.py", "_MANY_CLASSES = 1_000", "_MANY_CLASSES = 999", _SPELLING),
    ("grading/coded_submissions.py", "_QUERIES = 3", "_QUERIES = 4", _CODED),
    ("grading/coded_submissions.py", "_DEVIATION = 5.0", "_DEVIATION = 5.5", _CODED),
    ("grading/coded_submissions.py", "_MOST_BROKEN = 10, 0.1", "_MOST_BROKEN = 10, 0.11", _CODED),
    ("grading/coded_submissions.py", "_RIGHT = 0.85", "_RIGHT = 0.8", _CODED),
    (
        "grading/coded_submissions.py",
        "_UNSURE, _SURE, _NEAR = 0.8",
        "_UNSURE, _SURE, _NEAR = 0.85",
        _CODED,
    ),
    ("grading/coded_submissions.py", "_MOVED, _CLOSE = 0.2", "_MOVED, _CLOSE = 0.19", _CODED),
    ("grading/submission_schema.py", "_MOST_SURPLUS = 4", "_MOST_SURPLUS = 5", _GRADING),
    ("grading/agreement.py", "_ABSOLUTE = 1e-6", "_ABSOLUTE = 1.2e-6", _AGREEMENT),
    ("grading/leaderboard.py", "_OUTLIER = 1000", "_OUTLIER = 1001", _BOARD),
    ("grading/leaderboard.py", "_LARGE = 100, 250, 1000", "_LARGE = 100, 250, 999", _BOARD),
    ("grading/blending/error_correlation.py", "_LEAST_DIFFERENT = 20", "_LEAST_DIFFERENT = 19", _ERRORS),
    ("grading/blending/error_correlation.py", "_LEAST_ROWS = 50", "_LEAST_ROWS = 51", _ERRORS),
    ("grading/blending/selection.py", "MOST_MEMBERS = 5", "MOST_MEMBERS = 6", _BLENDS),
    ("grading/blending/selection.py", "_PROGRAM_PICKS = 5", "_PROGRAM_PICKS = 6", _BLENDS),
    ("grading/blending/selection.py", "_MOST_PICKS = 20", "_MOST_PICKS = 19", _BLENDS),
    ("grading/blending/selection.py", "MOST_TARGETS = 10", "MOST_TARGETS = 11", _BLENDS),
    ("grading/blending/selection.py", "_ROWS = 20_000", "_ROWS = 20_001", _BLENDS),
    ("grading/blending/cross_fit.py", "_MOST_CANDIDATES = 20", "_MOST_CANDIDATES = 19", _BLENDS),
    ("grading/blending/cross_fit.py", "_PROGRAM_CANDIDATES = 5", "_PROGRAM_CANDIDATES = 6", _BLENDS),
    ("grading/blending/cross_fit.py", "_PROGRAM_SECONDS = 10.0", "_PROGRAM_SECONDS = 10.2", _BLENDS),
    ("grading/blending/cross_fit.py", "_SAME_ERRORS = 0.999", "_SAME_ERRORS = 0.9988", _BLENDS),
    ("grading/blending/cross_fit.py", "_CELLS = 50_000_000", "_CELLS = 50_000_001", _BLENDS),
    ("grading/blending/cross_fit.py", "_LEAST_ROWS = 50", "_LEAST_ROWS = 51", _BLENDS),
    ("grading/blending/held_out.py", "_Z = 1.96", "_Z = 1.95", _BLENDS),
    ("grading/blending/held_out.py", "_DIGITS = 3", "_DIGITS = 4", _BLENDS),
    ("grading/score_breakdown.py", "_GROUPS = 20", "_GROUPS = 19", _PARTS),
    ("competitions/download/archives.py", "_CHECK_EVERY = 16", "_CHECK_EVERY = 15", _ARCHIVES),
    ("competitions/download/archives.py", "_MOST_READ = 64 << 20", "_MOST_READ = 65 << 20", _ARCHIVES),
    ("competitions/download/archives.py", "_DEEPEST = 4", "_DEEPEST = 5", _ARCHIVES),
    ("competitions/download/archives.py", "_LONGEST = 200", "_LONGEST = 201", _ARCHIVES),
    (
        "competitions/download/archives.py",
        "_SPARE_BYTES = 256 << 20",
        "_SPARE_BYTES = 255 << 20",
        _ARCHIVES,
    ),
    ("competitions/download/archives.py", "_SHOWN = 3", "_SHOWN = 4", _ARCHIVES),
    ("competitions/download/file_tables.py", "len(samples) > 1", "len(samples) > 2", _ARCHIVES),
    ("competitions/download/file_tables.py", "len(names) == 2", "len(names) == 3", _ARCHIVES),
    ("competitions/download/taken_files.py", "_MOST_OF_FREE = 0.5", "_MOST_OF_FREE = 0.52", _TAKEN),
    ("profile/column_statistics.py", "_FREQUENT = 20", "_FREQUENT = 21", _PROFILE),
    ("profile/column_statistics.py", "_AT_ONCE = 100", "_AT_ONCE = 101", _PROFILE),
    ("profile/column_statistics.py", "_GROUPED = 3_000_000", "_GROUPED = 3_000_001", _PROFILE),
    (
        "profile/column_statistics.py",
        "_FEW, _MANY_ROWS = 100, 100_000",
        "_FEW, _MANY_ROWS = 101, 100_000",
        _PROFILE,
    ),
    (
        "profile/column_statistics.py",
        "_FEW, _MANY_ROWS = 100, 100_000",
        "_FEW, _MANY_ROWS = 100, 99_999",
        _PROFILE,
    ),
    ("profile/column_statistics.py", "_COUNTED = 300", "_COUNTED = 301", _PROFILE),
    (
        "profile/column_statistics.py",
        "_WIDE, _COUNTED_OF_WIDE = 1_000, 50",
        "_WIDE, _COUNTED_OF_WIDE = 999, 50",
        _PROFILE,
    ),
    (
        "profile/column_statistics.py",
        "_WIDE, _COUNTED_OF_WIDE = 1_000, 50",
        "_WIDE, _COUNTED_OF_WIDE = 1_000, 51",
        _PROFILE,
    ),
    ("profile/column_statistics.py", "_LOOKED_AT = 1_000", "_LOOKED_AT = 1_001", _PROFILE),
    ("profile/column_statistics.py", "_FEW_VALUES = 12", "_FEW_VALUES = 13", _PROFILE),
    ("profile/column_statistics.py", "VALUES_AT_ONCE = 1 << 24", "VALUES_AT_ONCE = 1 << 25", _PROFILE),
    ("competitions/download/archives.py", "_CHUNK = 1 << 20", "_CHUNK = 2 << 20", _ARCHIVES),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code and its tests."""
    root = tmp_path_factory.mktemp("tree")
    for name in ("comind", "tests", "tasks", "flows"):
        shutil.copytree(_ROOT / name, root / name)
    for name in ("pyproject.toml", "params.yaml"):
        shutil.copy(_ROOT / name, root / name)
    return root


def _run(tree: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    """Run tests of the copy; its byte code is not written, as a mutation may have the former's size."""
    words = ["-m", "pytest", "-q", "-n", "0", "-x", "-p", "no:cacheprovider", *tests]
    variables = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *words], cwd=tree, env=variables, capture_output=True, text=True, check=False
    )


def test_each_number_is_there_once() -> None:
    """The listed numbers and files of tests are those of the code."""
    for module, number, _, tests in _MUTATIONS:
        code = (_ROOT / "comind" / module).read_text(encoding="utf-8")
        assert code.count(number) == 1, f"{module}: {number!r} is not there once"
        assert (_ROOT / tests).is_file(), tests


@pytest.mark.torture
def test_without_a_mutation_they_pass(tree: Path) -> None:
    """The named tests pass in the copy."""
    ran = _run(tree, *sorted({tests for *_, tests in _MUTATIONS}))
    assert ran.returncode == 0, ran.stdout


@pytest.mark.torture
@pytest.mark.parametrize(
    ("module", "number", "changed", "tests"), _MUTATIONS, ids=lambda value: value.replace(" ", "")
)
def test_another_number_is_found(tree: Path, module: str, number: str, changed: str, tests: str) -> None:
    """With the changed number, a test of the named file fails."""
    path = tree / "comind" / module
    code = path.read_text(encoding="utf-8")
    path.write_text(code.replace(number, changed), encoding="utf-8")
    try:
        ran = _run(tree, tests)
    finally:
        path.write_text(code, encoding="utf-8")
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, f"survives {tests}\n{ran.stdout}"
