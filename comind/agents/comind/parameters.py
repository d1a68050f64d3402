"""Parameters of CoMind: section `agents.comind` of params.yaml."""

from pydantic import Field

from comind.domain.value import Value

__all__ = ["CoMindParameters"]


class CoMindParameters(Value):
    """Limits of CoMind's rounds and attempts."""

    notebooks_per_round: int = Field(default=10, ge=0, description="best ranked unread notebooks")
    discussions_per_round: int = Field(default=10, ge=0, description="best ranked unread discussions")
    random_per_round: int = Field(
        default=1, ge=0, description="items of lower rank, drawn at random from each kind"
    )
    solutions_per_round: int = Field(default=4, ge=0, description="unread solutions of the campaign")
    readers: int = Field(default=4, ge=1, description="parts of a round's items read side by side")
    reading_share: float = Field(
        default=0.1, gt=0, le=1, description="of the campaign's time, the most that a round reads for"
    )
    patience: int = Field(
        default=6, ge=1, description="scored steps in a row without a real gain that end an attempt"
    )
    max_empty_rounds: int = Field(
        default=6, ge=1, description="rounds in a row without a draft after which a campaign ends"
    )
