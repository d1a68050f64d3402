"""Facts of two small competitions, one of tables and one of programs, for prompts of agents."""

from datetime import UTC, datetime
from typing import NamedTuple

from comind.domain.community import Comment, CommunityView, Dataset, Discussion, Notebook
from comind.domain.competition import ProgramLimits
from comind.domain.environment import Environment, Machine
from comind.domain.problem import AnswerKind, DataShape, Problem

__all__ = ["ENVIRONMENT", "KINDS", "SampleKind"]

_WHEN = datetime(2026, 1, 5, tzinfo=UTC)


class SampleKind(NamedTuple):
    """A kind of competition: its sample problem, community and programs."""

    problem: Problem
    community: CommunityView
    programs: tuple[str, ...]
    """What a model writes, in turn: some score, one fails, one submits nothing, one runs for long."""
    sentences: tuple[str, ...]
    """What it says in any other text."""


ENVIRONMENT = Environment(
    python="3.11.9",
    packages=("lightgbm==4.3.0", "numpy==1.26.1", "pandas==2.1.4", "scikit-learn==1.4.0"),
    machine=Machine(cores=4, memory_bytes=16 << 30),
)

_TABLES = Problem(
    competition="wine-quality",
    title="Wine quality",
    description="Predict from laboratory measurements whether tasters call a wine good.",
    metric="roc_auc",
    maximize=True,
    answer_kind=AnswerKind.PROBABILITY,
    shape=DataShape.TABLE,
    id_columns=("id",),
    train_id_columns=("id",),
    label_columns=("good",),
    target_columns=("good",),
    train_rows=3200,
    validation_rows=360,
    test_rows=1200,
    folds=5,
    preview=(
        "train.csv: 3,200 rows, 4 columns, 96 kB\n"
        "alcohol: number, 8.0 | 9.5 10.4 11.3 | 14.9\n"
        "acidity: number, 4.6 | 7.1 7.9 9.2 | 15.9, 2 % missing\n"
        "good: 2 values: 0 78 %, 1 22 %"
    ),
)
_MODEL = """model = ExtraTreesClassifier(n_estimators={trees})
scores = cross_val_predict(model, features, labels, cv=5, method="predict_proba")[:, 1]
print("roc_auc", roc_auc_score(labels, scores))
model.fit(features, labels)
write_submissions(model)"""
_TABLE_PROGRAMS = (
    _MODEL.format(trees=200),
    _MODEL.format(trees=300).replace("features, labels, cv", "feature, labels, cv"),
    _MODEL.format(trees=400).replace("write_submissions(model)", "print(model)"),
    _MODEL.format(trees=500),
    "for depth in range(3, 40):\n    print(depth, validate(depth))\nwrite_submissions(best)",
)

_PROGRAMS = _TABLES.model_copy(
    update={
        "competition": "full-boxes",
        "title": "Full boxes",
        "description": "Choose weights whose sum is as near to the capacity as possible.",
        "metric": "normalised score",
        "answer_kind": AnswerKind.NUMBER,
        "shape": DataShape.INSTANCES,
        "id_columns": ("instance",),
        "train_id_columns": ("instance",),
        "label_columns": ("score",),
        "target_columns": ("score",),
        "train_rows": 5,
        "validation_rows": 6,
        "test_rows": 9,
        "folds": 0,
        "program": ProgramLimits(seconds=10, memory_mb=1024),
        "preview": "- weights: list, 40 items, [3, 9 ...\n- capacity: int, 50",
    }
)
_SOLVE = """def solve(weights, capacity):
    chosen, total = [], 0
    for number in sorted(range(len(weights)), key=lambda each: -weights[each])[:{most}]:
        if total + weights[number] <= capacity:
            chosen.append(number)
            total += weights[number]
    return chosen"""
_SOLVERS = (
    _SOLVE.format(most=20),
    _SOLVE.format(most=30).replace("capacity:\n", "capacity\n"),
    "print(evaluate(try_out, most=3))",
    _SOLVE.format(most=40),
    "for most in range(3, 40):\n    print(most, validate(most))",
)

_COMMUNITY = CommunityView(
    notebooks=(
        Notebook(
            ref="ada/plain-trees",
            version=2,
            title="Plain trees",
            author="ada",
            created_at=_WHEN,
            votes=31,
            public_score=0.84,
            source=(
                "import pandas as pd\n"
                'train = pd.read_csv("../input/wine-quality/train.csv")\n'
                'forest.predict(test).to_csv("submission.csv", index=False)'
            ),
        ),
        Notebook(
            ref="ben/boosting",
            version=1,
            title="Boosting with pairs of columns",
            author="ben",
            created_at=_WHEN,
            votes=12,
            public_score=0.87,
            source="booster.fit(pairs, labels)",
        ),
    ),
    discussions=(
        Discussion(
            id="17",
            title="What worked for us",
            author="cy",
            posted_at=_WHEN,
            votes=9,
            body="Ratios of acidity and alcohol gained 0.01.",
            comments=(Comment(id="17-1", author="dee", posted_at=_WHEN, body="So did ranks."),),
        ),
    ),
    datasets=(
        Dataset(ref="ada/more-wines", version=1, title="More wines", published_at=_WHEN, files=True),
    ),
)

KINDS = {
    "tables": SampleKind(
        _TABLES,
        _COMMUNITY,
        _TABLE_PROGRAMS,
        (
            "Add the ratio of acidity and alcohol",
            "Fit extra trees with 500 trees, without limit of depth",
            "Average trees and a logistic regression on ranks",
            "Fill missing acidity with the median of similar wines",
        ),
    ),
    "programs": SampleKind(
        _PROGRAMS,
        CommunityView(),
        _SOLVERS,
        (
            "Take the largest weight that still fits",
            "Swap one chosen weight for one that is left out while the sum rises",
            "Search all sums up to the capacity by dynamic programming",
            "Stop after 85 % of the time and return the best choice so far",
        ),
    ),
}
