"""What the Coordinator's model replies: drafts, as it proposes them, in types that fit the round."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel, Field, create_model

from comind.agents.comind.idea_proposer import KeptIdea
from comind.agents.comind.idea_sources import Claim, Sources
from comind.agents.comind.memos import Idea
from comind.agents.comind.thoughts import Drafting
from comind.domain.resources import Hardware
from comind.domain.value import Text
from comind.errors import ReplyError
from comind.llm.reply_format import extract_program

TITLE_LENGTH = 120
"""Characters of a draft's title."""

CODE_KEPT = 60_000
"""Characters of code; longer code is no starting point."""

# Kinds of a round's drafts: something robust, an extension of the best solution, something new.
BASELINE = "baseline"
EXTEND = "extend"
NOVEL = "novel"


class DraftIdea(BaseModel):
    """One draft, as a model proposes it."""

    title: Text = Field(max_length=TITLE_LENGTH)
    strategy: str = Field(default=NOVEL, alias="kind", description="baseline, extend or novel")
    method: Text
    ideas: list[int] = Field(default=[], description="numbers of the ideas that it uses")
    start_from: str = Field(default="", description="id of the solution or notebook to start from")
    datasets: list[str] = []
    code: str = Field(default="", description="the few lines that matter most, if there are any")


class Drafts(BaseModel):
    """What one attempt each will implement; empty when there is nothing to propose."""

    drafts: list[DraftIdea]


class _Ideas(BaseModel):
    ideas: list[KeptIdea] = []


class OpenDrafts(Drafts, _Ideas):
    """The ideas of a round, and the drafts that are made of them."""


# Fields that a reply has where the round has use for them. The name of the type is always the same.
_PREPARATION = (str, Field(default="", description="Python code; empty to keep what there is"))
_KINDS = (str, Field(NOVEL, alias="kind", description="baseline, extend, novel or ensemble"))
_COMBINE: tuple[Any, Any] = (
    list[str],
    Field(default=[], description="ids of what an ensemble combines"),
)
_GPUS = (int, Field(default=0, ge=0, description="GPUs that it cannot do without"))
_MEMORY = (int, Field(default=0, ge=0, description="memory that it cannot do without"))


def reply_type(facts: Drafting, *, short: bool, opening: bool = False) -> type[Drafts]:
    """Return the type of the reply, with ideas where the round is one call; the simplest if `short`."""
    return _reply_type(
        prepares=facts.preparation is not None and not short and not opening,
        combines=facts.alike is not None and not short,
        places=bool(facts.kinds) and not short,
        ideas=opening,
    )


@cache
def _reply_type(*, prepares: bool, combines: bool, places: bool, ideas: bool) -> type[Drafts]:
    draft: dict[str, Any] = {"strategy": _KINDS, "combine": _COMBINE} if combines else {}
    draft |= {"gpus": _GPUS, "memory_gb": _MEMORY} if places else {}
    fields: dict[str, Any] = {"preparation": _PREPARATION} if prepares else {}
    if draft:
        fields["drafts"] = (list[create_model("DraftIdea", __base__=DraftIdea, **draft)], ...)  # type: ignore[misc]
    base = OpenDrafts if ideas else Drafts
    return create_model("Drafts", __base__=base, __doc__=base.__doc__, **fields)


class Preparation(BaseModel):
    """A cell that later drafts begin with which start from no program; empty if none would help."""

    code: str = Field(default="", json_schema_extra={"format": "python"})


def preparation_of(proposed: Drafts, facts: Drafting) -> str:
    """Return the preparation of a round's fresh drafts: that of the reply, else the known one."""
    return program_in(str(getattr(proposed, "preparation", "")))[:CODE_KEPT] or facts.preparation or ""


def program_in(text: str) -> str:
    """Return the program in a text; empty if there is none."""
    if not text.strip():
        return ""
    try:
        return extract_program(text)
    except ReplyError:  # not Python
        return ""


def members(proposed: DraftIdea) -> list[str]:
    """Return the distinct solutions that a draft combines."""
    named = getattr(proposed, "combine", ())
    return list(dict.fromkeys(each.strip() for each in named if each.strip()))


def needs(proposed: DraftIdea) -> Hardware:
    """Return the machine that a draft needs; none in particular where it was not offered."""
    return Hardware(gpus=getattr(proposed, "gpus", 0), memory_gb=getattr(proposed, "memory_gb", 0))


def ideas_of(proposed: Drafts, facts: Drafting) -> tuple[list[Idea], tuple[str, ...]]:
    """Return the ideas of a reply, numbered on from the known ones, and the sources that do not exist.

    Sources are the reports and earlier ideas that one names by label.
    """
    given: Sequence[KeptIdea] = getattr(proposed, "ideas", ())[: 2 * facts.wanted]
    sources = Sources(facts.reports, facts.ideas)
    numbered = enumerate((each.idea(sources) for each in given), start=facts.known)
    ideas = [idea.model_copy(update={"id": f"idea-{number:03d}"}) for number, idea in numbered]
    return ideas, sources.unknown([Claim(each.text, each.made_from) for each in given])
