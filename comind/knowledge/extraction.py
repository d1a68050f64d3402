"""Extract entries from discussions, notebooks and papers: summarised and labelled by a model.

A base is a folder with a file for each source, named by the hash of its content, so that no source is
paid for twice and a killed build continues.
"""

import hashlib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Literal, NamedTuple

import yaml
from pydantic import BaseModel, Field

from comind.community.access import open_community
from comind.community.asof import as_of
from comind.domain.value import Text, replace_surrogates
from comind.errors import ReplyError
from comind.knowledge.knowledge_base import Entry
from comind.knowledge.label_tree import TEMPLATES, Ask, choose_labels
from comind.knowledge.text_files import read_text_file
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.tokens import shorten
from comind.system.files import write_atomically

_ROLE = "retriever"
_SOURCE_SHARE, _LABEL_TOKENS, _REPLY_TOKENS = 0.5, 1_000, 1_500
_HASH_LENGTH = 16


class Finding(BaseModel):
    """One method or trick of a source."""

    entry_type: Literal["method", "trick"] = Field(
        alias="kind", description="a whole approach, or an improvement of one"
    )
    title: Text = Field(description="at most twelve words")
    text: Text = Field(description="how it is done and when it helps, two to five sentences")


class Extract(BaseModel):
    """Findings of a source, if it has any."""

    useful: bool = Field(description="whether it explains a method well enough to be used elsewhere")
    findings: list[Finding] = Field(default=[], max_length=12)


class Source(NamedTuple):
    """A post, notebook or paper."""

    source_type: Literal["post", "paper"]
    name: str
    title: str
    text: str
    published: date | None
    competition: str = ""

    @property
    def key(self) -> str:
        """Hash of its type and content."""
        whole = f"{self.source_type}\0{self.competition}\0{self.title}\0{self.text}"
        return hashlib.sha256(whole.encode()).hexdigest()[:_HASH_LENGTH]


def community_sources(folder: Path, competition: str, most: int) -> Iterator[Source]:
    """Yield the discussions and notebooks of a competition with the most votes, `most` of each.

    Notebooks in their current version.

    Raises:
        CommunityError: the community folder or store cannot be read.
    """
    community = open_community(folder)
    items = community.items(competition, None)
    view = as_of(items, None)
    item_of = items.notebook_index()
    for thread in sorted(view.discussions, key=lambda each: -each.votes)[:most]:
        text = "\n\n".join([thread.body, *(each.body for each in thread.comments)])
        times = [thread.posted_at, *(each.posted_at for each in thread.comments)]
        day = None if None in times else max(time.date() for time in times if time)
        yield Source("post", f"discussion {thread.id}", thread.title, text, day, competition)
    for notebook in sorted(view.notebooks, key=lambda each: -each.votes)[:most]:
        item = item_of(notebook)
        code, day = community.source_of(item) or "", item.at.date() if item.at else None
        yield Source("post", f"notebook {item.ref}", item.title, code, day, competition)


def paper_sources(folder: Path) -> Iterator[Source]:
    """Yield the text files of a folder; a date in the name or at the beginning is the paper's.

    Raises:
        UsageError: a file cannot be read.
    """
    for path in sorted(each for each in folder.iterdir() if each.suffix in (".txt", ".md")):
        title, text, day = read_text_file(path)
        yield Source("paper", replace_surrogates(path.name), replace_surrogates(title), text, day)


def extract_entries(ask: Ask, context_tokens: int, base: Path, source: Source) -> int | None:
    """Write the entries of a source into a base; returns how many, None if they are there.

    Raises:
        ReplyError: the model's replies are invalid; nothing is written.
    """
    file = base / f"{source.key}.yaml"
    if file.exists() or not source.text.strip():
        return None
    text = shorten(source.text, int(_SOURCE_SHARE * context_tokens), end=0.25)
    prompt = TEMPLATES.render(f"extract_{source.source_type}", title=source.title, text=text)
    message = Message(role="user", content=prompt)
    request = ModelRequest(role=_ROLE, messages=(message,), max_tokens=_REPLY_TOKENS)
    extract = ask(request, Extract).value
    findings = extract.findings if extract.useful else []
    labels: tuple[str, ...] = ()
    if findings:
        about = "\n".join([source.title, *(f"{each.title}: {each.text}" for each in findings)])
        labels = choose_labels(ask, _ROLE, shorten(about, _LABEL_TOKENS))
        if not labels:
            raise ReplyError("no label was chosen")
    entries = [
        Entry(
            id=f"{source.key}-{number}",
            entry_type="paper" if source.source_type == "paper" else each.entry_type,
            title=each.title,
            text=each.text,
            labels=labels,
            source=source.name,
            published=source.published,
            competition=source.competition,
        ).model_dump(mode="json")
        for number, each in enumerate(findings, start=1)
    ]
    write_atomically(file, yaml.safe_dump(entries, sort_keys=False, allow_unicode=True))
    return len(entries)
