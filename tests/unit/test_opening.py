"""Agent, parameters and models of a campaign are resolved once, when it is opened."""

import argparse
import json
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from comind.app import specification
from comind.app.campaign_opening import open_campaign, resume_campaign
from comind.app.deadline import deadline_passed
from comind.app.params import Params, read_params
from comind.campaign.log.campaign_events import CampaignEnded, CampaignOpened
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.loop import Campaign, read_state
from comind.campaign.work.project_budget import ProjectBudget
from comind.cli import arguments
from comind.cli.settings_options import settings_given
from comind.community.snapshot import ranked_view
from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.domain.competition import Competition
from comind.errors import UnstatedBudgetError, UsageError
from comind.llm.settings import ModelSettings
from comind.mlebench.catalog import benchmark_competitions
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from comind.splits.split_plan import keep_plan, plan_split
from comind.wiring.competition_data import split_campaign
from tests.unit.campaign.samples import opened, spec
from tests.unit.competitions.folders import competition_folder
from tests.unit.wiring.plugins import Installed, installed


@pytest.fixture
def plugins(tmp_path: Path) -> Iterator[Installed]:
    """A folder for distributions, with one agent in it."""
    with installed(tmp_path / "site") as folder:
        folder.add("some-weaver", "weaver", version="2.1")
        yield folder


@pytest.fixture
def competition(tmp_path: Path) -> Competition:
    """A small competition."""
    return load_competition(competition_folder(tmp_path))


@pytest.fixture
def script(tmp_path: Path) -> str:
    """The name of a scripted model without rules."""
    (tmp_path / "script.yaml").write_text("[]")
    return f"scripted:{tmp_path / 'script.yaml'}"


def _spec(competition: Competition, params: dict[str, Any], **wishes: Any) -> CampaignSpec:
    return specification._specification(competition, Params.model_validate(params), wishes)


def _refused(competition: Competition, params: dict[str, Any], **wishes: Any) -> str:
    with pytest.raises(UsageError) as caught:
        _spec(competition, params, **wishes)
    assert "\n" not in str(caught.value)
    return f"{caught.value} | {caught.value.hint}"


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ({"itertions": 3}, "solve: there is no key 'itertions'; did you mean iterations?"),
        ({"coders": 1000}, "solve: coders: input should be less than or equal to 64"),
        ({"steps": 0}, "solve: steps: input should be greater than or equal to 1"),
        ({"minutes": -5}, "solve: minutes: input should be greater than 0"),
        ({"cell_minutes": float("nan")}, "solve: cell_minutes: input should be a finite number"),
        ({"models": {"coder": {"nam": "x"}}}, "solve: models.coder: there is no key 'nam'"),
    ],
)
def test_an_override_that_is_no_parameter_is_refused(
    competition: Competition, override: dict[str, Any], line: str
) -> None:
    """Overrides of a campaign, by whichever caller, have the keys and bounds of params.yaml."""
    assert _refused(competition, {}, **override).startswith(line)


_PAST, _FUTURE = "2020-01-01T00:00:00Z", "2990-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("deadline", "as_of", "visible"),
    [
        (_PAST, None, "as of 2020-01-01 00:00 UTC, the deadline"),
        ("2020-01-01", None, "as of 2020-01-01 23:59 UTC, the deadline"),
        (_PAST, "none", "of any time, also after the deadline, 2020-01-01"),
        (_PAST, "2019-01-01T00:00:00Z", "as of 2019-01-01 00:00 UTC"),
        (_PAST, "2021-01-01T00:00:00Z", "as of 2021-01-01 00:00 UTC, after the deadline"),
        (_FUTURE, None, "of any time"),
        (None, None, "of any time"),
    ],
)
def test_the_deadline_of_a_past_competition_is_the_default_as_of_time(
    tmp_path: Path, deadline: str | None, as_of: str | None, visible: str
) -> None:
    """Nothing from after the deadline of a past competition is read, unless it is asked for."""
    competition = load_competition(competition_folder(tmp_path, deadline=deadline))
    spec = _spec(competition, {}, **({} if as_of is None else {"as_of": as_of}))
    assert spec.visible_until() == visible
    assert (spec.cutoff is None) == visible.startswith("of any time")


