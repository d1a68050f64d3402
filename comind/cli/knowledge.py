"""Build a knowledge base from communities and papers, or list the entries of one."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from comind.app.knowledge_building import build_base
from comind.app.params import parse_as_of
from comind.app.paths import find_project, open_project
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.cli.command import CommandResult
from comind.errors import UsageError
from comind.knowledge.extraction import community_sources, paper_sources
from comind.knowledge.knowledge_base import BUILTIN, open_pinned, pin
from comind.reporting.text_table import text_table

_SHOWN = 20


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    return _build(args) if args.action == "build" else _list(args)


def _build(args: argparse.Namespace) -> CommandResult:
    if not (args.community or args.papers):
        raise UsageError("nothing is named that could be read", hint="--community or --papers")
    if args.community and not args.competition:
        raise UsageError("--community: which competition is it about?", hint="name a --competition")
    project = open_project(args.out)
    base = _base_of(args, project)
    done = build_base(project, base, _sources(args), args.model, args.max_usd)
    values: dict[str, Any] = {"base": str(base), **done._asdict()}
    lines = [
        f"base     {base}",
        f"sources  {done.read} read, {done.known} known",
        f"entries  {done.entries} new",
        *(f"failed   {each}" for each in done.failed[:_SHOWN]),
        f"spent    {done.tokens} tokens, ${done.usd:.2f}",
        f"version  {done.dvc or 'none: the base is outside of the project'}",
    ]
    return CommandResult(values=values, text="\n".join(lines) + "\n")


def _sources(args: argparse.Namespace) -> Iterator[Any]:
    for name in args.competition or () if args.community else ():
        yield from community_sources(Path(args.community).absolute(), name, args.most)
    if args.papers:
        if not Path(args.papers).is_dir():
            raise UsageError(f"--papers {args.papers}: is no folder")
        yield from paper_sources(Path(args.papers))


def _list(args: argparse.Namespace) -> CommandResult:
    own = _base_of(args, find_project(args.out))
    base = open_pinned(pin(BUILTIN if args.base in (None, BUILTIN) and not own.is_dir() else str(own)))
    entries = base.visible(parse_as_of(args.as_of))
    rows = [(each.id, each.entry_type, str(each.published or "?"), each.title) for each in entries]
    values = {"sha256": base.sha256, "entries": [each.model_dump(mode="json") for each in entries]}
    return CommandResult(
        values=values, text=f"{text_table(rows)}\n".lstrip() + f"sha256 {base.sha256}\n"
    )


def _base_of(args: argparse.Namespace, project: Path) -> Path:
    """Return the folder of the base: the one that is named, else the project's own."""
    return Path(args.base).absolute() if args.base else ProjectFolder(project).methods
