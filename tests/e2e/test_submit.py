"""A submission goes to a server of Kaggle's API once, with the official client."""

import json
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.live.fault_injection import EntryConditions
from comind.live.hosted import HostedCompetition
from comind.live.server import LiveServer
from comind.live.simulated_clock import SimulatedClock
from comind.live.submissions import SubmissionStore
from comind.live.world import LiveBudget, MLELive
from tests.e2e.command import SCRIPT, Ran, comind

_KEY, _SLUG = "k3y-that-nobody-may-see", "small-tumours"
_START = datetime(2023, 3, 9, 12, tzinfo=UTC)


class _Place:
    """A competition that is served, and a project."""

    def __init__(self, root: Path) -> None:
        self.root, self.project, self.clock = root, root / "project", SimulatedClock(_START)
        self.project.mkdir()
        demo = make_demo("demo-tumours", root / "demos")
        described = demo / "competition.yaml"
        text = described.read_text().replace("id: demo-tumours", f"id: {_SLUG}")
        described.write_text(text + 'deadline: "2023-06-01T00:00:00Z"\n')
        self.requests = root / "requests.jsonl"
        world = MLELive(
            load_competition(demo),
            self.clock,
            LiveBudget(submissions_per_day=2),
            scores="public",
            store=SubmissionStore(root / "state"),
        )
        hosted = HostedCompetition(world, root / "archives")
        self.server = LiveServer([hosted], users={"ann": _KEY}, log=self.requests)
        settings = {"kaggle": {"endpoint": self.server.url, "rate_limit": {"pause_seconds": 0}}}
        (self.project / "params.yaml").write_text(yaml.safe_dump(settings))
        self.sample = demo / "public" / "sample_submission.csv"

    def run(self, *arguments: str | Path, **env: str) -> Ran:
        """Run a command in the project, with credentials."""
        given = ("--out", self.project, "--json")
        home = {"HOME": str(self.root), "KAGGLE_CONFIG_DIR": str(self.root / "kaggle")}
        account = {"KAGGLE_USERNAME": "ann", "KAGGLE_KEY": _KEY, "VERBOSE": "true"}
        return comind(*arguments, *given, **{**home, **account, **env})

    def file(self, name: str) -> Path:
        """Write a submission that differs from all others in an empty line at its end."""
        file = self.root / name
        lines = "\n" * (1 + len(list(self.root.glob("*.csv"))))
        file.write_text(self.sample.read_text().rstrip("\n") + lines)
        return file

    def sent(self) -> int:
        """Return how many submissions the server has answered."""
        routes = [json.loads(line)["route"] for line in self.requests.read_text().splitlines()]
        return sum(each.endswith("CreateSubmission") for each in routes)


@pytest.fixture
def place(tmp_path: Path, shared_server: str) -> Iterator[_Place]:
    """A competition that is served."""
    place = _Place(tmp_path)
    with place.server:
        yield place


