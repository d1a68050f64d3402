"""A submission has one score, whoever grades it: all graders, all metrics, all forms of the answers."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
import yaml

from comind.competitions.competition_folder import load_competition
from comind.domain.competition import SplitRule
from comind.domain.problem import AnswerKind
from comind.grading.grader_port import GradeReport
from comind.grading.grader_server import SplitGrader
from comind.grading.leaderboard import Thresholds
from comind.grading.past_competition import PastAnswers
from comind.live.scoring import AnswerKey
from comind.metrics import METRICS, Metric
from comind.metrics.metric_types import TableMetric
from comind.mlebench.benchmark_grader import BenchmarkAnswers
from comind.mlebench.catalog import BenchmarkCompetition, Mode, benchmark_competitions
from comind.mlebench.grading_rules import GradingRules
from comind.mlebench.ground_truth import read_answers
from comind.splits.split_folder import Split, SplitFolder
from comind.tables.csv_tables import split_rows
from tests.unit.metrics.custom import CUSTOM_METRICS
from tests.unit.metrics.samples import ONE_COLUMN, random_sample
from tests.unit.mlebench.worlds import make_world

pytestmark = pytest.mark.slow

_METRICS = {name: metric for name, metric in {**METRICS, **CUSTOM_METRICS}.items() if not metric.context}
"""Those that competition.yaml can name."""
_ENTRIES = {
    entry.metric_in(mode).name: entry for entry in benchmark_competitions().values() for mode in Mode
}
_ROWS = 24


def _tables(metric: Metric) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return true, perfect and other cells of the target columns."""
    if metric.row_separator:
        masks = [";".join(f"{1 + 20 * n} {5 + row % 3}" for n in range(row % 4)) for row in range(_ROWS)]
        truth = pd.DataFrame({"c0": masks})
        return truth, truth, truth.assign(c0="1 4;21 5")
    if metric.name in METRICS:
        sample = random_sample(metric, 1, rows=_ROWS, columns=1)
        return sample.truth, sample.truth, sample.prediction
    entry = _ENTRIES["map-at-5" if metric.traits.guesses else metric.name]
    world = make_world(entry, 1)
    with TemporaryDirectory() as folder:
        answers = read_answers(entry, world.write(Path(folder)))
    targets = entry.target_columns(answers.columns)
    rules = GradingRules(entry, targets, Mode.KAGGLE)
    true, perfect = rules.pair_rows(answers, world.submissions["perfect"].astype(str))
    _, close = rules.pair_rows(answers, world.submissions["close"].astype(str))
    truth = true.reindex(columns=targets, fill_value="0")  # a confidence has no true value
    tables = [each[targets].reset_index(drop=True) for each in (truth, perfect, close)]
    return tables[0], tables[1], tables[2]


def _with_ids(cells: pd.DataFrame) -> pd.DataFrame:
    ids = pd.DataFrame({"id": [f"row-{number}" for number in range(len(cells))]})
    return pd.concat([ids, cells], axis="columns")


def _forms(table: pd.DataFrame, metric: Metric) -> Iterator[pd.DataFrame]:
    """Yield the forms in which answers are shipped and submissions are written."""
    yield table
    yield table.sample(frac=1, random_state=0)[table.columns[::-1]]
    if metric.row_separator:
        yield split_rows(table, ["c0"], metric.row_separator)


