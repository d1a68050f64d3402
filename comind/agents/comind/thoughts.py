"""Define facts and results of the purposes of CoMind's rounds.

A round reads (ANALYZE), proposes ideas (PROPOSE) and writes drafts (COORDINATE); where time is short one
thought does the last two (OPEN). A preparation may be written beside attempts (PREPARE). Facts are
truncated when work is planned, so that a replay sees the same.
"""

from pydantic import Field

from comind.agents.comind.lessons import Lesson
from comind.agents.comind.memos import Idea, IdeaMemo, ReportMemo
from comind.campaign.log.work_items import Assignment, NoResult, Purpose
from comind.domain.draft import Draft
from comind.domain.resources import Hardware
from comind.domain.value import Value


class Sampled(Value):
    """One community item to read, and the reason for reading it."""

    id: str
    item_type: str = Field(alias="kind")
    why: str


class Item(Value):
    """One thing to read, with its text."""

    id: str
    item_type: str = Field(alias="kind")
    title: str
    text: str
    claim: str = ""
    reproduced: str = ""
    circumstances: str = ""
    """Votes, author's tier, date and declared sources, in words."""


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
    """What it produces."""
    confidence: int | None = Field(default=None, ge=0, le=10)
    """At most 5 for what was not reproduced here; None in older logs."""


class Report(Ratings):
    """The Analyzer's report on one community item or published solution."""

    item: str
    item_type: str = Field(alias="kind")
    title: str
    summary: str
    components: tuple[Component, ...] = ()
    ideas: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    """What it lacks, or where it may be wrong; empty in older logs."""
    code: str = ""
    """The few lines of its code that matter most; untrusted."""
    claim: str = ""
    """The score that its author claims."""
    reproduced: str = ""
    """Scores of attempts that start from it; empty while there is none."""
    confidence: int = Field(ge=0, le=10)
    """At most 5 for what was not reproduced here."""

    @property
    def merit(self) -> int:
        """Order of reports: the mean of the four axes, scaled by confidence, from 0 to 1,600.

        Effectiveness counts three times, feasibility and novelty twice, efficiency once; without
        confidence half of it is left.
        """
        axes = 3 * self.effectiveness + 2 * self.feasibility + 2 * self.novelty + self.efficiency
        return axes * (10 + self.confidence)


class Reading(Value):
    """Facts of one reader of a round."""

    sampled: tuple[Sampled, ...] = ()
    solutions: tuple[Item, ...] = ()
    """The best of the unread ones first."""
    reports: tuple[Report, ...] = ()
    """Those that the log alone makes, without a model."""
    reproduced: dict[str, str] = {}
    """By item, scores of attempts that start from it."""
    seconds: float | None = None
    """Timeout after which no further item is begun; the rest is read in a later round."""


class Reports(Value):
    """Results of one reader."""

    reports: tuple[Report, ...] = ()
    skipped: tuple[str, ...] = ()
    """Items without a valid reply or without time, and why."""
    pooled: bool = False
    """Whether the ideas of its discussions are in the pool; False in older logs."""


class Proposing(Value):
    """Facts of a round's ideas."""

    reports: tuple[ReportMemo, ...] = ()
    ideas: tuple[IdeaMemo, ...] = ()
    """Untried ones first, the most valued first; the oldest first in older logs."""
    known: int = 0
    """Number of all ideas."""
    wanted: int = 0
    best: str = ""
    """The best score so far, in words."""
    minutes: float | None = None
    """Time budget of an attempt, with the model's calls."""
    refused: str = ""
    """Why the previous round had no draft."""
    lessons: tuple[Lesson, ...] = ()
    """What earlier attempts gained over their parents; empty in older logs."""


class Ideas(Value):
    """The ideas of a round."""

    ideas: tuple[Idea, ...] = ()
    brainstormed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Sources that do not exist, which replies named, also when asked again; they were dropped."""


class StartingPoint(Value):
    """A solution to start from; `seconds` is the run time of its code."""

    id: str
    title: str
    result: str
    code: str
    seconds: float
    report: str = ""
    """Its attempt's report."""
    inputs: tuple[str, ...] = ()
    """Its mounted inputs that its code names."""
    gain: str = ""
    """What its attempt gained a minute, and what another one is expected to gain, in words."""
    ratings: str = ""
    """Of its report, with the reasons, in words."""
    ran: str = ""
    """Of the platform's baseline, what ran; its long generic program is in no prompt for drafts."""


class Comparison(Value):
    """A scored solution in the table of errors."""

    id: str
    title: str
    result: str
    out_of_fold: str = ""
    """Score of its out-of-fold predictions, in words; empty without them."""
    correlations: tuple[float, ...] = ()
    """Of its errors with those of each solution before it, in twentieths from 0 to 1."""


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
    """Scores of attempts that started from it, in words."""
    output: str = ""
    """File in its folder with the predictions for test rows that its run on Kaggle wrote."""


