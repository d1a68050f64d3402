"""Print the prompts of an agent with sample facts, each with who reads it and what the reply decides."""

import argparse
from typing import Any

from comind.campaign.log.work_events import MONITOR_ROLE
from comind.cli.command import CommandResult
from comind.domain.suggestions import did_you_mean
from comind.errors import UsageError
from comind.testing.sample_campaign import SamplePrompt, sample_prompts
from comind.wiring.agents import load_agent


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    agent = load_agent(args.agent)
    roles = [*agent.roles, MONITOR_ROLE]
    if args.role is not None and args.role not in roles:
        raise UsageError(
            f"the agent {args.agent} has no role {args.role!r}{did_you_mean(args.role, roles)}",
            hint=f"one of {', '.join(roles)}",
        )
    found = [each for each in sample_prompts(agent, args.kind) if args.role in (None, *each.roles)]
    values = [_values(each) for each in found]
    text = "\n\n".join(_text(each) for each in values) or f"{args.agent} sends no prompts"
    return CommandResult(values={"agent": args.agent, "prompts": values}, text=f"{text}\n")


def _values(prompt: SamplePrompt) -> dict[str, Any]:
    package, name, header, text = prompt.rendering
    return {"roles": prompt.roles, "prompt": name, "package": package, "header": header, "text": text}


def _text(prompt: dict[str, Any]) -> str:
    title = ": ".join(filter(None, (", ".join(prompt["roles"]), prompt["prompt"])))
    return f"=== {title} ({prompt['package']})\n{prompt['header']}\n\n{prompt['text']}\n"