class _Graders:
    """All that grades submissions to one competition, whose rows are the same in all its tables."""

    def __init__(self, root: Path, metric: Metric, answers: pd.DataFrame, labels: pd.DataFrame) -> None:
        targets = [name for name in answers.columns if name not in ("id", "Usage")]
        one_hot = metric.answer_kind is AnswerKind.CLASS_PROBABILITIES and "label" in labels
        label_columns = ["label"] if one_hot else targets
        public, sealed = root / "public", root / "sealed"
        for folder in (public, sealed, root / "private"):
            folder.mkdir(parents=True)
        labels.assign(x="1").to_csv(public / "train.csv", index=False)
        rows = labels[["id"]].assign(x="1")
        for name in ("test", "validation"):
            rows.to_csv(public / f"{name}.csv", index=False)
        sample = labels[["id"]].assign(**dict.fromkeys(targets, "1"))
        sample.to_csv(public / "sample_submission.csv", index=False)
        (public / "description.md").write_text("A competition.\n")
        answers.to_csv(root / "private" / "answers.csv", index=False)
        columns = {"id_columns": ["id"], "label_columns": label_columns, "target_columns": targets}
        named = {"id": "one", "title": "One", "metric": metric.name} | columns
        (root / "competition.yaml").write_text(yaml.safe_dump(named))
        competition = load_competition(root)

        answers[["id", *targets]].to_csv(sealed / "validation_answers.csv", index=False)
        split = Split(
            **{name: tuple(each) for name, each in columns.items()},
            train_id_columns=("id",),
            competition="one",
            title="One",
            metric=metric.name,
            maximize=metric.maximize,
            answer_kind=metric.answer_kind,
            train_rows=len(rows),
            validation_rows=len(rows),
            test_rows=len(rows),
            key="one",
            rule=SplitRule(kind="random"),
            rule_reason="",
            seed=0,
            generated=False,
            public_sha256="",
            sealed_sha256="",
        )
        (root / "split.json").write_text(split.model_dump_json())
        self._campaign = SplitGrader(SplitFolder(root))
        self._past = PastAnswers(competition)
        self._live = AnswerKey(competition)
        self._bench = BenchmarkAnswers(
            BenchmarkCompetition(
                id="one",
                category="",
                complexity="low",
                metric=metric.name,
                maximize=metric.maximize,
                ids=("id",),
                targets=tuple(targets),
                thresholds=Thresholds(gold=0, silver=0, bronze=0, median=0),
                size="",
                deadline=date(2020, 1, 1),
            ),
            root / "private" / "answers.csv",
        )
        self._sample = public / "sample_submission.csv"

    def scores(self, submission: Path, *, with_intervals: bool) -> dict[str, float | None]:
        """Return the score that each gives; those with a bootstrap only if `with_intervals`."""
        quick = {
            "MLE-Live": self._live.grade(submission).score,
            "MLE-bench": self._bench.grade(submission).score,
        }
        if not with_intervals:
            return quick
        return quick | {
            "comind grade": self._past.grade(submission).score,
            "campaign": _score(self._campaign._validation.grade(submission)),
            "out of fold": _score(self._campaign.out_of_fold(submission)),
        }


def _score(report: GradeReport) -> float | None:
    return None if report.score is None else report.score.value.value


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.torture) if isinstance(metric, TableMetric) else name
        for name, metric in _METRICS.items()  # the bootstrap of a whole table takes seconds
    ],
)
def test_all_graders_agree(name: str, tmp_path: Path) -> None:
    """The same answers and submission have the same score to the last digit; the truth has the best."""
    metric = _METRICS[name]
    truth, perfect, close = map(_with_ids, _tables(metric))
    labels = truth
    if metric.name in ONE_COLUMN and metric.answer_kind is AnswerKind.CLASS_PROBABILITIES:
        classes = truth.columns[1:]
        labels = truth[["id"]].assign(label=classes[np.argmax(truth[classes].astype(int), axis=1)])
    several = bool(metric.row_separator)
    forms = list(_forms(truth.assign(Usage="Private"), metric))
    found: dict[str, set[float | None]] = {"perfect": set(), "close": set()}
    for number, answers in enumerate(forms if several else forms[:1]):
        graders = _Graders(tmp_path / str(number), metric, answers, labels)
        for case, table in (("perfect", perfect), ("close", close)):
            form = list(_forms(table, metric))[number - 1]  # another form than that of the answers
            form.to_csv(tmp_path / "submission.csv", index=False)
            scores = graders.scores(
                tmp_path / "submission.csv", with_intervals=several or case == "close"
            )
            assert len(set(scores.values())) == 1, (case, scores)
            found[case] |= set(scores.values())
    [best], [other] = found.values()
    assert best is not None
    assert other is not None
    assert best >= other if metric.maximize else best <= other
    if metric.best is not None:
        assert best == pytest.approx(metric.best, abs=1e-6)
