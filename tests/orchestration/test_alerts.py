"""Alerts reach a webhook and a mailbox once each, and never disturb a campaign."""

import time
from pathlib import Path

import pytest

from comind.adapters.notify.campaign_alerts import CampaignAlerts
from comind.adapters.notify.channels import AlertParams
from comind.app.params import read_params
from comind.errors import ModelBusyError, UsageError
from tests.doubles.mail_server import mail_server
from tests.doubles.webhook import webhook
from tests.unit.campaign.world import World


def _campaign(world: World, alerts: CampaignAlerts) -> None:
    """Run a campaign to its end within the alerts of its log."""
    campaign = world.campaign()
    with alerts:
        world.run(campaign)
        alerts.sync()


def test_a_webhook_gets_each_alert_once(tmp_path: Path) -> None:
    """Each new best and the end; another process on the same log sends nothing again."""
    world = World(tmp_path)
    world.campaign().close()
    with webhook() as hook:
        params = AlertParams(webhook=hook.url)
        _campaign(world, CampaignAlerts(world.folder, params))
        assert hook.events == ["new_best", "new_best", "ended"]
        assert [each["score"] for each in hook.got] == [0.9, 0.95, 0.95]
        last = hook.got[-1]
        end = "ended (done: all iterations are over), best written 0.95 [0.95, 0.95] by attempt-001"
        assert last["text"] == f"demo-tiny-1 {end}"
        assert last["competition"] == "demo"
        with CampaignAlerts(world.folder, params) as again:
            again.sync()
        assert len(hook.got) == 3


def test_only_the_alerts_asked_for_are_sent(tmp_path: Path) -> None:
    """`events` names them; alerts that are configured later are about what is new."""
    world = World(tmp_path)
    campaign = world.campaign()
    world.run(campaign)
    with webhook() as hook:
        params = AlertParams(webhook=hook.url, events=("ended", "failed"))
        error = ModelBusyError("the endpoint is down")
        with pytest.raises(ModelBusyError), CampaignAlerts(world.folder, params):
            raise error
        assert hook.events == ["failed"]
        assert hook.got[0]["text"] == "demo-tiny-1 failed: ModelBusyError: the endpoint is down"
        with pytest.raises(KeyboardInterrupt), CampaignAlerts(world.folder, params):
            raise KeyboardInterrupt
        assert len(hook.got) == 1


def test_a_failed_delivery_is_retried_once_and_then_a_warning(tmp_path: Path) -> None:
    """The warning is one line without the URL, which may be a secret; later alerts are sent."""
    world, warnings = World(tmp_path), list[str]()
    world.campaign().close()
    with webhook([500, 200, 503, 503]) as hook:
        params = AlertParams(webhook=hook.url)
        _campaign(world, CampaignAlerts(world.folder, params, warn=warnings.append, backoff_seconds=0))
        assert hook.events == ["new_best", "new_best", "new_best", "new_best", "ended"]
        assert hook.got[0] == hook.got[1]
    assert warnings == ["alert 'new_best' was not delivered: the webhook answers 503"]


def test_a_server_that_hangs_delays_no_campaign(tmp_path: Path) -> None:
    """Queueing returns at once, and the end waits for the patience alone."""
    import socket

    world, warnings = World(tmp_path), list[str]()
    world.campaign().close()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        params = AlertParams(webhook=f"http://127.0.0.1:{silent.getsockname()[1]}/")
        alerts = CampaignAlerts(world.folder, params, warn=warnings.append, patience_seconds=0.1)
        world.run(world.campaign())
        begun = time.monotonic()
        with alerts:
            alerts.sync()
        assert time.monotonic() - begun < 3
    assert warnings == ["alerts: not all were delivered in 0 s"]


def test_an_alert_is_an_e_mail(tmp_path: Path) -> None:
    """The subject is its text, and the body has its facts."""
    world = World(tmp_path)
    world.campaign().close()
    with mail_server() as (port, messages):
        settings = {"to": ["me@example.org"], "sender": "comind@example.org", "host": "127.0.0.1"}
        email = {**settings, "port": port, "encryption": "none"}
        params = AlertParams.model_validate({"events": ["ended"], "email": email})
        _campaign(world, CampaignAlerts(world.folder, params))
    (message,) = messages
    assert "Subject: CoMind: demo-tiny-1 ended (done: all iterations are over), best" in message
    assert "To: me@example.org" in message
    assert "score: 0.95" in message


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("webhook: ftp://example.org", "alerts.webhook"),
        ("webhook_variable: COMIND_NO_SUCH_VARIABLE", "the environment has no variable"),
        ("events: [sometimes]", "alerts.events"),
        ("email: {to: [a@b.c], sender: a@b.c, host: h, user: u, encryption: none}", "encryption"),
    ],
)
def test_bad_settings_are_refused_in_one_line(tmp_path: Path, written: str, fault: str) -> None:
    """The line names the key of params.yaml, or the missing variable."""
    (tmp_path / "params.yaml").write_text(f"alerts:\n  {written}\n")
    with pytest.raises(UsageError, match=fault) as caught:
        CampaignAlerts(World(tmp_path).folder, read_params(tmp_path).alerts)
    assert "\n" not in str(caught.value)
