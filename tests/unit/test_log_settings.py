"""The program's log: on stderr, and in a file beside each campaign."""

import argparse
import contextvars
import io
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rich.console import Console
from rich.live import Live

from comind.app.log_settings import configure_logging, configure_run_logging, logged_beside
from comind.app.terminal.log_handler import terminal_handler
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.cli.main import _run, main
from tests.unit.campaign.world import World

_KEY = "canary-of-a-key"
_log = logging.getLogger("comind.tests")


@pytest.fixture
def folder(tmp_path: Path) -> CampaignFolder:
    return _folder(tmp_path, "demo-1")


def _folder(project: Path, name: str) -> CampaignFolder:
    root = project / "runs" / name
    root.mkdir(parents=True)
    return CampaignFolder(root)


def _log_all() -> None:
    for level in ("debug", "info", "warning", "error"):
        getattr(_log, level)("at %s", level)


@pytest.mark.parametrize(
    ("level", "shown", "kept"),
    [
        ("debug", ["debug", "info", "warning", "error"], ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"], ["info", "warning", "error"]),
        ("warning", ["warning", "error"], ["info", "warning", "error"]),
        ("error", ["error"], ["info", "warning", "error"]),
    ],
)
def test_a_level_is_for_stderr_and_the_file_has_info_at_least(
    level: str,
    shown: list[str],
    kept: list[str],
    folder: CampaignFolder,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each line has level and logger; nothing is on stdout."""
    configure_logging(level)
    with logged_beside(folder.program_log):
        _log_all()
    printed = capsys.readouterr()
    for text, levels in ((printed.err, shown), (folder.program_log.read_text(), kept)):
        lines = [line.split(" ", 1)[1].partition(" ")[2] for line in text.splitlines()]
        assert lines == [f"{each.upper()} comind.tests: at {each}" for each in levels]
    assert printed.out == ""


def test_loggers_of_tools_stay_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    """The level is that of CoMind's own loggers."""
    configure_logging("debug")
    logging.getLogger("urllib3.connectionpool").info("a request")
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_records_above_the_live_table(capsys: pytest.CaptureFixture[str]) -> None:
    """They go through the table's own console, and as they are, without markup."""
    screen = io.StringIO()
    with Live("the table", console=Console(file=screen, force_terminal=True)):
        terminal_handler().handle(logging.makeLogRecord({"name": "comind.x", "msg": "[red]lost"}))
    assert "comind.x: [red]lost" in " ".join(screen.getvalue().split())
    assert capsys.readouterr().err == ""


def test_a_campaign_that_resumes_appends_to_its_file(folder: CampaignFolder) -> None:
    """What is logged between its runs is not in it."""
    configure_logging()
    for text in ("first", "second"):
        with logged_beside(folder.program_log):
            _log.info(text)
        _log.info("between")
    lines = folder.program_log.read_text().splitlines()
    assert [line.rpartition(" ")[2] for line in lines] == ["first", "second"]


def test_campaigns_of_one_process_have_files_of_their_own(tmp_path: Path) -> None:
    """A record of a campaign's threads is in its file; that of another thread is in both."""
    configure_logging()
    one, two = _folder(tmp_path, "one"), _folder(tmp_path, "two")
    with logged_beside(one.program_log), logged_beside(two.program_log):
        thread = threading.Thread(target=contextvars.copy_context().run, args=(_log.info, "of two"))
        other = threading.Thread(target=_log.info, args=("of both",))
        for each in (thread, other):
            each.start()
            each.join()
    found = [each.program_log.read_text() for each in (one, two)]
    assert ["of two" in text for text in found] == [False, True]
    assert ["of both" in text for text in found] == [True, True]


def test_the_file_is_bounded(folder: CampaignFolder) -> None:
    """Two parts are kept, the newest ones."""
    configure_logging()
    with logged_beside(folder.program_log):
        for number in range(14):
            _log.info("%s %s", number, "x" * 1_000_000)
    parts = sorted(folder.root.iterdir())
    assert [part.name for part in parts] == ["comind.log", "comind.log.1"]
    assert sum(part.stat().st_size for part in parts) < 10_000_000
    assert " 13 x" in parts[0].read_text()


def test_keys_are_in_no_record(
    folder: CampaignFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither in a message, nor in its arguments, nor in the traceback of an exception."""
    monkeypatch.setenv("OPENAI_API_KEY", _KEY)
    configure_logging()
    with logged_beside(folder.program_log):
        try:
            raise KeyError(_KEY)  # noqa: TRY301
        except KeyError:
            _log.exception("failed with %s", _KEY)
    for text in (capsys.readouterr().err, folder.program_log.read_text()):
        assert "failed with [key]\nTraceback (most recent call last):" in text
        assert text.endswith("KeyError: '[key]'\n")


def test_a_run_of_a_worker_logs_from_info_on(caplog: pytest.LogCaptureFixture) -> None:
    """To the handlers that Prefect has set up, which stay."""
    logging.getLogger("comind").addHandler(handler := logging.NullHandler())
    configure_run_logging()
    _log_all()
    assert handler in logging.getLogger("comind").handlers
    assert [each.message for each in caplog.records] == ["at info", "at warning", "at error"]


@pytest.mark.parametrize("command", [["agents"], ["live", "serve"], ["knowledge", "list"]])
def test_every_command_takes_a_level(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Also those with subcommands; an unknown one is bad usage."""
    assert main([*command, "--log-level", "loud"]) == 2
    assert "invalid choice: 'loud'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    assert "--verbose" in capsys.readouterr().out


def test_a_bug_of_a_command_shows_no_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its traceback is on stderr, and its line and JSON have the kind of error."""
    monkeypatch.setenv("KAGGLE_API_TOKEN", _KEY)
    configure_logging()
    failed = _run(argparse.Namespace(command=_KEY))
    assert failed.values["error"]["message"] == "a bug in CoMind: KeyError('[key]')"
    assert failed.exit_code == 1
    assert capsys.readouterr().err.endswith("KeyError: '[key]'\n")


def test_verbose_keeps_stdout_clean() -> None:
    """Stdout has one JSON object, stderr the log from info on."""
    command = [sys.executable, "-m", "comind.cli", "agents", "--json", "--verbose"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.startswith("{")
    assert done.stdout.count("\n") == 1
    assert "INFO comind.cli.main: comind" in done.stderr


def test_a_campaign_logs_its_changes_of_state_and_no_step(tmp_path: Path) -> None:
    """Work planned, started and ended, the pick and the end, each in a line; a step is at `debug`."""
    configure_logging()
    world = World(tmp_path)
    with world.campaign() as campaign, logged_beside(world.folder.program_log):
        world.run(campaign)
    text = world.folder.program_log.read_text()
    found = [line.split(": ", 1)[1] for line in text.splitlines()]
    expected = [
        "demo-tiny-1: attempt-000: draft, baseline",
        "demo-tiny-1/attempt-000: starts",
        "demo-tiny-1/attempt-000: session in scripted, 1 thread",
        "demo-tiny-1: attempt-000: done, written 0.9 [0.9, 0.9]",
    ]
    assert [line for line in found if "attempt-000: " in line] == expected
    assert any(line.startswith("demo-tiny-1: final pick attempt-") for line in found)
    assert any(line.startswith("demo-tiny-1: ended: ") for line in found)
    assert "step 1" not in text
