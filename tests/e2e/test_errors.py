"""Whatever is wrong, the command line says so in one line and ends with the right exit code."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from comind.cli.main import main
from tests.e2e.command import comind
from tests.unit.competitions.bad_folders import BAD_ANSWERS, BAD_FOLDERS
from tests.unit.competitions.folders import competition_folder, raw
from tests.unit.grading.bad_submissions import BAD_SUBMISSIONS, ask


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """The command sets signal handlers and telemetry switches; no test keeps them."""
    before, environment = (
        {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)},
        dict(os.environ),
    )
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    os.environ.clear()
    os.environ.update(environment)


def _error(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """Run a command that fails; returns exit code and the one line, equal in text and JSON."""
    code = main([*map(str, arguments), "--json"])
    printed = capfd.readouterr()
    told: dict[str, Any] = json.loads(printed.out)["error"]
    lines = [line for line in printed.err.splitlines() if line.startswith("comind: ")]
    assert lines == [f"comind: {told['message']}"]
    assert "Traceback" not in printed.err
    return code, f"{told['message']} | {told['hint']}"


@pytest.mark.parametrize(
    "name",
    ["broken YAML", "unknown metric", "Latin-1", "label left in test", "file name with a line break"],
)
def test_a_broken_folder_is_told(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A competition folder that cannot be used ends the command at once, with what to mend."""
    case = next(case for case in BAD_FOLDERS if case.name == name)
    folder = competition_folder(tmp_path)
    case.breaks(folder)
    out = tmp_path / "out"
    code, told = _error(capfd, "solve", folder, "--model", "offline", "--out", out)
    assert code == 2
    message, hint = told.split(" | ", maxsplit=1)
    assert message == case.line.format(folder=folder)
    assert case.hint in hint
    assert not (out / "runs").exists(), "a campaign was opened for a broken folder"


@pytest.mark.parametrize("name", ["empty labels", "link in public"])
def test_a_broken_folder_is_told_by_the_real_command(name: str, tmp_path: Path) -> None:
    """In a process of its own the command prints one line and its hint, no warning and no traceback."""
    case = next(case for case in BAD_FOLDERS if case.name == name)
    folder = competition_folder(tmp_path)
    case.breaks(folder)
    ran = comind("solve", folder, "--model", "offline", "--out", tmp_path / "out", cwd=tmp_path)
    assert ran.exit_code == 2
    hint = [f"        {case.hint}"] if case.hint else []
    line = f"comind: {case.line.format(folder=folder)}"
    assert ran.stderr.splitlines() == ["comind solve: starting", line, *hint]
    assert ran.stdout == ""