def test_a_campaign_is_submitted_once(place: _Place) -> None:
    """Its score is waited for, recorded and shown; a second call sends nothing and says the score."""
    script = place.root / "script.yaml"
    script.write_text(SCRIPT.read_text().replace("demo-tumours", _SLUG))
    solved = place.run(
        *("solve", _SLUG, "--model", f"scripted:{script}", "--baseline", "none", "--no-refit"),
        *("--iterations", "1", "--coders", "1", "--steps", "4", "--sandbox", "process"),
    )
    assert solved.exit_code == 0, solved.stderr
    campaign = solved.json["campaign"]
    first = place.run("submit", campaign, "--message", "a first try")
    assert first.exit_code == 0, first.stderr
    told = first.json
    assert (told["campaign"], told["competition"], told["status"]) == (campaign, _SLUG, "complete")
    assert (told["file"], told["sent"]) == (str(place.project / f"runs/{campaign}/submission.csv"), True)
    assert told["message"] == f"a first try {told['sha256'][:12]}"
    assert told["public_score"] > 0.5
    again = place.run("submit", campaign)
    assert again.json == told | {"sent": False}
    assert place.sent() == 1
    shown = {key: value for key, value in told.items() if key not in ("file", "sent")}
    assert place.run("show", campaign).json["submissions"] == [shown]
    assert place.run("lineage", campaign).json["submissions"] == [shown]
    text = comind("lineage", campaign, "--out", place.project)
    assert f"submitted   2023-03-09 {_SLUG}, {told['sha256'][:12]}: public 0." in text.stdout

    by_hand = place.run("submit", told["file"], "--competition", _SLUG)
    assert (by_hand.json["campaign"], by_hand.json["sent"]) == (campaign, False)

    wrong = place.run("submit", campaign, "--competition", "another-one")
    assert (wrong.exit_code, wrong.json["error"]["kind"]) == (2, "usage")
    log = ProjectFolder(place.project).campaign(campaign).log
    *events, _ended = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(events))
    running = place.run("submit", campaign)
    assert running.exit_code == 2
    assert "has not ended" in running.json["error"]["message"]
    assert place.sent() == 1


def test_a_killed_call_sends_nothing_twice(place: _Place) -> None:
    """Killed before or after Kaggle took the file, the next call finds out and completes it."""
    for point, sent in (("submission-sending", True), ("submission-taken", False)):
        file = place.file(f"{point}.csv")
        killed = place.run("submit", file, "--competition", _SLUG, COMIND_KILL_AT=point)
        assert killed.exit_code == -signal.SIGKILL
        after = place.run("submit", file, "--competition", _SLUG)
        assert after.exit_code == 0, after.stderr
        assert (after.json["status"], after.json["sent"]) == ("complete", sent)
        assert (after.json["campaign"], after.json["attempt"]) == (None, None)
    assert place.sent() == 2
    status = place.run("track", "--status")
    assert [each["submissions"] for each in status.json["competitions"]] == [2]


def test_what_is_not_accepted_is_one_line(place: _Place) -> None:
    """Nothing is sent, and no log is made, where the competition accepts no file or is none."""
    file, end = place.file("mine.csv"), datetime(2023, 6, 2, tzinfo=UTC)
    faults = place.server.faults

    def refused(code: int, words: str, *arguments: str | Path, **env: str) -> None:
        ran = place.run("submit", *arguments, **env)
        assert ran.exit_code == code, ran.stderr
        assert words in ran.json["error"]["message"]
        assert len(ran.error_lines) == 1
        assert _KEY not in ran.stdout + ran.stderr

    asked = (file, "--competition", _SLUG)
    refused(2, "and no such file", "nothing-like-it")
    refused(2, "for which competition?", file)
    refused(2, "is no name of a competition", file, "--competition", "No such!")
    refused(2, "Kaggle has no such competition", file, "--competition", "made-up")
    refused(2, "is not one line", *asked, "--message", "two\nlines")
    refused(4, "no credentials", *asked, KAGGLE_USERNAME="", KAGGLE_KEY="")
    assert not (place.project / "runs").exists()
    faults.set_conditions(_SLUG, EntryConditions(code_only=True))
    refused(4, "accepts only notebooks", *asked)
    faults.set_conditions(_SLUG, EntryConditions(rules_accepted=False))
    refused(4, "accepted the rules", *asked)
    faults.set_conditions(_SLUG, EntryConditions())
    for number in range(2):
        assert place.run("submit", place.file(f"{number}.csv"), *asked[1:]).exit_code == 0
    refused(4, "no submission is left", *asked)
    place.clock.set(end)
    refused(4, "accepts no submissions", *asked)
    assert place.sent() == 2
    bad = place.root / "bad.csv"
    bad.write_text("a,b\n1,2\n")
    place.clock.set(datetime(2023, 3, 11, tzinfo=UTC))
    refused(2, "Kaggle rejected the file", bad, "--competition", _SLUG)
