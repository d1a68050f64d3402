"""Make options of the command line from the settings of a campaign, and settings from options."""

import argparse
import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from comind.campaign.log.campaign_settings import CHANGEABLE, CampaignSettings
from comind.cli.argument_types import assignment
from comind.domain.value import describe_error
from comind.errors import UsageError

_ONLY_IN_FILES = {"models", "traffic", "node_kinds", "packages", "monitoring"}
"""Settings that are mappings or lists; params.yaml holds them."""


def add_settings(parser: argparse.ArgumentParser, help_of: Mapping[str, str] | None = None) -> None:
    """Declare an option for each setting of a campaign; `help_of` replaces the help of some."""
    group = parser.add_argument_group("settings, which override the section solve of params.yaml")
    group.add_argument("--profile", metavar="NAME", help="a profile of params.yaml, such as quick")
    for name, setting in CampaignSettings.model_fields.items():
        if name in _ONLY_IN_FILES:
            continue
        option_types = _option_types(setting.annotation)
        declared: dict[str, Any] = {"default": None, "help": (help_of or {}).get(name) or _help(setting)}
        if name == "set":
            declared |= {"action": "append", "type": assignment, "metavar": "NAME=VALUE"}
        elif option_types == [bool]:
            declared |= {"action": argparse.BooleanOptionalAction}
        elif all(isinstance(each, str) for each in option_types):
            declared |= {"choices": option_types}
        else:
            declared |= {"metavar": "|".join(map(_metavar, option_types))}
        group.add_argument(flag(name), **declared)


def settings_given(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that options set, validated.

    Raises:
        UsageError: a value is out of bounds; the message names its option.
    """
    given = {
        name: value
        for name, value in vars(args).items()
        if name in CampaignSettings.model_fields and value is not None
    }
    if "set" in given:
        given["set"] = dict(given["set"])
    try:
        return CampaignSettings.model_validate(given).given()
    except ValidationError as error:
        path, reason = describe_error(error, given)
        name = path.split(".")[0]
        hint = f"see comind {args.command} --help"
        raise UsageError(f"{flag(name)} {given[name]}: {reason}", hint=hint) from None


def refuse_fixed(args: argparse.Namespace, given: Mapping[str, Any]) -> None:
    """Refuse options of a resumed campaign that would change what it was opened with.

    Raises:
        UsageError: there is one.
    """
    others = {"describe": args.describe, "profile": args.profile}
    fixed = [name for name in given if name not in CHANGEABLE]
    if refused := fixed + [name for name, value in others.items() if value is not None]:
        raise UsageError(
            f"{flag(refused[0])}: a campaign that is resumed keeps what it was opened with",
            hint=f"it takes {', '.join(map(flag, CHANGEABLE))}",
        )


def flag(name: str) -> str:
    """Return the option of a setting."""
    return "--" + name.replace("_", "-")


def _option_types(annotation: Any) -> list[Any]:
    """Return the types and words that a setting takes, without None."""
    if get_origin(annotation) is Annotated:
        return _option_types(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if isinstance(annotation, types.UnionType) or get_origin(annotation) is not None:
        found = [each for part in get_args(annotation) for each in _option_types(part)]
        return [each for each in dict.fromkeys(found) if each is not types.NoneType]
    return [annotation]


def _metavar(each: Any) -> str:
    return each if isinstance(each, str) else {int: "N", float: "X", str: "NAME"}.get(each, "TIME")


def _help(setting: FieldInfo) -> str:
    """Return the comment of a setting in one line, with its default."""
    text = " ".join((setting.description or "").split()).replace("%", "%%")
    what, _, without = text.partition(" None: ")
    what = what[:1].lower() + what[1:].removesuffix(".")
    default = without.removesuffix(".") if without else _shown(setting.default)
    return f"{what} (default: {default})" if default else what


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value or ("0" if value == 0 else ""))
