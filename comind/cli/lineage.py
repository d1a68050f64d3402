"""Show the lineage of a submission: community items, ideas and attempts, with scores."""

import argparse

from comind.app.lineage import as_dot, as_mermaid, as_tree, lineage
from comind.app.paths import find_project
from comind.cli.command import CommandResult
from comind.following.event_text import describe_submission
from comind.servers.tool_servers import prepare_environment


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    project = find_project(args.out)
    prepare_environment(project)
    values = lineage(project, args.name)
    if args.mermaid or args.dot:
        return CommandResult(values=values, text=as_mermaid(values) if args.mermaid else as_dot(values))
    lines = [f"{name:12}{value}" for name, value in _facts(values) if value]
    lines += [f"{'submitted':12}{describe_submission(each)}" for each in values["submissions"]]
    lines += [f"missing     {each}" for each in values["missing"]]
    return CommandResult(values=values, text=as_tree(values) + "\n" + "\n".join(lines) + "\n")


def _facts(values: dict[str, object]) -> list[tuple[str, str]]:
    facts = [(name, str(values[name])) for name in ("competition", "agent", "model", "dvc_rev")]
    recorded = values["recorded"]
    if not isinstance(recorded, dict):
        return facts
    script = recorded["script"] or {}
    return [
        *facts,
        ("code", recorded["revision"] + ("  with changes" if recorded["diff_sha256"] else "")),
        ("split", recorded["split"]["key"]),
        ("community", (recorded["community"] or {}).get("key", "")),
        ("replies", f"{values['replies']} of models, of its attempts and those it builds on"),
        ("script", f"{script['kind']}, {script['proof']}" if script else ""),
    ]