def test_a_campaign_reads_no_solution_of_after_the_deadline(tmp_path: Path, script: str) -> None:
    """A winner's notebook of after the deadline is not among what a campaign reads."""
    folder = competition_folder(tmp_path, deadline=_PAST)
    (folder / "community").mkdir()
    notebooks = [
        {"ref": ref, "version": 1, "title": ref, "author": "a", "created_at": time, "votes": votes}
        | {
            "language": "python",
            "source": f"print({ref!r})",
            "datasets": [],
            "notebooks": [],
            "competitions": [],
        }
        for ref, time, votes in (
            ("a/before", "2019-06-01T00:00:00Z", 1),
            ("b/winner", "2020-02-01T00:00:00Z", 900),
        )
    ]
    lines = "".join(json.dumps(each) + "\n" for each in notebooks)
    (folder / "community" / "notebooks.jsonl").write_text(lines)

    def read(**overrides: str) -> set[str]:
        spec = _spec(load_competition(folder), {}, model=script, **overrides)
        _, view = ranked_view(
            Path(spec.community),
            competition="small",
            as_of=spec.cutoff,
            maximize=True,
            selection=spec.selection,
        )
        return {each.ref for each in view.notebooks}

    assert read() == {"a/before"}
    assert read(as_of="none") == {"a/before", "b/winner"}


def test_a_deadline_of_the_benchmarks_catalog_counts() -> None:
    """Where competition.yaml states no deadline, that of MLE-bench's catalog is the default."""
    for each in benchmark_competitions().values():
        assert date(2012, 1, 1) < each.deadline < date(2026, 1, 1)
        assert deadline_passed(each.id, None) == each.ends_at
    assert deadline_passed("unknown", None) is None


def test_the_plan_that_was_checked_is_the_splits(tmp_path: Path, competition: Competition) -> None:
    """The task that writes the split takes the rule and rows that opening has found, once."""
    project = tmp_path / "project"
    overrides = {"model": "offline", "max_usd": "none"}
    folder = open_campaign(project, competition.folder, overrides, None, print)
    (kept,) = (project / "data" / "splits").glob(".plan-*")
    values = json.loads(kept.read_text())
    kept.write_text(json.dumps(values | {"reason": "as opening found"}))
    made = split_campaign(project, folder.root.name)
    assert made.rule.partition(": ")[2].startswith("as opening found")
    assert not kept.exists()
    split = SplitFolder(project / "data" / "splits" / made.key).read()
    assert split.validation_rows == len(values["rows"]) == made.validation_rows
    assert made.train_rows == split.train_rows > 0
    open_campaign(project, competition.folder, overrides, None, print)
    assert not kept.exists()  # the split is there, so no rule is searched


@pytest.mark.parametrize(
    "change",
    [lambda text: text[:-9], lambda text: json.dumps(json.loads(text) | {"key": "another"})],
    ids=["cut", "of another split"],
)
def test_a_kept_plan_that_is_broken_is_made_again(
    tmp_path: Path, competition: Competition, change: Callable[[str], str]
) -> None:
    """What cannot be read, or names another split, is no plan."""
    splits = tmp_path / "splits"
    keep_plan(plan_split(CompetitionData.read(competition), 0), splits)
    (kept,) = splits.glob(".plan-*")
    kept.write_text(change(kept.read_text()))
    made = make_split(competition, splits, seed=0)
    assert made.root.name != "another"
    assert made.is_complete
    assert not kept.exists()


def test_options_of_a_followed_day_reach_its_campaign() -> None:
    """Each option that `solve` and `track` share is an override of the campaign's parameters."""
    parser = argparse.ArgumentParser()
    arguments.track(parser)
    given = "titanic --model m --coders 2 --cores 1 --steps 3 --sandbox docker --pool gpu"
    assert settings_given(parser.parse_args(given.split())) == {
        "model": "m",
        "coders": 2,
        "cores": 1,
        "steps": 3,
        "sandbox": "docker",
        "pool": "gpu",
    }


def test_overrides_of_models_are_used(competition: Competition, script: str) -> None:
    """Settings of models in overrides replace those of params.yaml."""
    params = {"solve": {"models": {"default": {"name": script}}}}
    models = {"default": {"name": script, "temperature": 0.7}}
    spec = _spec(competition, params, models=models)
    assert {settings.temperature for settings in spec.models.values()} == {0.7}


