"""Alerts about a followed competition reach a webhook once each."""

from pathlib import Path

import pytest

from comind.adapters.notify.alert_params import AlertParams
from comind.adapters.notify.following_alerts import FollowingAlerts
from comind.errors import KaggleBusyError
from comind.following.events import NoticeRecorded, StandingRecorded, SubmissionDecided
from comind.following.state import FollowingLog
from tests.doubles.webhook import webhook
from tests.unit.following.days import candidate, day, observation

_SLUG = "titanic"
_EVENTS = (
    observation(1),
    NoticeRecorded(at=day(1), subject="rules", text="the rules have changed"),
    NoticeRecorded(at=day(1), subject="deadline", text="the deadline is near"),
    SubmissionDecided(at=day(1), verdict="keep", reason="it is not better", candidate=candidate()),
    SubmissionDecided(at=day(1), verdict="ask", reason="approve it", candidate=candidate()),
    StandingRecorded(at=day(1), score=0.7, rank=3, teams=9),
    StandingRecorded(at=day(31), score=0.6, rank=4, teams=9, final=True),
)


def _params(url: str, **settings: object) -> AlertParams:
    return AlertParams.model_validate({"urls": [url], **settings})


def _run(project: Path, params: AlertParams, *events: object, warnings: list[str] | None = None) -> None:
    warn = [].append if warnings is None else warnings.append
    alerts = FollowingAlerts(project, _SLUG, params, warn=warn, backoff_seconds=0)
    with alerts, FollowingLog(project, _SLUG) as log:
        for event in events:
            log.record(event)  # type: ignore[arg-type]


def test_each_event_that_a_person_has_to_know_is_sent_once(tmp_path: Path) -> None:
    """What was logged before alerts were configured is not sent."""
    with webhook() as hook:
        params = _params(hook.url)
        _run(tmp_path, AlertParams(), _EVENTS[1])
        _run(tmp_path, params, *_EVENTS)
        assert hook.events == ["changed", "deadline", "waiting", "ended"]
        assert hook.got[0]["text"] == "titanic: rules: the rules have changed"
        assert "decided: ask: attempt-a" in hook.got[2]["text"]
        assert hook.got[3]["text"] == "titanic: final, private 0.6: rank 4 of 9, percentile 67"
        _run(tmp_path, params, observation(2))
        assert len(hook.got) == 4


def test_a_file_that_still_waits_is_sent_once(tmp_path: Path) -> None:
    """The same decision on the next day sends nothing; one on another file does."""
    with webhook() as hook:
        params = _params(hook.url)
        for number, name in enumerate("aab"):
            asked = {"at": day(number), "verdict": "ask", "reason": "approve it"}
            _run(tmp_path, params, SubmissionDecided(**asked, candidate=candidate(name)))
        assert hook.events == ["waiting", "waiting"]


def test_a_run_that_fails_is_sent(tmp_path: Path) -> None:
    """With the reason, in one line; an interrupt by the user is none."""
    with webhook() as hook:
        params = _params(hook.url, events=("failed",))
        with pytest.raises(KaggleBusyError), FollowingAlerts(tmp_path, _SLUG, params):
            raise KaggleBusyError("Kaggle is down")
        with pytest.raises(KeyboardInterrupt), FollowingAlerts(tmp_path, _SLUG, params):
            raise KeyboardInterrupt
        assert [each["text"] for each in hook.got] == [
            "titanic: failed: KaggleBusyError: Kaggle is down"
        ]


def test_what_is_not_delivered_is_sent_after_the_next_run(tmp_path: Path) -> None:
    """The run itself does not fail."""
    warnings: list[str] = []
    with webhook([503] * 4) as hook:
        params = _params(hook.url)
        _run(tmp_path, params, *_EVENTS[:3], warnings=warnings)
        assert warnings == ["alert 'changed' was not delivered by json: the service answers 503"] * 2
        _run(tmp_path, params, observation(2))
        assert hook.events == ["changed"] * 5 + ["deadline"]


def test_a_killed_run_is_made_up_for_by_the_next(tmp_path: Path) -> None:
    """Its events are known from the log; where alerts began is known from the start."""
    with webhook() as hook:
        params = _params(hook.url)
        FollowingAlerts(tmp_path, _SLUG, params)
        with FollowingLog(tmp_path, _SLUG) as log:
            log.record(_EVENTS[1])
        _run(tmp_path, params, observation(2))
        assert hook.events == ["changed"]


def test_an_outage_of_kaggle_is_one_alert(tmp_path: Path) -> None:
    """The notice of it says what the run's failure says."""
    with webhook() as hook:
        params = _params(hook.url)
        alerts = FollowingAlerts(tmp_path, _SLUG, params)
        with FollowingLog(tmp_path, _SLUG) as log:
            log.record(NoticeRecorded(at=day(1), subject="kaggle", text="Kaggle is down"))
        with pytest.raises(KaggleBusyError), alerts:
            raise KaggleBusyError("Kaggle is down")
        assert hook.events == ["failed"]
