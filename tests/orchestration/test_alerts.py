"""Alerts reach the services that their URLs name, once each, and never disturb a campaign."""

import logging
import socket
import time
from pathlib import Path

import pytest

from comind.adapters.notify.alert_params import AlertParams
from comind.adapters.notify.campaign_alerts import CampaignAlerts
from comind.adapters.notify.channels import Alert, Channel
from comind.app.params import read_params
from comind.errors import ModelBusyError, UsageError
from tests.doubles.mail_server import mail_server
from tests.doubles.webhook import webhook
from tests.unit.campaign.world import World


def _params(*urls: str, **settings: object) -> AlertParams:
    return AlertParams.model_validate({"urls": urls, **settings})


def _campaign(world: World, alerts: CampaignAlerts) -> None:
    """Run a campaign to its end within the alerts of its log."""
    campaign = world.campaign()
    with alerts:
        world.run(campaign)
        alerts.sync()


def test_a_program_gets_the_fields_of_each_alert_once(tmp_path: Path) -> None:
    """Each new best and the end; another process on the same log sends nothing again."""
    world = World(tmp_path)
    world.campaign().close()
    with webhook() as hook:
        params = _params(hook.url)
        _campaign(world, CampaignAlerts(world.folder, params))
        assert hook.events == ["new_best", "new_best", "ended"]
        assert [each["score"] for each in hook.got] == [0.9, 0.95, 0.95]
        last = hook.got[-1]
        end = "ended (done: all iterations are over), written 0.95 [0.95, 0.95], final pick attempt-001"
        assert last["text"] == last["title"]
        assert last["text"].startswith(f"demo-tiny-1: {end}")
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
        params = _params(hook.url, events=("ended", "failed"))
        error = ModelBusyError("the endpoint is down")
        with pytest.raises(ModelBusyError), CampaignAlerts(world.folder, params):
            raise error
        assert hook.events == ["failed"]
        assert hook.got[0]["text"] == "demo-tiny-1: failed: ModelBusyError: the endpoint is down"
        with pytest.raises(KeyboardInterrupt), CampaignAlerts(world.folder, params):
            raise KeyboardInterrupt
        assert len(hook.got) == 1


def test_an_alert_that_no_service_takes_is_retried_before_the_next(tmp_path: Path) -> None:
    """Each delivery is tried twice; the warning is one line without the URL, which may be a secret."""
    world, warnings = World(tmp_path), list[str]()
    world.campaign().close()
    with webhook([500, 200, 503, 503]) as hook:
        _campaign(
            world,
            CampaignAlerts(world.folder, _params(hook.url), warn=warnings.append, backoff_seconds=0),
        )
        assert hook.events == ["new_best"] * 5 + ["ended"]
        assert hook.got[0] == hook.got[1]
        assert hook.got[2] == hook.got[3] == hook.got[4]
    assert warnings == ["alert 'new_best' was not delivered by json: the service answers 503"]


def test_an_alert_that_one_of_two_services_takes_is_not_retried(tmp_path: Path) -> None:
    """The other is named in the warning."""
    world, warnings = World(tmp_path), list[str]()
    world.campaign().close()
    with webhook([404] * 6) as refusing, webhook() as hook:
        params = _params(refusing.url, hook.url)
        alerts = CampaignAlerts(world.folder, params, warn=warnings.append, backoff_seconds=0)
        _campaign(world, alerts)
        assert hook.events == ["new_best", "new_best", "ended"]
    assert len(warnings) == 3
    assert "json: the service answers 404" in warnings[0]


def test_a_server_that_hangs_delays_no_campaign(tmp_path: Path) -> None:
    """Queueing returns at once, and the end waits for the patience alone."""
    world, warnings = World(tmp_path), list[str]()
    world.campaign().close()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        params = _params(f"json://127.0.0.1:{silent.getsockname()[1]}/")
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
        url = f"mailto://127.0.0.1:{port}?from=comind@example.org&to=me@example.org"
        _campaign(world, CampaignAlerts(world.folder, _params(url, events=["ended"])))
    (message,) = messages
    assert "Subject: demo-tiny-1: ended (done: all iterations are over), written 0.95" in message
    assert "To: me@example.org" in message
    assert "score: 0.95" in message


def test_an_alert_is_a_chat_message(tmp_path: Path) -> None:
    """A service gets the request that it knows, here Mattermost's `text`, without links to images."""
    world = World(tmp_path)
    world.campaign().close()
    with webhook() as hook:
        url = hook.url.replace("json://", "mmost://")
        _campaign(world, CampaignAlerts(world.folder, _params(url, events=["ended"])))
    (message,) = hook.got
    assert message["username"] == "CoMind"
    assert "demo-tiny-1: ended (done" in message["text"]
    assert "score: 0.95" in message["text"]
    assert "http" not in str(message)


