"""A problem, an agent for it, and what roles reply in tests."""

from comind.agents.comind import CoMind
from comind.agents.comind.conversation import TEMPLATES
from comind.agents.comind.parameters import CoMindParameters
from comind.domain.community import CommunityView
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
    folds=5,
    preview="train.csv: about 30 rows, 3 columns",
)


THREE_STAGES = CoMindParameters(one_call_minutes=0)
"""Rounds read, propose and draft, however little time is left."""


def agent_for(
    problem: Problem = PROBLEM,
    *,
    parameters: CoMindParameters = THREE_STAGES,
    community: CommunityView = CommunityView(),  # noqa: B008 - frozen
) -> CoMind:
    """Return an agent with seed 0, by default for PROBLEM and without a community."""
    return CoMind(problem, parameters, seed=0, community=community)


AGENT = agent_for()
FRAME = TEMPLATES.render("coding_frame", problem=PROBLEM, folds=True)
SUBMIT = TEMPLATES.render("coding_submit", problem=PROBLEM, tables=False)
ANALYSIS = {
    "summary": "A line.",
    "novelty": 1,
    "feasibility": 9,
    "effectiveness": 5,
    "efficiency": 9,
    "confidence": 9,
}
