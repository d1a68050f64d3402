"""Agents are loaded by entry point; every fault is an error of one line."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from comind.campaign.agent import Agent
from comind.cli.main import main
from comind.errors import UsageError
from comind.llm.settings import ModelSettings
from comind.wiring.agents import (
    agent_class,
    agent_names,
    all_roles,
    distribution_of,
    load_agent,
    runs_own_code,
    validate_parameters,
)
from comind.wiring.models import resolve_settings
from tests.unit.campaign.samples import spec
from tests.unit.wiring.plugins import AGENT, Installed, installed

_PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
_OURS = sorted(_PROJECT["entry-points"]["comind.agents"])


@pytest.fixture
def plugins(tmp_path: Path) -> Iterator[Installed]:
    """A folder for distributions, on the import path."""
    with installed(tmp_path / "site") as folder:
        yield folder


def _told(name: str) -> str:
    with pytest.raises(UsageError) as caught:
        load_agent(name)
    assert "\n" not in str(caught.value)
    return f"{caught.value} | {caught.value.hint}"


def test_an_agent_of_another_distribution_is_found(plugins: Installed) -> None:
    """A plug-in is listed with its distribution and version."""
    plugins.add("some-weaver", "weaver", version="2.1")
    assert agent_names() == [*_OURS, "weaver"]
    assert issubclass(load_agent("weaver"), Agent)
    assert distribution_of("weaver") == "some-weaver 2.1"


def test_an_unknown_agent_is_told_with_the_known_ones(plugins: Installed) -> None:
    """An unknown agent is an error with the list of installed ones."""
    plugins.add("some-weaver", "weaver")
    known = ", ".join([*_OURS, "weaver"])
    assert _told("waver") == f"unknown agent 'waver'; did you mean weaver? | one of {known}"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import nowhere_to_be_found", "cannot be loaded: ModuleNotFoundError: No module named"),
        ("raise ValueError('first\\nsecond')", "cannot be loaded: ValueError: first | "),
        ("raise SystemExit(3)", "cannot be loaded: SystemExit: 3 | "),
        ("Plug = 3", "cannot be loaded: AttributeError: "),
        ("Plugged = 3", "is no comind.campaign.agent.Agent | "),
        ("class Plugged: pass", "is no comind.campaign.agent.Agent | "),
        (AGENT.replace("def code", "def mode"), "has no method code | "),
        (AGENT.replace(" plan(", " run(").replace("def code", "def x"), "has no method code, plan | "),
    ],
)
def test_a_broken_plug_in_is_told(plugins: Installed, source: str, reason: str) -> None:
    """Loading a broken plug-in is an error that names distribution and reason."""
    plugins.add("some-weaver", "weaver", source)
    told = _told("weaver")
    assert told.startswith("the agent 'weaver' of some-weaver 1.0 ")
    assert reason in told
    assert load_agent("baseline"), "the others go on"
    assert "weaver" not in all_roles()


def test_a_name_that_two_distributions_declare_is_refused(plugins: Installed) -> None:
    """Two agents of one name are an error that names both distributions."""
    plugins.add("some-weaver", "weaver")
    plugins.add("other-weaver", "weaver", version="3")
    told = _told("weaver")
    assert "some-weaver 1.0" in told
    assert "other-weaver 3" in told
    assert told.endswith("uninstall all but one")


def test_a_name_that_can_be_no_folder_is_refused(plugins: Installed) -> None:
    """An agent's name must be valid in a campaign's name."""
    plugins.add("some-weaver", "the weaver")
    assert "'the weaver' is not a name" in _told("the weaver")


WITHOUT_MODEL = """
    @classmethod
    def needs_model(cls, parameters):
        return False
