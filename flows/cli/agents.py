"""`comind agents`: which agents there are, and what can be set of them."""

import argparse
from typing import Any

from comind.errors import UsageError
from flows.cli.command import CommandResult

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "List the agents: where they come from, their roles, their parameters with defaults."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="one of them")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def run(args: argparse.Namespace) -> CommandResult:
    """List what is installed; one that cannot be loaded is listed with the reason."""
    from comind.wiring.agents import agent_names, load_agent

    if args.name is not None:
        load_agent(args.name)
    told = [_described(name) for name in ([args.name] if args.name else agent_names())]
    return CommandResult(values={"agents": told}, text="\n".join(_as_text(each) for each in told))


def _described(name: str) -> dict[str, Any]:
    from comind.wiring.agents import distribution_of, load_agent, validate_parameters

    described: dict[str, Any] = {"name": name, "origin": distribution_of(name)}
    try:
        agent = load_agent(name)
        defaults = validate_parameters(agent, {}, f"the parameters of {name}").model_dump(mode="json")
    except UsageError as error:
        return described | {"error": str(error)}
    return described | {
        "summary": (agent.__doc__ or "").strip().partition("\n")[0],
        "needs_model": agent.needs_model,
        "roles": {role: each.task for role, each in agent.roles.items()},
        "parameters": {
            field: {"default": defaults[field], "description": each.description or ""}
            for field, each in agent.parameters.model_fields.items()
        },
    }


def _as_text(agent: dict[str, Any]) -> str:
    lines = [f"{agent['name']}  ({agent['origin']})"]
    if "error" in agent:
        return "\n".join([*lines, f"  {agent['error']}", ""])
    lines.append(f"  {agent['summary']}")
    if agent["roles"]:
        lines += ["  roles"]
        lines += [f"    {role:24} {task}" for role, task in agent["roles"].items()]
    if agent["parameters"]:
        lines += ["  parameters"]
    for name, each in agent["parameters"].items():
        assigned = f"{name}={each['default']}"
        lines.append(f"    {assigned:24} {each['description']}")
    return "\n".join([*lines, ""])
