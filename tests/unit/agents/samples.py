"""A problem, an agent for it, and what roles reply in tests."""

from comind.agents.comind import CoMind
from comind.agents.comind.conversation import TEMPLATES
from comind.domain.problem import AnswerKind, DataShape, Problem

PROBLEM = Problem(
    competition="demo",
    title="A demo",
    description="Tell yes from no.",
    metric="accuracy",
    maximize=True,
    answer_kind=AnswerKind.LABEL,
    shape=DataShape.TABLE,
    id_columns=("id",),
    train_id_columns=("id",),
    label_columns=("label",),
    target_columns=("label",),
    train_rows=30,
    validation_rows=10,
    test_rows=10,
    preview="train.csv: about 30 rows, 3 columns",
)
AGENT = CoMind(PROBLEM, seed=0)
FRAME = TEMPLATES.render("coding_frame", problem=PROBLEM, opening_version=1)
SUBMIT = TEMPLATES.render("coding_submit", problem=PROBLEM, tables=False)
ANALYSIS = {
    "summary": "A line.",
    "novelty": 1,
    "feasibility": 9,
    "effectiveness": 5,
    "efficiency": 9,
    "confidence": 9,
}
