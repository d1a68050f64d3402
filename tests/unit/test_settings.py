"""Settings of a campaign: one schema for files, options, arms of a bench, flows and logs."""

import argparse
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from comind.app.benches import open_bench
from comind.app.params import read_params
from comind.app.specification import specify_campaign
from comind.app.terminal.questions import ask_dollars
from comind.bench.plan import read_plan
from comind.campaign.log.campaign_settings import CHANGEABLE, CampaignSettings
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.cli.main import parse
from comind.cli.settings_options import flag, settings_given
from comind.cli.table import COMMANDS
from comind.competitions.competition_folder import load_competition
from comind.errors import UnstatedBudgetError, UsageError
from flows.solve import solve as solve_flow
from tests.unit.campaign.samples import spec
from tests.unit.competitions.folders import competition_folder

_FIXTURES = Path(__file__).parents[1] / "fixtures"

_GIVEN: dict[str, tuple[list[str], Any]] = {
    "agent": (["--agent", "aide"], "aide"),
    "set": (["--set", "width=7", "--set", "mode=dense"], {"width": 7, "mode": "dense"}),
    "model": (["--model", "small"], "small"),
    "seed": (["--seed", "3"], 3),
    "iterations": (["--iterations", "0"], 0),
    "coders": (["--coders", "2"], 2),
    "cores": (["--cores", "1"], 1),
    "steps": (["--steps", "9"], 9),
    "minutes": (["--minutes", "12.5"], 12.5),
    "attempt_minutes": (["--attempt-minutes", "7"], 7.0),
    "cell_minutes": (["--cell-minutes", "6"], 6.0),
    "max_usd": (["--max-usd", "none"], "none"),
    "max_tokens": (["--max-tokens", "1000"], 1000),
    "evaluations": (["--evaluations", "24"], 24),
    "ranking": (["--ranking", "votes"], "votes"),
    "datasets": (["--no-datasets"], False),
    "feedback": (["--feedback", "dev"], "dev"),
    "closing_share": (["--closing-share", "0.1"], 0.1),
    "closing_time_share": (["--closing-time-share", "0.3"], 0.3),
    "round_share": (["--round-share", "1"], 1.0),
    "baseline": (["--baseline", "none"], "none"),
    "refit": (["--no-refit"], False),
    "blend": (["--no-blend"], False),
    "folds": (["--folds", "2"], 2),
    "pick": (["--pick", "simplest"], "simplest"),
    "ensemble": (["--no-ensemble"], False),
    "monitor": (["--no-monitor"], False),
    "prove": (["--no-prove"], False),
    "push": (["--push"], True),
    "sandbox": (["--sandbox", "process"], "process"),
    "pool": (["--pool", "gpu"], "gpu"),
    "gpus": (["--gpus", "1"], 1),
    "community": (["--community", "none"], "none"),
    "as_of": (["--as-of", "none"], "none"),
    "notebooks": (["--notebooks", "4"], 4),
    "discussions": (["--discussions", "5"], 5),
}
_ONLY_IN_FILES = {"models", "traffic", "node_kinds", "packages", "monitoring"}

_BAD = {
    "seed": -1,
    "iterations": -1,
    "coders": 1000,
    "cores": 0,
    "steps": 0,
    "minutes": -5,
    "attempt_minutes": 0,
    "cell_minutes": 0,
    "max_usd": -1,
    "max_tokens": -1,
    "closing_share": 1,
    "closing_time_share": -0.1,
    "round_share": 0,
    "folds": 77,
    "gpus": -1,
    "as_of": "yesterday",
    "notebooks": -1,
    "discussions": -1,
}