def test_an_agents_parameters_are_written_down(
    plugins: Installed, competition: Competition, script: str
) -> None:
    """Parameters come from defaults, params.yaml and --set, in rising precedence, and are recorded."""
    given = {"agents": {"weaver": {"width": 5, "mode": "dense"}, "comind": {}}}
    asked = {"agent": "weaver", "model": script}
    for params, more, parameters in (
        ({}, {}, {"width": 2, "mode": "plain"}),
        (given, {}, {"width": 5, "mode": "dense"}),
        (given, {"set": {"width": 7}}, {"width": 7, "mode": "dense"}),
    ):
        spec = _spec(competition, params, **asked, **more)
        assert (spec.agent, spec.agent_origin) == ("weaver", "some-weaver 2.1")
        assert spec.parameters == parameters
        assert spec.id.startswith(f"{competition.id}-weaver-")
        assert spec.models["weaver"].temperature == 0.3


def test_without_a_model_the_baseline_is_written_down(
    plugins: Installed, competition: Competition
) -> None:
    """`--model offline` runs the baseline alone, without a community."""
    spec = _spec(competition, {}, agent="weaver", model="offline", set={"width": 7})
    assert (spec.agent, spec.parameters, spec.community) == ("baseline", {}, "none")
    assert spec.id.startswith(f"{competition.id}-baseline-")
    told = _refused(competition, {}, agent="weaver", model="offline", set={"with": 7})
    message, hint = told.split(" | ")
    assert message == "--set, for the agent weaver: there is no parameter 'with'; did you mean width?"
    assert hint == "there is: width, mode"


def test_a_wrong_parameter_is_blamed_on_its_place(
    plugins: Installed, competition: Competition, script: str
) -> None:
    """The error names params.yaml for a bad value there, with any --set."""
    params = {"agents": {"weaver": {"width": 0}}}
    for more in ({}, {"set": {"mode": "dense"}}):
        told = _refused(competition, params, agent="weaver", model=script, **more)
        assert told.startswith("params.yaml: agents.weaver: width: input should be greater than")
    told = _refused(competition, {}, agent="weaver", model=script, set={"width": "wide"})
    assert told.startswith("--set, for the agent weaver: width: input should be a valid integer")


def test_a_section_for_an_unknown_agent_is_refused(
    plugins: Installed, competition: Competition, script: str
) -> None:
    """An unknown section of params.yaml is an error."""
    told = _refused(competition, {"agents": {"waver": {"width": 3}}}, agent="weaver", model=script)
    known = "aide, automind, baseline, comind, external, funsearch, greedy, mlestar, weaver"
    assert told == f"params.yaml: agents: unknown agent 'waver' | one of {known}"


def test_a_role_without_a_model_is_told(
    plugins: Installed, competition: Competition, script: str
) -> None:
    """If a role has a language model, each role of the agent requires one."""
    models = {"solve": {"models": {"monitor": {"name": script}}}}
    told = _refused(competition, models, agent="weaver", model="offline")
    assert told.startswith("the role weaver of the agent weaver has no model | ")
    assert "solve.models.weaver.name" in told
    models = {"solve": {"models": {"weaver": {"name": script}}}}
    assert _spec(competition, models, agent="weaver", model="offline").agent == "weaver"
    assert _spec(competition, models, agent="baseline", model="offline").agent == "baseline"


def test_sections_of_agents_stand_in_the_file(tmp_path: Path) -> None:
    """params.yaml has a section for each agent, which must be a mapping."""
    file = tmp_path / "params.yaml"
    file.write_text("agents:\n  weaver: {width: 3}\n")
    assert read_params(tmp_path).agents == {"weaver": {"width": 3}}
    file.write_text("agents:\n  weaver: 3\n")
    with pytest.raises(UsageError, match=r"agents\.weaver: input should be a valid dictionary"):
        read_params(tmp_path)


def test_a_time_that_is_none_is_told(tmp_path: Path) -> None:
    """An invalid YAML time raises a UsageError of one line."""
    (tmp_path / "params.yaml").write_text("solve:\n  as_of: 2023-13-45\n")
    with pytest.raises(UsageError, match="is not YAML"):
        read_params(tmp_path)


def _campaign(project: Path, ended: CampaignEnded | None = None, **spec_changes: Any) -> str:
    folder = ProjectFolder(project).campaign("c1")
    with Campaign(folder) as campaign:
        campaign.record(opened(id="c1", agent="baseline", sandbox="process", **spec_changes))
        if ended is not None:
            campaign.record(ended)
    return folder.name


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project; opening it sets a variable of Prefect's."""
    monkeypatch.setenv("PREFECT_HOME", "restored at the end")
    return tmp_path