"""


def test_a_plug_in_cannot_take_the_place_of_the_baseline(plugins: Installed) -> None:
    """If another distribution declares `baseline`, a campaign without a model is an error."""
    offline = spec(agent="comind", model="offline")
    assert not agent_class(offline).needs_model({})
    plugins.add("some-weaver", "baseline")
    with pytest.raises(UsageError, match="the agent 'baseline' is declared by") as caught:
        agent_class(offline)
    assert "some-weaver 1.0" in str(caught.value)


def test_without_a_language_model_the_baseline_runs(plugins: Installed) -> None:
    """A campaign runs the agent of its spec, or the baseline if that needs a model and has none."""
    plugins.add("some-weaver", "weaver")
    weaver = load_agent("weaver")
    assert agent_class(spec(agent="weaver", model="large")) is weaver
    assert agent_class(spec(agent="weaver", model="offline")) is load_agent("baseline")
    one = {"weaver": ModelSettings(name="large")}
    assert agent_class(spec(agent="weaver", model="offline", models=one)) is weaver


def test_only_the_baselines_code_is_ours(plugins: Installed) -> None:
    """Code of a plug-in is sealed, also if it uses no model."""
    plugins.add("some-weaver", "weaver", AGENT + WITHOUT_MODEL)
    assert agent_class(spec(agent="weaver", model="offline")) is load_agent("weaver")
    assert not runs_own_code(spec(agent="weaver", model="offline"))
    assert runs_own_code(spec(agent="comind", model="offline"))
    assert runs_own_code(spec(agent="baseline", model="large"))
    assert not runs_own_code(spec(agent="comind", model="large"))


@pytest.mark.parametrize(
    ("values", "told", "hint"),
    [
        ({"with": 1}, "here: there is no parameter 'with'", "there is: width, mode"),
        ({"width": 0}, "here: width: input should be greater than or equal to 1", ""),
        ({"width": "wide"}, "here: width: input should be a valid integer", ""),
        ({"mode": None}, "here: mode: input should be a valid string", ""),
    ],
)
def test_a_wrong_parameter_is_told(
    plugins: Installed, values: dict[str, object], told: str, hint: str
) -> None:
    """An unknown parameter is an error with the list of parameters, a bad value with the reason."""
    plugins.add("some-weaver", "weaver")
    with pytest.raises(UsageError) as caught:
        validate_parameters(load_agent("weaver"), values, "here")
    assert str(caught.value).startswith(told)
    assert caught.value.hint == hint


def test_parameters_are_complete(plugins: Installed) -> None:
    """Missing parameters have their defaults, and recorded parameters validate to the same."""
    plugins.add("some-weaver", "weaver")
    weaver = load_agent("weaver")
    values = validate_parameters(weaver, {"width": 5}, "here")
    assert values.model_dump() == {"width": 5, "mode": "plain"}
    assert validate_parameters(weaver, json.loads(values.model_dump_json()), "the log") == values
    with pytest.raises(UsageError, match=r"here: there is no parameter 'width'") as caught:
        validate_parameters(load_agent("baseline"), {"width": 5}, "here")
    assert caught.value.hint == "there is: none"


def test_roles_of_all_agents_may_have_a_model(plugins: Installed) -> None:
    """params.yaml may name roles of other installed agents; unknown roles are an error."""
    plugins.add("some-weaver", "weaver")
    assert {"weaver", "analyzer", "coding_agent"} <= all_roles()
    models = {"weaver": ModelSettings(name="small")}
    assert "weaver" not in resolve_settings("m", models, load_agent("comind").roles, all_roles())
    with pytest.raises(UsageError, match="no role 'weavr'"):
        resolve_settings("m", {"weavr": ModelSettings()}, load_agent("weaver").roles, all_roles())


def test_a_role_brings_settings_of_its_own(plugins: Installed) -> None:
    """Settings of params.yaml, by role or default, override those of the agent."""
    plugins.add("some-weaver", "weaver")
    roles = load_agent("weaver").roles
    assert resolve_settings("m", {}, roles)["weaver"].temperature == 0.3
    default = {"default": ModelSettings(temperature=0.7, max_tokens=100)}
    assert resolve_settings("m", default, roles)["weaver"].temperature == 0.7
    assert resolve_settings("m", default, roles)["weaver"].max_tokens == 100
    own = {"weaver": ModelSettings(temperature=0.9)}
    assert resolve_settings("m", default | own, roles)["weaver"].temperature == 0.9
    assert resolve_settings("m", own, roles)["default"].temperature is None


def test_the_model_of_a_role_is_the_users_choice(plugins: Installed) -> None:
    """A role uses the user's model, not one that the agent names."""
    plugins.add("some-weaver", "weaver", AGENT.replace("temperature=0.3", 'name="dear-one"'))
    assert resolve_settings("m", {}, load_agent("weaver").roles)["weaver"].name == "m"


def test_the_list_of_agents_says_where_each_comes_from(
    plugins: Installed, capfd: pytest.CaptureFixture[str]
) -> None:
    """`comind agents` lists distribution, roles and parameters, or why loading failed."""
    plugins.add("some-weaver", "weaver")
    plugins.add("broken-one", "broken", "import nowhere_to_be_found")
    needy = AGENT.replace('mode: str = "plain"', "mode: str")
    plugins.add("needy-one", "needy", needy)
    assert main(["agents", "--json"]) == 0
    found = {each["name"]: each for each in json.loads(capfd.readouterr().out)["agents"]}
    assert [*found] == sorted([*_OURS, "broken", "needy", "weaver"])
    weaver = found["weaver"]
    assert (weaver["origin"], weaver["summary"]) == ("some-weaver 1.0", "Plans nothing.")
    assert weaver["roles"] == {"weaver": "weaves"}
    assert weaver["parameters"]["width"] == {"default": 2, "description": "drafts side by side"}
    assert "ModuleNotFoundError" in found["broken"]["error"]
    assert "mode: field required" in found["needy"]["error"]
    assert main(["agents"]) == 0
    told = capfd.readouterr().out
    assert "weaver  (some-weaver 1.0)\n  Plans nothing.\n" in told
    assert "width=2 " in told
    assert main(["agents", "broken"]) == 2
