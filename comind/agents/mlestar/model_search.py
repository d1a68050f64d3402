"""Search for candidate models in knowledge, model cards, the community and on the web."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import AwareDatetime, BaseModel, Field, create_model

from comind.agents.mlestar.star_requests import PROMPTS, RETRIEVER, SEARCHER
from comind.campaign.log.work_items import Purpose
from comind.campaign.work.context import ThinkContext
from comind.domain.community import CommunityView
from comind.domain.problem import Problem
from comind.domain.value import Text, Value
from comind.errors import ReplyError
from comind.knowledge.entry_search import Found, find_entries, text_of_task
from comind.knowledge.knowledge_base import Entry, open_pinned

_ENTRIES, _NOTEBOOKS, _THREADS = 10, 6, 4  # shown to the model


class Candidate(Value):
    """A model that may solve the task."""

    name: str
    description: str
    example: str = ""
    """Code that uses it; untrusted."""
    sources: tuple[str, ...] = ()
    """Ids of the entries and community items that it came from."""

    def __str__(self) -> str:
        return f"{self.name}: {self.description}"


class SearchFacts(Value):
    """Input of the search."""

    bases: tuple[str, ...] = ()
    """Pinned names of knowledge bases and folders of model cards."""
    as_of: AwareDatetime | None = None
    models: int
    community: bool = True
    web: bool = False


class FoundModels(Value):
    """Candidate models, the most promising first."""

    labels: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    """Knowledge that the model saw."""
    candidates: tuple[Candidate, ...] = ()
    web: str = ""
    """Why the web was not searched, if it should have been."""


SEARCH = Purpose("search", role=RETRIEVER, facts=SearchFacts, result=FoundModels)


class ModelIdea(BaseModel):
    """A candidate as a model writes it."""

    name: Text = Field(description="the model in at most ten words")
    description: Text = Field(description="what it is and how it is used here, two to four sentences")
    example: str = Field(default="", description="short code that shows how to train and use it")
    used: list[int] = Field(default=[], description="numbers of the material that it comes from")


class Models(BaseModel):
    """Candidates that differ from each other."""

    models: list[ModelIdea] = Field(min_length=1, description="the most promising first")


class AlgorithmIdea(ModelIdea):
    """A candidate for a program that solves instances."""

    name: Text = Field(description="the algorithm in at most ten words")
    example: str = Field(default="", description="short code of its core")


Algorithms = create_model(
    "Algorithms",
    __base__=Models,
    models=(list[AlgorithmIdea], Field(min_length=1, description="the most promising first")),
)


class Material(NamedTuple):
    """A text that may name a model; untrusted."""

    id: str
    title: str
    text: str


def search_models(
    problem: Problem, view: CommunityView, facts: SearchFacts, context: ThinkContext
) -> FoundModels:
    """Return candidate models for a task, chosen by a model from what was found.

    Raises:
        ReplyError: three replies in a row did not match the schema.
        ServiceError: a knowledge base is missing or has changed.
    """
    bases = [open_pinned(base).visible(facts.as_of, problem.competition) for base in facts.bases]
    visible = [entry for base in bases for entry in base]
    found = find_entries(problem, visible, context) if visible else Found()
    entries = found.entries[:_ENTRIES]
    material = [Material(each.id, each.title, each.text) for each in entries]
    material += _community(view) if facts.community else ()
    missing = ""
    if facts.web:
        try:
            material += _web(problem, facts.models, context)
        except ReplyError as error:
            missing = str(error)
    given = {"problem": problem, "material": material, "most": facts.models}
    ideas = PROMPTS.ask(context, RETRIEVER, "models", _reply_type(problem), given).models
    return FoundModels(
        labels=found.labels,
        entries=entries,
        candidates=tuple(_candidate(each, material) for each in ideas[: facts.models]),
        web=missing,
    )


def _reply_type(problem: Problem) -> type[Models]:
    return Algorithms if problem.program else Models


def _candidate(idea: ModelIdea, material: Sequence[Material]) -> Candidate:
    used = [material[n - 1].id for n in dict.fromkeys(idea.used) if 0 < n <= len(material)]
    return Candidate(**idea.model_dump(exclude={"used"}), sources=tuple(filter(None, used)))


def _web(problem: Problem, most: int, context: ThinkContext) -> list[Material]:
    """Return what a model of the role `searcher` finds on the web; it must search by itself."""
    task = text_of_task(problem, context.context_tokens)
    facts = {"problem": problem, "task": task, "most": most}
    ideas = PROMPTS.ask(context, SEARCHER, "web", _reply_type(problem), facts).models
    return [Material("", each.name, f"{each.description}\n{each.example}") for each in ideas]


def _community(view: CommunityView) -> Iterator[Material]:
    """Yield the notebooks and discussions with the most votes."""
    for notebook in sorted(view.notebooks, key=lambda each: -each.votes)[:_NOTEBOOKS]:
        yield Material(notebook.ref, notebook.title, notebook.source)
    for thread in sorted(view.discussions, key=lambda each: -each.votes)[:_THREADS]:
        text = "\n\n".join([thread.body, *(each.body for each in thread.comments)])
        yield Material(thread.id, thread.title, text)