@pytest.mark.parametrize(
    ("url", "service"),
    [
        ("https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ", "slack"),
        ("https://discord.com/api/webhooks/123456789012345678/abcdefghijklmnopqrstuvwxyz", "discord"),
        ("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general", "slack"),
        (
            "workflows://prod-00.westus.logic.azure.com:443/643e69f83c8944/KODuebWbDGYFr0z0eu-6Rj8aU",
            "workflow",
        ),
        ("tgram://123456789:abcdefg_hijklmnop/12315544/", "tgram"),
        ("mailtos://me:word@example.org?to=you@example.org", "mailtos"),
    ],
)
def test_urls_of_services_are_understood(url: str, service: str) -> None:
    """Those that Slack and Discord show for a webhook, too; the rest of a URL is not shown."""
    assert Channel(url, "alerts.urls.0").name == service


def test_secrets_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a part of a URL, in which any character may be, or as the whole URL."""
    world = World(tmp_path)
    world.campaign().close()
    with webhook() as one, webhook() as other:
        monkeypatch.setenv("MY_SECRET", "a/b?c&d@e:100%")
        monkeypatch.setenv("MY_URL", other.url)
        params = _params(one.url + "?:key=$MY_SECRET&:cost=5$$", "$MY_URL", events=["ended"])
        _campaign(world, CampaignAlerts(world.folder, params))
    assert one.got[0]["key"] == "a/b?c&d@e:100%"
    assert one.got[0]["cost"] == "5$"
    assert other.events == ["ended"]
    assert params.variables == {"MY_SECRET", "MY_URL"}


def test_secrets_are_in_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever the level of logging, whether the service takes an alert or not."""
    caplog.set_level(1)
    for name in ("apprise", "urllib3"):
        caplog.set_level(1, name)
    world, warnings = World(tmp_path), list[str]()
    world.campaign().close()
    with mail_server() as (port, _):
        pass
    with webhook([200, 500, 500]) as hook:
        mail = f"mailto://127.0.0.1:{port}?from=secret-sender@example.org&to=me@example.org"
        params = _params(hook.url.replace("json://", "json://user:secret-word@"), mail)
        alerts = CampaignAlerts(world.folder, params, warn=warnings.append, backoff_seconds=0)
        _campaign(world, alerts)
    with pytest.raises(UsageError) as refused:
        CampaignAlerts(world.folder, _params("slack://secret-token"))
    logging.getLogger("urllib3.connectionpool").debug("of another part")
    shown = [*capfd.readouterr(), caplog.text, *warnings, str(refused.value), repr(params)]
    assert hook.got
    assert "of another part" in caplog.text
    assert "secret" not in "".join(shown)


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (
            "urls: [ftp://example.org/x]",
            "alerts.urls.0: apprise knows no service for this URL of ftp://",
        ),
        (
            "urls: [json://example.org, slack://x]",
            "alerts.urls.1: apprise knows no service for this URL",
        ),
        ("urls: ['json://h/$COMIND_NO_SUCH']", "the environment has no variable COMIND_NO_SUCH"),
        ("urls: ['json://h/100$']", "alerts.urls.0: .* dollar"),
        ("urls: ['mailto://me:word@example.org?to=a@b.example']", "a password .* mailtos://"),
        ("events: [sometimes]", "alerts.events"),
        ("webhook: https://example.org/x", r"write urls: \[jsons://host/path\]"),
        ("webhook_variable: MY_HOOK", "variable that holds it"),
        ("email: {to: [a@b.c], sender: a@b.c, host: h}", "write .*mailtos://"),
    ],
)
def test_bad_settings_are_refused_in_one_line(tmp_path: Path, written: str, fault: str) -> None:
    """The line names the key of params.yaml, or the missing variable, and says what to write."""
    (tmp_path / "params.yaml").write_text(f"alerts:\n  {written}\n")
    with pytest.raises(UsageError, match=fault) as caught:
        CampaignAlerts(World(tmp_path).folder, read_params(tmp_path).alerts)
    assert "\n" not in str(caught.value)
    assert "word" not in str(caught.value).replace("password", "")


def test_all_alerts_are_emitted_whatever_services_are_asked_for(tmp_path: Path) -> None:
    """Without a URL nothing is sent and no marker is written, and who listens gets each alert."""
    world = World(tmp_path)
    world.campaign().close()
    heard = list[Alert]()
    _campaign(world, CampaignAlerts(world.folder, AlertParams(), emit=heard.append))
    assert [each.event for each in heard] == ["new_best", "new_best", "ended"]
    assert [each.score for each in heard] == [0.9, 0.95, 0.95]
    assert not (world.folder.root / "alerts.json").exists()
