"""The rule of a split without a metric is the one that its program was asked for, in all uses."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import pytest
import yaml

from comind.authoring.generated_grader import GeneratedGrader
from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.domain.competition import Competition, SplitRule
from comind.domain.problem import AnswerKind
from comind.metrics import MetricInfo
from comind.metrics.bootstrap import HalfSamples
from comind.session.session_ports import Sandbox
from comind.splits.extra_folds import count_folds, make_fold, write_folds
from comind.splits.generated_split import HeldOutRows, plan_by_program
from comind.splits.grouping import Grouping, row_groups
from comind.splits.rule import ByTime
from comind.splits.split_files import make_split, write_split
from comind.splits.split_folder import SplitFolder
from comind.splits.split_plan import plain_rule, plan_split

pytestmark = pytest.mark.slow

_GROUPS = 60

_RULES: dict[str, dict[str, object] | None] = {
    "detected": None,
    "column": {"kind": "group", "column": "patient"},
    "date": {"kind": "group", "column": "time", "by": "date"},
    "parts": {"kind": "group", "column": "scan", "by": "parts", "parts": [1]},
    "prefix": {"kind": "group", "column": "scan", "by": "prefix", "separator": "_"},
    "width": {"kind": "group", "column": "scan", "by": "prefix", "width": 4},
    "series": {"kind": "group", "column": "scan", "by": "series"},
    "place": {"kind": "group", "by": "place", "columns": ["lat", "lon"], "sizes": [1, 1]},
    "twins": {"kind": "group", "by": "twins", "columns": ["lat", "lon"]},
    "several": {
        "kind": "group",
        "column": "patient",
        "also": [{"kind": "group", "column": "scan", "by": "parts", "parts": [1]}],
    },
    "time": {"kind": "time", "column": "time"},
    "time within": {"kind": "time", "column": "time", "within": "patient"},
    "stratified": {"kind": "stratified", "column": "y"},
}


def _competition(root: Path, rule: dict[str, object] | None, *, metric: str | None) -> Competition:
    """Rows of sixty patients, each with a place and times of its own; test has other patients."""
    draw = np.random.default_rng(0)
    patient = draw.permutation(np.repeat(np.arange(_GROUPS + 10), 4))
    order = np.argsort(np.argsort(patient, kind="stable")) % 4
    table = pd.DataFrame(
        {
            "id": range(len(patient)),
            "patient": [f"p{number:03d}" for number in patient],
            "scan": [f"s{number:03d}_{visit}" for number, visit in zip(patient, order, strict=True)],
            "time": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(patient * 11 % 70 * 24 + order, unit="h"),
            "lat": patient % 7 + 0.5,
            "lon": patient // 7 + 0.5,
            "x": draw.normal(size=len(patient)).round(3),
            "y": draw.integers(0, 9, len(patient)),
        }
    )
    (root / "public").mkdir(parents=True)
    train, test = table[patient < _GROUPS], table[patient >= _GROUPS].drop(columns="y")
    train.to_csv(root / "public/train.csv", index=False)
    test.to_csv(root / "public/test.csv", index=False)
    test[["id"]].assign(y=0).to_csv(root / "public/sample_submission.csv", index=False)
    (root / "public/description.md").write_text("Patients.\n")
    described = {
        "title": "Patients",
        "id_columns": ["id"],
        "label_columns": ["y"],
        "target_columns": ["y"],
    }
    described |= {"id": "patients"} | ({"metric": metric} if metric else {})
    described |= {"split": rule} if rule else {}
    (root / "competition.yaml").write_text(yaml.safe_dump(described))
    return load_competition(root)


def _written(competition: Competition, splits: Path) -> SplitFolder:
    """Split as a program does that holds out what the rule that it is shown asks for."""
    shown = CompetitionData.read_without_metric(competition)
    rows = plan_split(shown, 0).rows
    held_out = HeldOutRows(rows, shown.train.iloc[rows][["id", "y"]].reset_index(drop=True))
    metric = MetricInfo("share-right", maximize=True, answer_kind=AnswerKind.LABEL)
    return write_split(plan_by_program(shown, metric, held_out, {"evaluate.py": "pass"}), splits)


@pytest.mark.parametrize("metric", ["accuracy", None], ids=["with a metric", "without"])
@pytest.mark.parametrize("rule", _RULES.values(), ids=_RULES)
def test_no_shared_fold_parts_a_group(
    tmp_path: Path, rule: dict[str, object] | None, metric: str | None
) -> None:
    """Folds, and the groups that intervals are computed by, go by the rule of the split in each mode."""
    competition = _competition(tmp_path / "patients", rule, metric=metric)
    folder = (
        make_split(competition, tmp_path / "splits", seed=0)
        if metric
        else _written(competition, tmp_path / "splits")
    )
    split = folder.read()
    assert split.rule.kind == (rule or {"kind": "group"})["kind"]
    assert split.rule.used_columns == (SplitRule(**rule) if rule else split.rule).used_columns
    write_folds(folder.public, split, tmp_path / "folds.csv")
    train = pd.read_csv(folder.public / "train.csv", dtype=str)
    fold = pd.read_csv(tmp_path / "folds.csv")["fold"]
    assert len(set(fold)) > 1
    if split.rule.kind == "group":
        assert fold.groupby(row_groups(train, split.rule)).nunique().max() == 1
        assert len(folder.read_groups()) == split.validation_rows
    if split.rule.kind == "time":
        within = train["patient"] if split.rule.within else pd.Series("", index=train.index)
        ordered = fold.groupby([within, train["time"]]).agg(["min", "max"]).sort_index()
        assert (ordered["min"] == ordered["max"]).all()
        assert all(times["min"].is_monotonic_increasing for _, times in ordered.groupby(level=0))


@pytest.mark.parametrize("rule", ["detected", "several", "time", "time within", "stratified"])
def test_folds_have_other_rows_by_the_rule_that_the_program_was_asked_for(
    tmp_path: Path, rule: str
) -> None:
    """No fold has validation rows, parts a group or trains on what is later; its answers are sealed."""
    competition = _competition(tmp_path / "patients", _RULES[rule], metric=None)
    folder = _written(competition, tmp_path / "splits")
    split = folder.read()
    count = count_folds(folder, 2)
    assert count.folds == (1 if rule == "time within" else 2), count.reason
    taken = set(pd.read_csv(folder.answers)["id"])
    for number in range(1, count.folds + 1):
        fold = make_fold(folder, number)
        described, answers = fold.read(), pd.read_csv(fold.answers)
        validation, kept = (pd.read_csv(fold.public / f"{name}.csv") for name in ("validation", "train"))
        assert described.generated
        assert (described.metric, described.rule) == (split.metric, split.rule)
        assert [path.name for path in fold.programs.iterdir()] == ["evaluate.py"]
        assert answers["id"].tolist() == validation["id"].tolist()
        assert not taken & set(answers["id"])
        assert not set(kept["id"]) & set(answers["id"])
        assert "y" not in validation
        taken |= set(answers["id"])
        tables = [table.astype(str) for table in (validation, kept)]
        if split.rule.kind == "group":
            for each in split.rule.groupings:
                names = [set(Grouping.of(each).names(table)) for table in tables]
                assert not names[0] & names[1]
        if split.rule.kind == "time":
            times = [ByTime.of(split.rule).times(table) for table in tables]
            parts = [
                table["patient"] if split.rule.within else table["x"] * 0 for table in (validation, kept)
            ]
            first, last = times[0].groupby(parts[0]).min(), times[1].groupby(parts[1]).max()
            assert (last.reindex(first.index).dropna() < first.reindex(last.index).dropna()).all()


def test_where_a_program_computes_the_truth_there_is_one_validation_part(tmp_path: Path) -> None:
    """Targets that are neither columns nor classes of train.csv are known for its own rows alone."""
    competition = _competition(tmp_path / "patients", None, metric=None)
    shown = CompetitionData.read_without_metric(competition)
    rows = plan_split(shown, 0).rows
    shown = replace(shown, sample=shown.sample.rename(columns={"y": "twice"}))
    shown.competition.__dict__["target_columns"] = ("twice",)
    answers = shown.train.iloc[rows][["id", "y"]].reset_index(drop=True)
    held_out = HeldOutRows(rows, answers.rename(columns={"y": "twice"}))
    metric = MetricInfo("share-right", maximize=True, answer_kind=AnswerKind.LABEL)
    plan = plan_by_program(shown, metric, held_out, {"evaluate.py": "pass"})
    count = count_folds(write_split(plan, tmp_path / "splits"), 2)
    assert count == (0, "a program computes the true values, for the first validation rows alone")


def test_intervals_are_drawn_by_whole_groups(tmp_path: Path) -> None:
    """A generated evaluator scores halves of the groups; half of the rows where there are none."""
    for rule in ("column", "stratified"):
        competition = _competition(tmp_path / rule / "patients", _RULES[rule], metric=None)
        folder = _written(competition, tmp_path / rule)
        validation = pd.read_csv(folder.public / "validation.csv")
        halves = HalfSamples(len(validation), folder.read_groups()).halves
        assert len({tuple(half) for half in halves}) == len(halves)
        for half in halves:
            assert len(half) == len(validation) // 8 * 4 if rule == "column" else len(validation) // 2
            parted = set(validation["patient"][half]) & set(validation["patient"].drop(half))
            assert bool(parted) == (rule == "stratified")


def test_the_rule_that_is_stored_is_the_one_that_was_shown(tmp_path: Path) -> None:
    """The reason says what was found in the data, and that a program chose the rows."""
    competition = _competition(tmp_path / "patients", None, metric=None)
    rule, reason = plain_rule(CompetitionData.read_without_metric(competition))
    split = _written(competition, tmp_path / "splits").read()
    assert (split.rule, rule.column) == (rule, "patient")
    reason = f"{reason}; a program that the model wrote chose the rows"
    assert split.rule_reason == reason


def test_errors_of_a_generated_evaluator_are_correlated_without_a_run(tmp_path: Path) -> None:
    """Labels need no score of a program: equal submissions have correlation 1, others less."""
    competition = _competition(tmp_path / "patients", _RULES["stratified"], metric=None)
    folder = _written(competition, tmp_path / "splits")
    truth = pd.read_csv(folder.answers, dtype=str)
    rows = np.arange(len(truth))
    paths = []
    for number, wrong in enumerate((rows < 25, rows < 25, rows >= 25)):
        paths.append(tmp_path / f"{number}.csv")
        truth.assign(y=truth["y"].where(~wrong, "other")).to_csv(paths[-1], index=False)
    grader = GeneratedGrader(folder, cast("Sandbox", None))
    report = grader.errors(paths)
    assert (report.reason, report.correlations) == ("", ((), (1.0,), (0.0, 0.0))), len(truth)
    reason = grader.errors([paths[0], tmp_path / "none.csv"]).reason
    assert reason.endswith("none.csv: no such file or directory"), reason
