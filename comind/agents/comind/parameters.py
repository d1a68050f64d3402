"""Parameters of CoMind: section `agents.comind` of params.yaml."""

from pydantic import Field

from comind.domain.value import Value

__all__ = ["CoMindParameters"]


class CoMindParameters(Value):
    """What a round of CoMind reads."""

    notebooks_per_round: int = Field(default=3, ge=0, description="best ranked unread notebooks")
    discussions_per_round: int = Field(default=2, ge=0, description="best ranked unread discussions")
    random_per_round: int = Field(
        default=1, ge=0, description="items of lower rank, drawn at random from each kind"
    )
    solutions_per_round: int = Field(default=4, ge=0, description="unread solutions of the campaign")