def test_a_competition_without_a_metric_takes_a_model(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its evaluator has to be written, which nobody can do without a language model."""
    folder = competition_folder(tmp_path, metric=None)
    code, told = _error(capfd, "solve", folder, "--model", "offline", "--out", tmp_path / "out")
    assert code == 2
    assert "names no metric, and only a language model can write an evaluator" in told
    assert "add `metric: NAME` (accuracy, " in told


@pytest.mark.parametrize("name", ["empty answers", "leaderboard without scores"])
def test_broken_answers_are_told(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A fault of the folder is never blamed on the submission."""
    case = next(case for case in BAD_ANSWERS if case.name == name)
    folder = competition_folder(tmp_path)
    case.breaks(folder)
    sample = folder / "public" / "sample_submission.csv"
    code, told = _error(capfd, "grade", folder, sample)
    assert code == 2
    assert told.startswith(case.line.format(folder=folder))


@pytest.mark.parametrize("name", ["ragged submission", "hostile column", "NaN"])
def test_a_bad_submission_is_told_by_the_real_command(name: str, tmp_path: Path) -> None:
    """A readable file is graded invalid, with exit code 0; one that is no table is bad input."""
    case = next(case for case in BAD_SUBMISSIONS if case.name == name)
    folder, file = competition_folder(tmp_path), tmp_path / "s.csv"
    ask(folder, case.metric)
    raw("../s.csv", case.content)(folder)
    ran = comind("grade", folder, file, "--json", cwd=tmp_path)
    line = case.line.format(file=file)
    if case.unreadable:
        assert ran.exit_code == 2
        assert ran.json["error"]["message"] == line
        assert ran.error_lines == [f"comind: {line}"]
    else:
        assert (ran.exit_code, ran.stderr) == (0, "")
        assert (ran.json["valid"], ran.json["score"], ran.json["message"]) == (False, None, line)


def test_an_invalid_submission_fails_if_strict(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The line is on stderr, with exit code 0; with --strict the code is 2, also with --json."""
    folder, file = competition_folder(tmp_path), tmp_path / "s.csv"
    file.write_text("id,label\n40,no\n")
    assert main(["grade", str(folder), str(file)]) == 0
    out, told = capfd.readouterr()
    assert out == ""
    assert told.startswith("invalid: ")
    for more in ([], ["--json"]):
        assert main(["grade", str(folder), str(file), "--strict", *more]) == 2
        assert told.removeprefix("invalid: ").strip() in capfd.readouterr().err


_USAGE: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing": (("solve",), "name a COMPETITION, or --resume CAMPAIGN"),
    "both": (("solve", "x", "--resume", "y"), "name a COMPETITION, or --resume CAMPAIGN"),
    "no such folder": (("solve", "../nowhere"), "../nowhere: there is no such folder"),
    "unknown agent": (("solve", "demo-tumours", "--agent", "x"), "unknown agent 'x' | one of "),
    "no assignment": (("solve", "x", "--set", "width"), "'width' is not NAME=VALUE"),
    "parameters of a resumed": (
        ("solve", "--resume", "x", "--set", "width=3"),
        "--set: a campaign that is resumed keeps what it was opened with",
    ),
    "unknown parameter": (
        ("solve", "demo-tumours", "--agent", "comind", "--set", "width=3"),
        "--set, for the agent comind: there is no parameter 'width' | there is: notebooks_per_round",
    ),
    "unknown profile": (("solve", "demo-tumours", "--profile", "x"), "no profile 'x'"),
    "misspelled profile": (
        ("solve", "demo-tumours", "--profile", "qick"),
        "'qick'; did you mean quick?",
    ),
    "misspelled agent": (("solve", "demo-tumours", "--agent", "aid"), "'aid'; did you mean aide?"),
    "misspelled parameter": (
        ("solve", "demo-tumours", "--agent", "comind", "--set", "notebooks_per_rond=3"),
        "no parameter 'notebooks_per_rond'; did you mean notebooks_per_round? | there is: ",
    ),
    "unknown sandbox": (("solve", "x", "--sandbox", "moon"), "invalid choice: 'moon'"),
    "unknown option": (
        ("solve", "x", "--fast"),
        "unrecognized arguments: --fast | see comind solve --help",
    ),
    "misspelled option": (("solve", "x", "--modle", "y"), "--modle y; did you mean --model?"),
    "option of an action": (("live", "serve", "--prot=3"), "--prot=3; did you mean --port?"),
    "option before a command": (("--versoin",), "--versoin --json; did you mean --version?"),
    "unknown command": (("fly",), "there is no command 'fly' | see comind --help"),
    "misspelled command": (("slove", "x"), "there is no command 'slove'; did you mean solve?"),
    "no number": (("solve", "x", "--coders", "many"), "--coders many: input should be a valid integer"),
    "no time": (("solve", "x", "--minutes", "0"), "--minutes 0: input should be greater than 0"),
    "negative": (
        ("solve", "x", "--steps", "-1"),
        "--steps -1: input should be greater than or equal to 1",
    ),
    "no steps": (("solve", "demo-tumours", "--steps", "0"), "--steps 0: input should be greater than"),
    "no coders": (
        ("solve", "demo-tumours", "--coders", "0"),
        "--coders 0: input should be greater than",
    ),
    "many coders": (
        ("solve", "demo-tumours", "--coders", "1000"),
        "--coders 1000: input should be less than or equal to 64",
    ),
    "many folds": (
        ("solve", "demo-tumours", "--folds", "77"),
        "--folds 77: input should be 'auto' or input should be less than or equal to 9",
    ),
    "negative seed": (
        ("solve", "demo-tumours", "--seed", "-1"),
        "--seed -1: input should be greater than or equal to 0",
    ),
    "many coders a day": (
        ("track", "titanic", "--coders", "1000"),
        "--coders 1000: input should be less than or equal to 64",
    ),
    "a port": (("mlebench", "validate", "x", "--port", "99999"), "argument --port: 99999 is not a port"),
    "no live port": (("live", "serve", "--port", "70000"), "argument --port: 70000 is not a port"),
    "no limit": (
        ("live", "serve", "--submissions", "-1"),
        "argument --submissions: -1 is not 0 or more",
    ),
    "path-like campaign": (("solve", "--resume", "../../x"), "there is no campaign '../../x'"),
    "no script": (("solve", "demo-tumours", "--model", "scripted:none"), "there is no such script"),
    "no submission file": (("grade", "demo-tumours", "none.csv"), "no such file"),
}


@pytest.mark.parametrize("case", sorted(_USAGE))
def test_bad_usage_is_told(
    case: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that cannot mean anything ends with exit code 2 and one line."""
    monkeypatch.chdir(tmp_path)
    arguments, message = _USAGE[case]
    code, told = _error(capfd, *arguments)
    assert code == 2
    assert message in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--max-usd", "1", "--model", "unheard-of"), "the price of unheard-of is not known"),
    ],
)
def test_a_price_that_is_not_known_cannot_be_capped(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    """A limit in dollars on a model without a known price is refused, not ignored."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    code, told = _error(capfd, "solve", "demo-tumours", *arguments, "--out", tmp_path)
    assert code == 2
    assert message in told


def test_a_model_without_an_endpoint_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A model name alone does not say where the model is."""
    code, told = _error(capfd, "solve", "demo-tumours", "--model", "gpt", "--out", tmp_path)
    assert code == 4
    assert "no endpoint for the model gpt" in told
    assert "OPENAI_BASE_URL" in told


def test_a_missing_git_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without git nothing can be versioned, so nothing is started."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    out = tmp_path / "out"
    arguments = ("solve", "demo-tumours", "--sandbox", "process", "--model", "offline", "--out", out)
    code, told = _error(capfd, *arguments)
    assert code == 4
    assert told == "git is not installed | apt-get install git"


def test_a_missing_sandbox_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Model-written code is never run without a sandbox unless that was asked for."""
    from comind.session import choice

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    choice._choose.cache_clear()
    choice._create.cache_clear()
    try:
        code, told = _error(capfd, "solve", "demo-tumours", "--model", "gpt", "--out", tmp_path)
    finally:
        choice._choose.cache_clear()
        choice._create.cache_clear()
    assert code == 4
    assert "bubblewrap: bubblewrap is not installed" in told
    assert "no sandbox for code that a model wrote: docker: no container engine answers" in told
    assert "--sandbox process" in told


def test_a_used_port_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A port that was asked for and is taken is named; nothing is started."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code = main(["ui", "--mlflow-port", str(port), "--out", str(tmp_path)])
    assert code == 2
    assert f"--mlflow-port: the port {port} is in use" in capfd.readouterr().err


def test_an_absent_prefect_server_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A configured Prefect server that does not answer is named, with what to do."""
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    code, told = _error(capfd, "solve", "demo-tumours", "--model", "offline", "--out", tmp_path)
    assert code == 4
    assert "the Prefect server at http://127.0.0.1:9/api does not answer" in told


def test_a_folder_that_cannot_be_written_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A file in the place of the project folder is bad input."""
    (tmp_path / "file").write_text("")
    code, told = _error(capfd, "solve", "demo-tumours", "--out", tmp_path / "file" / "out")
    assert code == 2
    assert "cannot be written to" in told
