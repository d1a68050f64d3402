"""Programs of others as arms of a bench: a metered endpoint, killed and resumed, and nothing leaks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work_state import WORK_LOG, AttemptState
from comind.campaign.loop import read_state
from tests.doubles.endpoint import Endpoint
from tests.e2e.command import Ran, comind
from tests.e2e.external_programs import FLOOR, LOOKING, SEARCHER, STREAMER

_SIGKILLED = -9
_KEY = "sk-canary-0123456789"
_COMPETITIONS = ("demo-tumours", "demo-diabetes", "demo-digits")
_PRICE = {"prompt": 100, "completion": 100}
_PLAN: dict[str, Any] = {
    "name": "peers",
    "competitions": list(_COMPETITIONS),
    "seeds": 1,
    "common": {
        "agent": "external",
        "model": "large",
        "models": {"default": {"price": _PRICE, "context_tokens": 8192}},
        "minutes": 5,
        "max_usd": 5,
        "evaluations": 3,
        "baseline": "none",
        "folds": 0,
        "prove": False,
        "refit": False,
        "community": "none",
    },
    "arms": {
        "searcher": {"set": SEARCHER},
        "streamer": {"set": STREAMER},
        "floor": {"set": FLOOR},
    },
}


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with Endpoint(lambda asked: f"about {asked.text}"[:40]) as found:
        yield found


def _given(server: Endpoint) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": _KEY}


def _solve(project: Path, server: Endpoint, *words: str, kill_at: str = "", **values: Any) -> Ran:
    """Run a campaign of one program; `values` are of the section `solve`, `words` of the command."""
    given = {**_given(server), "COMIND_KILL_AT": kill_at}
    common = {name: value for name, value in _PLAN["common"].items() if name != "prove"}
    (project / "params.yaml").write_text(yaml.safe_dump({"solve": {**common, **values}}))
    return comind("solve", *(words or ("demo-tumours",)), "--out", project, "--json", **given)


def _attempt(folder: CampaignFolder) -> AttemptState:
    return WORK_LOG.read(folder.work("attempt-000").log)


def _printed(folder: CampaignFolder) -> str:
    """Return what the program printed."""
    result = [*_attempt(folder).cells][1].result
    assert result is not None
    return result.output


@pytest.mark.timeout(900)
def test_peers_and_a_floor_end_a_bench_that_is_killed_and_resumed(
    tmp_path: Path, server: Endpoint, shared_server: str
) -> None:
    """Two programs and a floor on three competitions: all score, and no reply is paid twice."""
    del shared_server
    (tmp_path / "peers.yaml").write_text(yaml.safe_dump(_PLAN))
    command = ("bench", tmp_path / "peers.yaml", "--out", tmp_path, "--json")
    for point in ("reply-recorded", "cell-recorded", "call-sent"):
        killed = comind(*command, **_given(server), COMIND_KILL_AT=point)
        assert killed.exit_code == _SIGKILLED, killed.stderr
    ran = comind(*command, **_given(server))
    assert ran.exit_code == 0, ran.stderr
    runs = ran.json["runs"]
    assert [each["reason"] for each in runs] == [""] * 9
    assert {each["evaluations"] for each in runs if each["arm"] == "searcher"} == {2}
    assert {each["usd"] > 0 for each in runs if each["arm"] != "floor"} == {True}
    assert {each["usd"] for each in runs if each["arm"] == "floor"} == {0}
    folders = [ProjectFolder(tmp_path).campaign(each["campaign"]) for each in runs]
    calls = [call for folder in folders for call in _attempt(folder).calls]
    assert sum(call.reply is not None for call in calls) == 3 * 3 + 3
    assert sum(call.lost for call in calls) == 1, "the one that was in flight at the last kill"
    assert server.completed == sum(call.reply is not None for call in calls)
    for folder in folders:
        spend = read_state(folder).spend
        assert spend.usd <= 5
        assert _KEY not in "".join(each.read_text() for each in folder.root.rglob("*.jsonl"))


def test_the_choice_is_the_version_that_the_program_calls_its_best(
    tmp_path: Path, server: Endpoint, shared_server: str
) -> None:
    """Its last version is scored as well, and not delivered even if validation prefers it."""
    del shared_server
    ran = _solve(tmp_path, server, set=SEARCHER)
    assert ran.exit_code == 0, ran.stderr
    folder = ProjectFolder(tmp_path).campaign(ran.json["campaign"])
    attempt, outcome = _attempt(folder), read_state(folder).works.attempt("attempt-000").outcome
    assert isinstance(outcome, CodeOutcome)
    goals = [each.goal for each in outcome.cells]
    assert goals == ["Run the program.", "Hand in best/submission.csv.", "Hand in submission.csv."]
    best, last = [*attempt.cells][2:]
    assert (best.rejected, last.rejected) == ("", "the program: another version is its best")
    assert attempt.best == best.submitted
    assert last.report is not None
    assert last.report.score is not None


def test_a_program_that_has_ended_is_not_run_again(
    tmp_path: Path, server: Endpoint, shared_server: str
) -> None:
    """After a kill between its end and the hand-in its files are handed in, also without a model."""
    del shared_server
    once = {**FLOOR, "command": f"test ! -e ../ran || exit 1; touch ../ran; {FLOOR['command']}"}
    killed = _solve(tmp_path, server, set=once, kill_at="cell-recorded:2")
    assert killed.exit_code == _SIGKILLED, killed.stderr
    [campaign] = ProjectFolder(tmp_path).campaigns()
    ran = _solve(tmp_path, server, "--resume", campaign, set=once)
    assert ran.exit_code == 0, ran.stderr
    assert ran.json["valid_attempts"] == 1


def test_no_program_spends_a_cent_more_than_its_campaign_has(
    tmp_path: Path, server: Endpoint, shared_server: str
) -> None:
    """It is refused when the next reply could exceed the budget, and what it wrote is handed in."""
    del shared_server
    greedy = STREAMER["command"].replace(
        "print(ask('one answer', stream=True)[-40:])",
        "try:\n    for turn in range(500):\n        ask(f'{turn} ' + 'word ' * turn)\n"
        "except OSError as error:\n    print('refused', error)",
    )
    ran = _solve(tmp_path, server, set={"command": greedy}, max_usd=0.5)
    assert ran.exit_code == 0, ran.stderr
    folder = ProjectFolder(tmp_path).campaign(ran.json["campaign"])
    assert "refused HTTP Error 403" in _printed(folder)
    spent = (server.counted.prompt_tokens + server.counted.completion_tokens) * 100 / 1e6
    assert 0.1 < spent <= 0.5
    assert ran.json["usd"] == pytest.approx(spent, abs=1e-6)


def test_a_program_finds_no_key_no_label_and_no_way_out(
    tmp_path: Path, server: Endpoint, shared_server: str
) -> None:
    """It sees the public folder and the endpoint; validation rows stand among test rows."""
    del shared_server
    look = LOOKING.replace("PORT", server.url.split(":")[2].split("/")[0])
    command = STREAMER["command"].replace("print(ask('one answer', stream=True)[-40:])", look)
    ran = _solve(tmp_path, server, set={"command": command})
    assert ran.exit_code == 0, ran.stderr
    folder = ProjectFolder(tmp_path).campaign(ran.json["campaign"])
    printed = _printed(folder)
    assert "no way out" in printed
    split = read_state(folder).split
    assert split is not None
    assert f"{split.validation_rows + 171} False" in printed
    seen = (folder.work("attempt-000").workspace / "work" / "seen.txt").read_text()
    assert "train.csv" in seen
    assert _KEY not in seen
    assert "answers" not in seen


def test_a_model_that_refuses_halts_the_campaign_until_it_is_resumed(
    tmp_path: Path, server: Endpoint, shared_server: str
) -> None:
    """A wrong key is the user's to mend; the program runs again, and its attempt is not lost."""
    del shared_server
    server.fail(lambda number, asked: lambda good: _refused() if number == 1 else good)
    ran = _solve(tmp_path, server, set=SEARCHER)
    assert ran.exit_code == 4, ran.stderr
    assert "refuses the key" in ran.json["error"]["message"]
    [campaign] = ProjectFolder(tmp_path).campaigns()
    again = _solve(tmp_path, server, "--resume", campaign, set=SEARCHER)
    assert again.exit_code == 0, again.stderr
    assert server.completed == 3, "the first reply was kept"


def _refused() -> Any:
    from tests.doubles.faults import EndpointResponse

    return EndpointResponse(401, json.dumps({"error": {"message": "no"}}).encode())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"set": {}}, "the agent external has no command"),
        ({"set": {"command": "true", "environment": "nowhere"}}, "nowhere: there is no such folder"),
        ({"set": {"command": "true", "environment": "data"}}, "overlaps with"),
        ({"set": {"command": "true"}, "model": "recorded:demo-mosaic"}, "takes no requests of other"),
        ({"set": {"command": "true"}, "steps": 2}, "--steps 2: the agent external takes 3 cells"),
    ],
)
def test_what_cannot_run_is_refused_before_a_campaign_opens(
    tmp_path: Path, server: Endpoint, values: dict[str, Any], said: str
) -> None:
    """One line says what is missing; a folder with labels is never mounted."""
    (tmp_path / "data" / "splits").mkdir(parents=True)
    ran = _solve(tmp_path, server, **values)
    assert ran.exit_code == 2, ran.stderr
    assert said in ran.json["error"]["message"]
    assert ProjectFolder(tmp_path).campaigns() == []
