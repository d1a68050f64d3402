"""Define CoMind's parameters."""

from pydantic import Field

from comind.domain.value import Value


class CoMindParameters(Value):
    """Limits of CoMind's rounds and attempts."""

    notebooks_per_round: int = Field(default=5, ge=0, description="unread notebooks, sampled to be read")
    discussions_per_round: int = Field(
        default=3, ge=0, description="unread discussions, sampled to be read"
    )
    datasets_per_round: int = Field(
        default=5, ge=0, description="datasets, sampled to be offered to drafts"
    )
    solutions_per_round: int = Field(
        default=4, ge=0, description="unread solutions of the campaign, the best one first"
    )
    readers: int = Field(default=4, ge=1, description="parts of a round's items read side by side")
    reading_share: float = Field(
        default=0.1, gt=0, le=1, description="of the campaign's time, the most that a round reads for"
    )
    patience: int = Field(
        default=6, ge=1, description="scored steps in a row without a real gain that end an attempt"
    )
    idea_memory: bool = Field(
        default=True, description="whether a round sees the ideas of all earlier rounds"
    )
    filtering: bool = Field(
        default=True,
        description="whether brainstormed ideas are filtered and ranked; else the first ones are taken",
    )
    one_call_minutes: float = Field(
        default=60,
        ge=0,
        description="of a campaign, or left in its second half, at which rounds are one call; 0: never",
    )
    preparation: bool = Field(
        default=True, description="whether fresh drafts share a cell that prepares features"
    )
    graph: bool = Field(
        default=True, description="whether drafts see what the graph has outside a solution's lineage"
    )
    max_empty_rounds: int = Field(
        default=6, ge=1, description="rounds in a row without a draft after which a campaign ends"
    )
    lessons: bool = Field(
        default=True, description="whether roles see what earlier attempts gained over their parents"
    )
    isolation: bool = Field(
        default=False, description="whether an attempt sees its draft and its feedback alone"
    )
    neighbours: bool = Field(
        default=True, description="whether feedback has news of attempts that run at the same time"
    )
    critic: bool = Field(
        default=True, description="whether the best programs are read for leakage, and run without it"
    )
    critic_calls: int = Field(
        default=8, ge=0, description="programs that the critic reads in a campaign, one request each"
    )
