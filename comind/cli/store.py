"""Fetch pretrained models into the user's store, or list what is there and what is recommended."""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from comind.app.model_store import AddedModels, add_models, megabytes, models_there
from comind.app.params import read_params
from comind.app.paths import find_project
from comind.cli.command import CommandResult
from comind.domain.environment import StoreItem
from comind.domain.resources import STORES
from comind.reporting.text_table import text_table
from comind.session.pretrained import pretrained_models
from comind.session.user_store import list_store


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    return _add(args) if args.action == "add" else _list(args)


def _add(args: argparse.Namespace) -> CommandResult:
    names = args.names
    if args.recommended:
        names = [model.name for model in pretrained_models()[args.recommended]]
    done = add_models(find_project(args.out), names)
    values = {
        "models": str(done.folder),
        "added": [_facts(item) for item in done.added],
        "there": done.there,
        "failed": [
            {"name": name, "message": str(error), "hint": error.hint}
            for name, error in done.failed.items()
        ],
    }
    text = _added_text(done)
    if not done.failed:
        return CommandResult(values, text)
    return CommandResult.failure(next(iter(done.failed.values())), values, text)


def _added_text(done: AddedModels) -> str:
    """Return a line for each model, and for each reason of failures; the first is that of the error."""
    rows = [("added", item.name, megabytes(item.bytes), item.load) for item in done.added]
    rows += [("there", name, "", "") for name in done.there]
    reasons: dict[str, list[str]] = {}
    for name, error in done.failed.items():
        reasons.setdefault(str(error), []).append(name)
    lines = [f"failed  {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    alone = not rows and len(done.failed) == 1
    return "" if alone else "".join(f"{line}\n" for line in [text_table(rows), *lines] if line)


def _list(args: argparse.Namespace) -> CommandResult:
    project = find_project(args.out)
    folders = dict(read_params(project).store.below(project).named())
    values: dict[str, Any] = {}
    lines = []
    for key in STORES:
        folder = folders.get(key)
        items = list_store(key, Path(folder)) if folder and Path(folder).is_dir() else ()
        values[key] = {"folder": folder, "items": [_facts(item) for item in items]}
        lines.append(f"{key}: {folder or f'none, as store.{key} in params.yaml is null'}")
        lines += _indented((item.name, megabytes(item.bytes), item.load) for item in items)
    there = models_there(Path(folders["models"])) if "models" in folders else set()
    values["recommended"] = {}
    for kind, models in pretrained_models().items():
        values["recommended"][kind] = [
            {**model.model_dump(mode="json"), "there": model.name in there} for model in models
        ]
        lines.append(f"recommended for {kind}: comind store add NAME, or --recommended {kind}")
        lines += _indented(
            (
                model.name,
                "there" if model.name in there else model.source,
                f"{model.megabytes:g} MB",
                model.licence,
                model.good_for,
            )
            for model in models
        )
    return CommandResult(values, "".join(f"{line}\n" for line in lines))


def _indented(rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"  {line}" for line in text_table(rows).splitlines()]


def _facts(item: StoreItem) -> dict[str, Any]:
    return item.model_dump(mode="json")
