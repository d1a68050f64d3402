"""Define facts and results of CoMind's three purposes.

A round reads (ANALYZE), proposes ideas (PROPOSE) and writes drafts (COORDINATE). Facts are truncated
when work is planned, so that a replay sees the same.
"""

from pydantic import Field

from comind.campaign.plan import Purpose
from comind.domain.draft import Draft
from comind.domain.value import Value

__all__ = [
    "ANALYZE",
    "COORDINATE",
    "PROPOSE",
    "Comparison",
    "Complement",
    "Component",
    "DatasetTitle",
    "Drafting",
    "Idea",
    "IdeaMemo",
    "Ideas",
    "Item",
    "NotebookTitle",
    "Proposing",
    "Ratings",
    "Reading",
    "Report",
    "ReportMemo",
    "Reports",
    "RoundDrafts",
    "Sampled",
    "StartingPoint",
    "Tried",
]


class Sampled(Value):
    """One community item to read, and the reason for reading it."""

    id: str
    kind: str
    why: str


class Item(Value):
    """One thing to read, with its text."""

    id: str
    kind: str
    title: str
    text: str
    claim: str = ""
    reproduced: str = ""


class Ratings(Value):
    """The four dimensions of an analysis (paper, section 4.2), 0 to 10, and why."""

    novelty: int = Field(ge=0, le=10)
    feasibility: int = Field(ge=0, le=10)
    effectiveness: int = Field(ge=0, le=10)
    efficiency: int = Field(ge=0, le=10)
    reasons: str = ""


class Component(Ratings):
    """One part of a solution, rated for itself."""

    name: str
    takes: str = ""
    """What it reads: columns, files, outputs of other parts."""
    gives: str = ""
    """What it hands on."""


class Report(Ratings):
    """What the Analyzer made of one community item or published solution."""

    item: str
    kind: str
    title: str
    summary: str
    components: tuple[Component, ...] = ()
    ideas: tuple[str, ...] = ()
    code: str = ""
    """The few lines of its code that matter most; untrusted."""
    claim: str = ""
    """The score that its author says it has."""
    reproduced: str = ""
    """What attempts that start from it have scored here; empty while none has."""
    confidence: int = Field(ge=0, le=10)
    """Never more than 5 for what nobody has reproduced here."""


class Reading(Value):
    """What one reader of a round reads."""

    sampled: tuple[Sampled, ...] = ()
    solutions: tuple[Item, ...] = ()
    reproduced: dict[str, str] = {}
    """By item, what attempts that start from it have scored here."""
    seconds: float | None = None
    """Time after which no other item is begun; what is left is read in a later round."""


class Reports(Value):
    """What was read."""

    reports: tuple[Report, ...] = ()
    skipped: tuple[str, ...] = ()
    """Items that the model could not report on or had no time for, and why."""


class Idea(Value):
    """The smallest unit that can be tried."""

    id: str
    text: str
    value: int = Field(ge=0, le=10)
    sources: tuple[str, ...] = ()
    """Items of the reports and ids of earlier ideas that it came from."""


class ReportMemo(Value):
    """What roles are shown of a report."""

    item: str
    title: str
    summary: str
    effectiveness: int
    confidence: int
    ideas: tuple[str, ...]
    code: str = ""
    reproduced: str = ""


class IdeaMemo(Value):
    """An idea in short; `used` says what became of the attempts that used it."""

    id: str
    text: str
    used: str = ""
    value: int = 0


class Proposing(Value):
    """What a round has ideas about."""

    reports: tuple[ReportMemo, ...] = ()
    ideas: tuple[IdeaMemo, ...] = ()
    known: int = 0
    """How many ideas there are in all."""
    wanted: int = 0
    best: str = ""
    """The best score so far, in words."""
    minutes: float | None = None
    """What an attempt may take, thinking and writing included."""
    refused: str = ""
    """Why the round before brought nothing."""


class Ideas(Value):
    """The ideas of a round."""

    ideas: tuple[Idea, ...] = ()
    brainstormed: tuple[str, ...] = ()


class StartingPoint(Value):
    """A solution to start from; `seconds` is how long its code ran."""

    id: str
    title: str
    result: str
    code: str
    seconds: float
    report: str = ""
    """What its author found out."""
    inputs: tuple[str, ...] = ()
    """What was mounted for it and is named in its code."""


class Comparison(Value):
    """A scored solution in the table of errors."""

    id: str
    title: str
    result: str
    out_of_fold: str = ""
    """What its out-of-fold predictions scored, in words; empty where it has none."""
    correlations: tuple[float, ...] = ()
    """Of its errors with those of each solution before it: twentieths from 0 to 1."""


class Tried(Value):
    """An attempt in short."""

    title: str
    result: str
    method: str = ""
    """Its plan, while it is running."""


class DatasetTitle(Value):
    """A public dataset that a draft can use."""

    ref: str
    title: str


class NotebookTitle(DatasetTitle):
    """A public notebook that a draft can start from."""

    result: str = ""
    """What attempts that started from it have scored here, in words."""


class Complement(Value):
    """A solution, community item or idea that the best solution did not come from."""

    id: str
    kind: str
    title: str
    result: str
    """What it scored here, or how it is rated."""
    parts: tuple[str, ...] = ()
    """Its components: name, what each takes and gives."""


class Drafting(Value):
    """What a round makes its drafts from."""

    wanted: int = 0
    ideas: tuple[IdeaMemo, ...] = ()
    solutions: tuple[StartingPoint, ...] = ()
    """The best first."""
    best: str = ""
    """Id of the best attempt."""
    tried: tuple[Tried, ...] = ()
    titles: tuple[str, ...] = ()
    """Of all attempts."""
    notebooks: tuple[NotebookTitle, ...] = ()
    datasets: tuple[DatasetTitle, ...] = ()
    finished: int = 0
    """How many attempts had ended."""
    reports: tuple[ReportMemo, ...] = ()
    """The best first."""
    minutes: float | None = None
    """What an attempt may take, thinking and writing included."""
    refused: str = ""
    """Why the round before brought no draft."""
    complements: tuple[Complement, ...] = ()
    """What the graph has beside the best solution's lineage, the most promising first."""
    preparation: str | None = None
    """The latest preparation that ran well, empty while none has; None in older logs."""
    folds: int = 0
    """Of the vector that all attempts share; 0 in older logs."""
    compared: tuple[Comparison, ...] = ()
    """How far the errors of the best solutions go together."""
    alike: float | None = None
    """Below this errors differ enough for a draft to combine solutions; None where none may."""


class RoundDrafts(Value):
    """The drafts of a round; none where all that was proposed had been tried."""

    drafts: tuple[Draft, ...] = ()
    refused: str = ""
    """Why there is none."""
    preparation: str = ""
    """What its fresh drafts begin with."""


ANALYZE = Purpose("analyze", "analyzer", Reading, Reports)
PROPOSE = Purpose("propose", "idea_proposer", Proposing, Ideas)
COORDINATE = Purpose("coordinate", "coordinator", Drafting, RoundDrafts)
