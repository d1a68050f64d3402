"""`comind prompts` prints every prompt of an agent with sample facts."""

import json
import re
from pathlib import Path

import pytest
from jinja2 import Environment, meta

from comind.agents.comind import CoMind
from comind.agents.greedy import Greedy
from comind.campaign.agent import Samples
from comind.cli.main import main
from comind.llm.templates import Templates, collect_renderings
from comind.testing.sample_campaign import sample_prompts
from comind.wiring.agents import agent_names, load_agent

_PACKAGE = Path(__file__).parents[2] / "comind"
_SHOWN = [
    *sorted(_PACKAGE.glob("agents/*/prompts/*.j2")),
    *sorted(_PACKAGE.glob("campaign/prompts/*.j2")),
    *sorted(_PACKAGE.glob("llm/prompts/*.j2")),
]


def _folder(package: str) -> Path:
    return _PACKAGE.parent / package.replace(".", "/") / "prompts"


def _with_includes(file: Path) -> set[Path]:
    """Return a template and those that it includes or imports."""
    found = {file}
    for name in meta.find_referenced_templates(Environment().parse(file.read_text())):
        assert name is not None
        inside, platform = file.parent, name.removeprefix("platform/")
        if platform != name:
            inside = _folder("comind.campaign")
        found |= _with_includes(inside / f"{platform}.j2")
    return found


def test_every_template_is_in_the_prompts_of_some_agent() -> None:
    """Each prompt file of the agents, the platform and the client of models is rendered, or included."""
    with collect_renderings() as renderings:
        for name in agent_names():
            for kind in ("tables", "programs"):
                sample_prompts(load_agent(name), kind)
    rendered = {_folder(each.package) / f"{each.name}.j2" for each in renderings}
    shown = {part for file in rendered for part in _with_includes(file)}
    assert [str(file) for file in _SHOWN if file not in shown] == []


def test_prompts_of_all_roles_are_printed_with_their_readers(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Each has its roles, its name and what its reply decides above the text that a model would get."""
    assert main(["prompts", "mlestar"]) == 0
    told = capfd.readouterr().out
    titles = re.findall(r"^=== (.*?) \(", told, re.MULTILINE)
    assert len(titles) == len(set(titles))
    assert "searcher, retriever, coder, checker, planner: system" in titles
    for role in ("retriever: models", "searcher: web", "checker: usage", "planner: next_plan"):
        assert role in titles
    leakage = told.split("=== checker: leakage")[1].split("\n=== ")[0]
    assert leakage.startswith(
        " (comind.agents.mlestar)\nRead by: checker. Its reply decides: whether the program has leakage"
    )
    assert "model = ExtraTreesClassifier(n_estimators=" in leakage
    assert "{{" not in told
    assert "{%" not in told


def test_one_role_and_programs(capfd: pytest.CaptureFixture[str]) -> None:
    """With a role only its prompts are printed; `--kind programs` has those for programs."""
    assert main(["prompts", "aide", "feedback", "--kind", "programs", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["agent"] == "aide"
    assert {each["prompt"] for each in found["prompts"]} >= {"system", "review"}
    assert all("feedback" in each["roles"] for each in found["prompts"])
    [review] = [each["text"] for each in found["prompts"] if each["prompt"] == "review"]
    assert "defines `solve`" in review
    assert "train.csv" not in review


def test_an_agent_without_a_model_sends_none(capfd: pytest.CaptureFixture[str]) -> None:
    """That is one line."""
    assert main(["prompts", "baseline"]) == 0
    assert capfd.readouterr().out == "baseline sends no prompts\n"


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        (
            ["prompts", "greedyy"],
            ["comind: unknown agent 'greedyy'; did you mean greedy?", "one of aide, automind, "],
        ),
        (
            ["prompts", "greedy", "code"],
            [
                "comind: the agent greedy has no role 'code'; did you mean coder?",
                "one of coder, monitor",
            ],
        ),
    ],
)
def test_an_unknown_name_is_told_with_the_choices(
    call: list[str], lines: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """Agent or role: one line, and the choices."""
    assert main(call) == 2
    told = [each.strip() for each in capfd.readouterr().err.splitlines() if "starting" not in each]
    assert len(told) == len(lines)
    assert all(line.startswith(start) for line, start in zip(told, lines, strict=True)), told


def test_samples_are_replies_in_turn() -> None:
    """What an agent gives for a field stands in its replies, and so in later prompts."""

    class Talker(Greedy):
        samples = Samples(parameters=({"programs": 6},), replies={"plan": ["Sing."]})

    [program] = [p for p in sample_prompts(Talker, "tables") if p.rendering.name == "program"]
    assert "its plan: Sing." in program.rendering.text
    [other] = [p for p in sample_prompts(Greedy, "tables") if p.rendering.name == "program"]
    assert "Sing." not in other.rendering.text


def test_prompts_are_always_the_same() -> None:
    """Two calls print the same, so that a difference is one of the prompts."""
    first, second = (
        [(each.roles, each.rendering.text) for each in sample_prompts(CoMind, "programs")]
        for _ in range(2)
    )
    assert first == second


def test_renderings_are_collected_where_they_are_asked_for() -> None:
    """Outside nothing is kept; a collection around another one has both."""
    templates = Templates("comind.llm")
    with collect_renderings() as outer:
        with collect_renderings() as inner:
            templates.render("refused", reason="no")
        templates.render("refused", reason="never")
    templates.render("refused", reason="later")
    assert ["no" in each.text for each in inner] == [True]
    assert [each.name for each in outer] == ["refused", "refused"]
    assert outer[0].header.startswith("Read by: any role whose reply is invalid.")
