"""Import notebooks, discussions and datasets into a store that can be queried as of any time."""

import argparse
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from comind.app.community_listing import list_community, listing_text
from comind.app.params import parse_as_of
from comind.app.paths import fetch_from_kaggle, find_competition, open_project
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.cli.command import CommandResult
from comind.cli.in_process import run_flow
from comind.community.jsonl import is_community_folder
from comind.community.statistics import community_statistics
from comind.community.store.importing import ImportResult
from comind.community.store.manifest import is_community_store
from comind.competitions.competition_folder import load_competition
from comind.demos.make import DEMOS
from comind.errors import CompetitionError, UsageError

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_SHOWN = 20


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    moment = parse_as_of(args.as_of)
    project = open_project(args.out)
    slug, own = _competition(args.competition, project)
    if args.kaggle:
        slug, own = _fetched(args, project)
    folder = args.folder or (None if args.listing or args.meta_kaggle else own)
    root = Path(args.store).absolute() if args.store else ProjectFolder(project).community_store
    _check(args, slug, folder, root)
    given = {
        "folder": folder,
        "listing": args.listing,
        "meta_kaggle": args.meta_kaggle,
        "code": args.code,
    }
    sources = {name: Path(path) for name, path in given.items() if path}
    done: list[ImportResult] = []
    version = ""
    if sources:
        done, version = run_flow("ingest", project, store=root, competition=slug, **sources)
    values: dict[str, Any] = {
        "store": str(root),
        "competition": slug,
        "imports": [_describe(each) for each in done],
        "dvc": version,
    }
    if slug and args.as_of:
        values |= _count_items(root, slug, moment)
    text = _summary(values, done)
    if slug and args.list:
        listed = _listed(args.competition, project, root, slug, args.as_of)
        values["listed"] = listed
        text += listing_text(listed)
    return CommandResult(values=values, text=text)


def _competition(name: str | None, project: Path) -> tuple[str | None, Path | None]:
    """Return the slug of a competition, and its own community where it has one."""
    if name is None:
        return None, None

    if name not in DEMOS and not Path(name).exists():
        if _SLUG.fullmatch(name) is None:
            raise UsageError(
                f"{name[:200]}: is neither a folder nor Kaggle's name of a competition",
                hint="such as house-prices-advanced-regression-techniques",
            )
        return name, None
    folder = find_competition(name, project)
    own = folder / "community"
    return load_competition(folder).id, own if is_community_folder(own) else None


def _fetched(args: argparse.Namespace, project: Path) -> tuple[str, Path]:
    """Fetch a competition from Kaggle; returns its slug and community folder."""
    if args.competition is None:
        raise UsageError("--kaggle: which competition is it about?", hint="name a COMPETITION")
    folder = fetch_from_kaggle(args.competition, project, else_name="it is the last part of its address")
    if folder is None:
        raise UsageError(f"{args.competition[:200]}: is no name of a competition on Kaggle")
    return folder.name, folder / "community"


def _check(args: argparse.Namespace, slug: str | None, folder: object, root: Path) -> None:
    """Raise UsageError where the source or the competition is missing."""
    known = args.list and slug is not None and is_community_store(root)
    if not known and not (args.meta_kaggle or args.code or folder or args.listing):
        if slug is not None:
            hint = "fetch it with --kaggle, or name a --folder or --listing"
            raise UsageError(f"{slug}: has no community here", hint=hint)
        hint = "--meta-kaggle, --folder, --kaggle, --listing or --code"
        raise UsageError("nothing is named that could be taken", hint=hint)
    named = {
        "--folder": folder,
        "--listing": args.listing,
        "--as-of": args.as_of,
        "--list": args.list,
    }
    if slug is None and any(named.values()):
        given = next(option for option, value in named.items() if value)
        raise UsageError(f"{given}: which competition is it about?", hint="name a COMPETITION")
    if slug is not None and not any(named.values()):
        raise UsageError(
            f"{slug}: has no effect, as Meta Kaggle is of all competitions",
            hint=f"--list or --as-of shows what there is of {slug}",
        )


def _listed(name: str, project: Path, root: Path, slug: str, as_of: str | None) -> dict[str, Any]:
    """Return what a campaign would read; the metric is that of the competition's folder, if any."""
    try:
        folder = find_competition(name, project)
    except CompetitionError:
        folder = None
    return list_community(project, root, slug, folder, as_of)


def _describe(done: ImportResult) -> dict[str, Any]:
    record = done.record
    return {
        "id": record.id,
        "kind": record.kind,
        "known": done.known,
        "taken": record.taken,
        "dropped": [each.model_dump() for each in record.dropped],
    }


def _count_items(root: Path, slug: str, moment: datetime | None) -> dict[str, Any]:
    """Return the statistics of a competition's items as of `moment`."""
    found = community_statistics(root, slug, moment)
    return {"as_of": moment and moment.isoformat(), **found.model_dump(mode="json")}


def _summary(values: dict[str, Any], done: list[ImportResult]) -> str:
    lines = [f"store   {values['store']}"]
    for record, known in done:
        taken = ", ".join(f"{count} {kind}" for kind, count in record.taken.items()) or "nothing new"
        lines.append(f"import  {record.id}: {'imported before' if known else taken}")
        shown = () if known else record.dropped
        lines += [f"        {each.count} dropped: {each.what}: {each.reason}" for each in shown[:_SHOWN]]
        if len(shown) > _SHOWN:
            lines.append(f"        and {len(shown) - _SHOWN} more reasons: --json names them all")
    if "notebooks" in values:
        counts = ", ".join(f"{values[kind]} {kind}" for kind in ("notebooks", "discussions", "datasets"))
        lines.append(f"as of   {values['as_of']}: {counts} of {values['competition']}")
        lines += _averages(values)
    if done or values["dvc"]:
        lines.append(f"version {values['dvc'] or 'none: the store is outside of the project'}")
    return "\n".join(lines) + "\n"


def _averages(values: dict[str, Any]) -> list[str]:
    """Return the averages of a community, and how its votes are distributed, as lines of text."""
    means = {"lines a notebook": values["lines"], "comments a discussion": values["comments"]}
    shown = ", ".join(f"{mean:g} {what}" for what, mean in means.items() if mean is not None)
    groups = zip(("none", "1 to 9", "10 to 99", "more"), values["votes"], strict=True)
    votes = ", ".join(f"{name} {count}" for name, count in groups)
    return [f"        {shown}"] * bool(shown) + [f"        notebooks by votes: {votes}"]
