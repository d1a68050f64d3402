"""Define parameters, and the typed facts and results of AutoMind's thoughts."""

from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, Field

from comind.campaign.log.work_items import Purpose
from comind.domain.draft import Operator
from comind.domain.value import Text, Value
from comind.knowledge.knowledge_base import BUILTIN, Entry, pin

__all__ = [
    "CHECK",
    "CODER",
    "PLAN",
    "PLANNER",
    "RETRIEVER",
    "SEARCH",
    "VERIFIER",
    "AutoMindParameters",
    "Checked",
    "Checking",
    "Found",
    "Planned",
    "Planning",
    "Searching",
    "Verdict",
]

RETRIEVER, PLANNER, CODER, VERIFIER = "retriever", "planner", "coder", "verifier"


class AutoMindParameters(Value):
    """Hyperparameters: section `agents.automind` of params.yaml, with the paper's defaults."""

    drafts: int = Field(default=5, ge=1, description="drafts before anything else")
    debug_probability: float = Field(
        default=1, ge=0, le=1, description="how often a failed program is debugged, if there is one"
    )
    max_debug_depth: int = Field(
        default=5, ge=0, description="debugs in a row; a failed program of this depth is left"
    )
    greedy_probability: float = Field(
        default=0.8, ge=0, le=1, description="how often the best program is improved, not another"
    )
    trick_probability: float = Field(
        default=0.8, ge=0, le=1, description="how often an improvement gets tricks"
    )
    knowledge: Annotated[str, AfterValidator(pin)] = Field(
        default=BUILTIN,
        validate_default=True,
        description="none, builtin, or a base of comind knowledge build; its hash is recorded",
    )
    coding: Literal["adaptive", "one-pass"] = Field(
        default="adaptive", description="adaptive: complex plans are coded step by step"
    )
    complexity_threshold: float = Field(
        default=3.5, ge=0, le=5, description="complexity (1 to 5) above which a plan is coded in steps"
    )
    max_steps: int = Field(default=6, ge=1, description="steps of a plan at most")
    tries: int = Field(default=3, ge=1, description="tries of a program, or of each step")
    verifier: bool = Field(default=True, description="whether a model checks each result")
    verdict: Literal["none", "greedy", "debug"] = Field(
        default="debug",
        description="scored programs with a bug or overfitting: no change; not best; debugged",
    )


class Searching(Value):
    """Input of the search for knowledge."""

    base: str
    """Pinned name."""
    as_of: AwareDatetime | None = None


class Found(Value):
    """Entries for a task, the best first."""

    labels: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()


class Planning(Value):
    """Input of the planner; texts are truncated."""

    operator: Operator
    parent: str = ""
    """Id of the attempt to debug or improve."""
    program: str = ""
    result: str = ""
    """Plan, score or failure, output and review of the parent."""
    memory: str = ""
    """Earlier nodes in short."""
    entries: tuple[Entry, ...] = ()


class Planned(Value):
    """A plan."""

    title: str
    plan: str
    used: tuple[str, ...] = ()
    """Ids of the entries that it uses."""
    complexity: float | None = None
    """From 1 to 5; None if it is coded in one pass in any case."""


class Checking(Value):
    """Input of the verifier; texts are truncated."""

    attempt: str
    plan: str
    program: str
    result: str
    """Score or failure, output and error."""


class Verdict(BaseModel):
    """The verifier's opinion on a run; whether it is scored is the grader's decision."""

    bug: bool = Field(description="the run failed, or the program does not do what its plan states")
    overfitting: bool = Field(
        description="the score cannot hold on new rows: labels leak, or training and score are far apart"
    )
    submission: bool = Field(description="both submission files were written")
    summary: Text = Field(description="what the run showed, two or three sentences")


class Checked(Value):
    """Result of the verifier."""

    bug: bool
    overfitting: bool
    submission: bool
    summary: str

    def __str__(self) -> str:
        found = [name for name in ("bug", "overfitting") if getattr(self, name)]
        found += [] if self.submission else ["no submission"]
        return f"{', '.join(found) or 'no objection'}: {self.summary}"


SEARCH = Purpose("search", role=RETRIEVER, facts=Searching, result=Found)
PLAN = Purpose("plan", role=PLANNER, facts=Planning, result=Planned)
CHECK = Purpose("check", role=VERIFIER, facts=Checking, result=Checked)