def test_a_campaign_that_ended_by_the_projects_limit_continues_once_it_is_raised(project: Path) -> None:
    """Until then its end is repeated, and nothing is run again."""
    end = CampaignEnded(reason="budget", detail="the project's limit of $2.00 is spent", project_usd=2)
    name, notes = _campaign(project, end), list[str]()
    for limit, resumed in ((2, False), (1, False), (3, True)):
        (project / "params.yaml").write_text(f"limits: {{project_usd: {limit}}}")
        folder = resume_campaign(project, name, notes.append)
        assert ProjectBudget(ProjectFolder(project)).costs().limit == limit
        assert (read_state(folder).ended is None) == resumed
        assert resumed or notes.pop() == end.detail


def test_a_projects_limit_needs_the_price_of_every_model(project: Path) -> None:
    """A campaign opened without a limit is not resumed under one that could not be kept."""
    name = _campaign(project, models={"default": ModelSettings(name="unheard-of")})
    (project / "params.yaml").write_text("limits: {project_usd: 2}")
    text = r"limits\.project_usd: the price of unheard-of is not known"
    with pytest.raises(UsageError, match=text):
        resume_campaign(project, name, print)


def test_a_resumed_campaign_gets_other_cores_sandbox_and_limits(project: Path) -> None:
    """They are in its state from then on, and an ended campaign continues by them."""
    name = _campaign(project, CampaignEnded(reason="budget"))
    limits = {"seconds": 7200.0, "usd": None}
    settings = {"cores": "1", "sandbox": "process", "pool": "gpu"}
    state = read_state(resume_campaign(project, name, print, limits=limits, settings=settings))
    assert (state.spec.cores, state.spec.sandbox, state.spec.pool) == (1, "process", "gpu")
    assert (state.budget.seconds, state.budget.usd, state.ended) == (7200.0, None, None)


def test_more_coders_than_cores_are_told(project: Path) -> None:
    """One line says how many attempts run at a time; with a core for each there is none."""
    notes = list[str]()
    resume_campaign(project, _campaign(project, coders=3, cores=1), notes.append)
    line = "attempts: 3 coders, 1 core: 1 at a time, one a core, and the others after them"
    assert notes.count(line) == 1
    assert not any("coder" in each for each in notes if each != line)


def test_a_resumed_campaign_gets_another_model(
    plugins: Installed, project: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings of its roles are those of params.yaml now; what the agent cannot use is refused."""
    monkeypatch.setenv("OPENAI_API_KEY", "some")
    with Campaign(ProjectFolder(project).campaign("c1")) as campaign:
        unstated = spec(id="c1", agent="weaver", model=script).changed({"max_usd": None})
        campaign.record(CampaignOpened(spec=unstated))
    other = project / "other.yaml"
    other.write_text("[]")
    (project / "params.yaml").write_text("solve: {models: {weaver: {temperature: 0.9}}}")
    settings = {"model": f"scripted:{other}"}
    state = read_state(resume_campaign(project, "c1", print, settings=settings))
    assert state.spec.model == state.spec.models["weaver"].name == f"scripted:{other}"
    assert state.spec.models["weaver"].temperature == 0.9
    with pytest.raises(UsageError, match="--model offline: the agent weaver needs a language model"):
        resume_campaign(project, "c1", print, settings={"model": "offline"})
    with pytest.raises(UnstatedBudgetError, match="gpt-5-mini costs money"):
        resume_campaign(project, "c1", print, settings={"model": "gpt-5-mini"})
    resume_campaign(project, "c1", print, limits={"usd": None}, settings={"model": "gpt-5-mini"})


def test_a_resumed_baseline_takes_no_model(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A campaign that runs without a language model does not get one later."""
    monkeypatch.setenv("OPENAI_API_KEY", "some")
    with pytest.raises(UsageError, match="--model small: the agent baseline uses none"):
        resume_campaign(project, _campaign(project), print, settings={"model": "small"})


def test_an_agent_that_does_not_run_is_a_line(
    plugins: Installed, project: Path, competition: Competition
) -> None:
    """Without a language model the baseline runs in place of the agent that was asked for."""
    lines = list[str]()
    asked = {"agent": "weaver", "model": "offline", "sandbox": "process"}
    open_campaign(project, competition.folder, asked, None, lines.append)
    assert lines[0] == "agent: baseline, as weaver needs a language model; name one with --model"