def _parsed(command: str, arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    COMMANDS[command].arguments(parser)
    return parser.parse_args(arguments, argparse.Namespace(command=command))


def test_every_setting_has_a_comment() -> None:
    """The comment of a field is the help of its option and of Prefect's form."""
    for name, field in CampaignSettings.model_fields.items():
        assert field.description, name


def test_every_setting_is_tried() -> None:
    """The table below lists each setting that an option can have."""
    assert {*_GIVEN} | _ONLY_IN_FILES == {*CampaignSettings.model_fields}


@pytest.mark.parametrize("command", ["solve", "track"])
@pytest.mark.parametrize("name", _GIVEN)
def test_every_option_arrives(command: str, name: str) -> None:
    """Each option of `solve` and `track` becomes the setting of its name, and no other."""
    arguments, value = _GIVEN[name]
    assert settings_given(_parsed(command, ["titanic", *arguments])) == {name: value}


@pytest.mark.parametrize("name", _GIVEN)
def test_a_setting_reaches_the_specification(name: str, tmp_path: Path) -> None:
    """What is given is what the log of the campaign holds."""
    value = _GIVEN[name][1]
    if name in {"agent", "set", "model", "pool"}:
        pytest.skip("what it is resolved to has tests of its own")
    competition = load_competition(competition_folder(tmp_path))
    found = specify_campaign(tmp_path, competition, {"model": "offline", name: value}, [])
    assert getattr(found, name) == value
    assert CampaignSpec.model_validate_json(found.model_dump_json()) == found


def _refusals(name: str, value: Any, tmp_path: Path) -> list[str]:
    """Return how each way in refuses a value; the seeds of a bench are those of its plan."""
    folder = competition_folder(tmp_path)
    (tmp_path / "plan.yaml").write_text(
        json.dumps({"competitions": [str(folder)], "arms": {"one": {name: value}}})
    )
    project = tmp_path / "project"
    project.mkdir()
    (project / "params.yaml").write_text(json.dumps({"solve": {name: value}}))
    competition = load_competition(folder)
    ways = (
        lambda: settings_given(_parsed("solve", ["titanic", f"{flag(name)}={value}"])),
        lambda: specify_campaign(tmp_path, competition, {name: value}, []),
        lambda: read_params(project),
        *([] if name == "seed" else [lambda: open_bench(tmp_path, read_plan(tmp_path / "plan.yaml"))]),
    )
    found = []
    for way in ways:
        with pytest.raises(UsageError) as refused:
            way()
        assert refused.value.exit_code == 2
        found.append(str(refused.value))
    return found


@pytest.mark.parametrize("name", _BAD)
def test_a_value_out_of_bounds_is_refused_everywhere(name: str, tmp_path: Path) -> None:
    """Options, overrides, arms and files refuse it in one line with the same reason."""
    option, *others = _refusals(name, _BAD[name], tmp_path)
    reason = option.removeprefix(f"{flag(name)} {_BAD[name]}: ")
    assert reason != option
    for line in others:
        assert line.endswith(f"{name}: {reason}")
        assert "\n" not in line


def test_times_and_limits_of_the_monitor_are_settings(tmp_path: Path) -> None:
    """The section `monitoring` reaches the specification, and is checked key by key."""
    competition = load_competition(competition_folder(tmp_path))
    given = {"model": "offline", "monitoring": {"ask_share": 0.5, "questions": 0}}
    found = specify_campaign(tmp_path, competition, given, []).monitoring
    assert (found.ask_share, found.questions, found.calls_share) == (0.5, 0, 0.1)
    for key, value in {"ask_share": 0, "idle_share": 1.5, "questions": -1, "patience": 3}.items():
        (tmp_path / "params.yaml").write_text(json.dumps({"solve": {"monitoring": {key: value}}}))
        with pytest.raises(UsageError, match=key):
            read_params(tmp_path)


def test_an_unknown_setting_is_refused_everywhere(tmp_path: Path) -> None:
    """A misspelled key starts no campaign on defaults."""
    competition = load_competition(competition_folder(tmp_path))
    with pytest.raises(UsageError, match=r"there is no key 'itertions'.*iterations"):
        specify_campaign(tmp_path, competition, {"itertions": 3}, [])
    (tmp_path / "params.yaml").write_text("solve: {itertions: 3}")
    with pytest.raises(UsageError, match=r"solve: there is no key 'itertions'.*iterations"):
        read_params(tmp_path)


def test_the_flow_has_a_form_with_bounds_and_help() -> None:
    """The schema of the flow's parameters has each setting with bounds, choices and help."""
    schema = solve_flow.parameters.model_dump()
    settings = schema["definitions"]["CampaignSettings"]
    assert {*settings["properties"]} == {*CampaignSettings.model_fields}
    assert settings["additionalProperties"] is False
    coders = settings["properties"]["coders"]
    assert (coders["minimum"], coders["maximum"], coders["default"]) == (1, 64, 4)
    assert settings["properties"]["pick"]["enum"] == ["best", "simplest"]
    assert all(each["description"] for each in settings["properties"].values())


def test_the_flow_refuses_an_unknown_setting() -> None:
    """A misspelled override of a deployment fails before anything is run."""
    with pytest.raises(Exception, match="itertions"):
        solve_flow.validate_parameters({"competition": "c", "settings": {"itertions": 3}})


@pytest.mark.parametrize("name", sorted({*_GIVEN} - {*CHANGEABLE}))
def test_a_setting_that_cannot_change_is_refused_on_resume(name: str, tmp_path: Path) -> None:
    """`--resume` names the option that has no effect any more."""
    arguments = ["--resume", "c1", "--out", str(tmp_path), *_GIVEN[name][0]]
    with pytest.raises(UsageError, match=rf"^{flag(name)}: a campaign that is resumed keeps"):
        parse(["solve", *arguments])


def test_a_specification_of_an_older_log_is_upgraded() -> None:
    """Keys that are absent in it have the defaults of then, and limits their present names."""
    older = {
        "id": "c1",
        "competition": "c",
        "competition_folder": "/c",
        "agent": "comind",
        "model": "m",
        "seed": 3,
        "coders": 2,
        "steps": 5,
        "attempt_seconds": 1200.0,
        "cell_seconds": 300.0,
        "sandbox": "docker",
        "packages": ["six"],
        "pool": "",
        "as_of": None,
        "budget": {"seconds": 3600.0, "usd": 2.5, "tokens": None, "closing_share": 0.1},
    }
    found = CampaignSpec.model_validate(older)
    assert (found.minutes, found.attempt_minutes, found.cell_minutes) == (60, 20, 5)
    assert (found.max_usd, found.max_tokens, found.pool, found.cutoff) == (2.5, None, None, None)
    assert (found.blend, found.folds, found.pick, found.ensemble) == (False, 0, "simplest", False)
    assert (found.round_share, found.closing_time_share) == (1.0, 0.0)
    assert found.packages.allow == ("six",)
    assert found.budget.usd == 2.5
    assert found.budget.closing_share == 0.1


def test_logs_of_before_are_read() -> None:
    """The specification in each log of a former revision among the fixtures is upgraded."""
    read = 0
    for archive in sorted(_FIXTURES.glob("campaign-*.tar.xz")):
        with tarfile.open(archive) as files:
            for member in files:
                if not member.name.endswith("log.jsonl"):
                    continue
                stream = files.extractfile(member)
                assert stream is not None
                event = json.loads(stream.readline())["event"]
                if event["type"] != "campaign-opened":
                    continue
                found = CampaignSpec.model_validate(event["spec"])
                assert found.budget.seconds == pytest.approx(event["spec"]["budget"]["seconds"])
                read += 1
    assert read


def test_changes_of_a_resumed_campaign_are_validated() -> None:
    """Changed settings are those of the campaign from then on, within the same bounds."""
    assert spec().changed({"cores": 1, "sandbox": "docker"}).cores == 1
    with pytest.raises(ValidationError):
        spec().changed({"cores": 0})


@pytest.mark.parametrize(
    ("given", "stated"),
    [
        ({}, False),
        ({"max_usd": "none"}, True),
        ({"max_usd": 2}, True),
        ({"models": {"default": {"price": {"prompt": 0, "completion": 0}}}}, True),
        ({"models": {"default": {"name": "unheard-of"}}, "model": "unheard-of"}, True),
        ({"model": "offline"}, True),
    ],
    ids=["nothing", "none", "dollars", "free of charge", "price unknown", "offline"],
)
def test_a_model_with_a_price_needs_a_stated_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], stated: bool
) -> None:
    """Without dollars, or the word none, no campaign is opened on a model that costs money."""
    monkeypatch.setenv("OPENAI_API_KEY", "some")
    competition = load_competition(competition_folder(tmp_path))
    values = {"model": "gpt-5-mini", "agent": "aide", **given}
    if stated:
        assert specify_campaign(tmp_path, competition, values, []).max_usd == given.get("max_usd")
        return
    with pytest.raises(UnstatedBudgetError, match="gpt-5-mini costs money") as refused:
        specify_campaign(tmp_path, competition, values, [])
    assert refused.value.exit_code == 2
    assert "--max-usd none" in refused.value.hint


def test_a_person_is_asked_for_dollars(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The question is repeated until the answer is a number or none; no answer is an error."""
    monkeypatch.setattr("sys.stdin", io.StringIO("much\n-1\n$2.50\nnone\n"))
    assert ask_dollars("gpt costs money") == 2.5
    assert capsys.readouterr().err.count("gpt costs money. How many dollars at most?") == 3
    assert ask_dollars("gpt costs money") == "none"
    with pytest.raises(UsageError, match="gpt costs money"):
        ask_dollars("gpt costs money")
