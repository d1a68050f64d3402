"""List the installed agents with their distribution, roles and parameters.

An agent that cannot be loaded is listed with the reason.
"""

import argparse
from typing import Any

from comind.cli.command import CommandResult
from comind.errors import ComindError
from comind.wiring.agents import agent_names, distribution_of, load_agent, validate_parameters


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    if args.name is not None:
        load_agent(args.name)
    listed = [_describe(name) for name in ([args.name] if args.name else agent_names())]
    return CommandResult(
        values={"agents": listed}, text="\n".join(_format_agent(each) for each in listed)
    )


def _describe(name: str) -> dict[str, Any]:
    described: dict[str, Any] = {"name": name, "origin": distribution_of(name)}
    try:
        agent = load_agent(name)
        defaults = validate_parameters(agent, {}, f"the parameters of {name}").model_dump(mode="json")
    except ComindError as error:
        return described | {"error": str(error)}
    return described | {
        "summary": (agent.__doc__ or "").strip().partition("\n")[0],
        "needs_model": agent.needs_model(defaults),
        "roles": {role: each.task for role, each in agent.roles.items()},
        "parameters": {
            field: {"default": defaults[field], "description": each.description or ""}
            for field, each in agent.parameters.model_fields.items()
        },
    }


def _format_agent(agent: dict[str, Any]) -> str:
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