class Complement(Value):
    """A solution, community item or idea that a solution worth extending did not come from."""

    id: str
    item_type: str = Field(alias="kind")
    title: str
    result: str
    """Its score here, or its rating."""
    parts: tuple[str, ...] = ()
    """Its components: name, what each takes and gives."""
    outside: tuple[str, ...] = ()
    """The solutions to extend that did not come from it; empty in older logs."""


class Earlier(Value):
    """The plan of an earlier attempt, from which new drafts have to differ."""

    id: str
    """As prompts name it: its title in quotation marks; in older logs its id."""
    method: str
    start: str = ""
    """What it started from."""
    scored: bool = True
    """Whether it has a score, or is still running."""


class Asked(Value):
    """A kind of draft that a round asks for."""

    name: str
    start: str = ""
    """The solution that it has to start from, if it has to be a particular one."""

    def __str__(self) -> str:
        return f"{self.name} of {self.start}" if self.start else self.name


class Drafting(Value):
    """Facts of a round's drafts."""

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
    """Number of attempts that had ended."""
    reports: tuple[ReportMemo, ...] = ()
    """The best first."""
    minutes: float | None = None
    """Time budget of an attempt, with the model's calls."""
    refused: str = ""
    """Why the previous round had no draft."""
    complements: tuple[Complement, ...] = ()
    """What the graph has outside the lineage of solutions to extend, the most promising first."""
    preparation: str | None = None
    """The latest preparation that ran without error, else one that never ran, else empty; None without
    preparations, for programs and in older logs."""
    folds: int = 0
    """Number of folds that all attempts share; 0 in older logs."""
    compared: tuple[Comparison, ...] = ()
    """Correlations of the best solutions' errors."""
    alike: float | None = None
    """Correlation below which a draft may combine solutions; None if none may be combined."""
    kinds: tuple[Hardware, ...] = ()
    """Kinds of machines, one of which a draft may need."""
    known: int = 0
    """Number of all ideas."""
    phase: str = ""
    """What the round is for (`search_phase.py`); empty in older logs."""
    asked: tuple[Asked, ...] = ()
    """Kinds of drafts, the most important first; empty in older logs, which enforce none."""
    extend: tuple[str, ...] = ()
    """Solutions in order of what extending them is expected to gain a minute."""
    lineage: tuple[str, ...] = ()
    """The best solution, and the solutions and notebooks that it came from."""
    baseline: str = ""
    """Id of the platform's baseline, if it can be seen."""
    earlier: tuple[Earlier, ...] = ()
    feasibility: dict[str, int] = {}
    """Of ideas, community items and solutions, where it is known."""
    lessons: tuple[Lesson, ...] = ()
    """What earlier attempts gained over their parents; empty in older logs."""


class RoundDrafts(Value):
    """The drafts of a round; none if all proposed ones were tried before."""

    drafts: tuple[Draft, ...] = ()
    refused: str = ""
    """Why there is none."""
    preparation: str = ""
    """The cell that its fresh drafts begin with."""
    ideas: tuple[Idea, ...] = ()
    """Its ideas, where one call wrote ideas and drafts."""
    missing: tuple[str, ...] = ()
    """Kinds that were asked for, of which no draft is."""
    unknown: tuple[str, ...] = ()
    """Sources that its ideas named and that do not exist."""


class Preparing(Value):
    """Facts of a preparation that is written beside the first attempts."""

    folds: int = 0
    """Number of folds that all attempts share."""
    methods: tuple[str, ...] = ()
    """Of the drafts of the round, in short."""


class Prepared(Value):
    """A cell that later fresh drafts begin with; empty if there is none."""

    preparation: str = ""


class SolutionMemo(Value):
    """A mounted solution, as the coder is told of it."""

    id: str
    result: str
    """Its score, in words."""
    seconds: float
    """Running time of its code."""
    out_of_fold: bool = False
    """Whether it has predictions for train.csv, too."""
    probabilities: bool = Field(default=False, exclude_if=lambda has: not has)
    """Whether it has probabilities beside its labels."""


class OtherComponent(Value):
    """A component of a solution that a draft does not come from."""

    of: str
    """Id of its attempt."""
    result: str
    """Score of the attempt, in words."""
    name: str
    takes: str = ""
    gives: str = ""
    effectiveness: int = 0


class CodingFacts(Value):
    """What an attempt is told beside its draft."""

    solutions: tuple[SolutionMemo, ...] = ()
    """Of `Code.inputs`, those that are attempts."""
    lessons: tuple[Lesson, ...] = ()
    components: tuple[OtherComponent, ...] = ()
    """Of other solutions."""


ANALYZE = Purpose("analyze", "analyzer", Reading, Reports)
PROPOSE = Purpose("propose", "idea_proposer", Proposing, Ideas)
COORDINATE = Purpose("coordinate", "coordinator", Drafting, RoundDrafts)
CODING = Assignment("coding", CodingFacts, NoResult)
OPEN = Purpose("open", "coordinator", Drafting, RoundDrafts)
PREPARE = Purpose("prepare", "coordinator", Preparing, Prepared)
