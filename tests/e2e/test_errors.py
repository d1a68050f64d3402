"""Whatever is wrong, the command line says so in one line and ends with the right exit code."""

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.cli.main import main
from tests.unit.evaluation.folders import competition_folder, write

Break = Callable[[Path], object]


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


def _yaml(**changes: object) -> Break:
    """Write the folder with other values in competition.yaml."""
    import yaml

    def change(folder: Path) -> None:
        path = folder / "competition.yaml"
        values = yaml.safe_load(path.read_text()) | changes
        path.write_text(yaml.safe_dump({k: v for k, v in values.items() if v is not None}))

    return change


def _remove(name: str) -> Break:
    return lambda folder: (folder / name).unlink()


def _bytes(name: str, content: bytes) -> Break:
    return lambda folder: (folder / "public" / name).write_bytes(content)


def _lines(name: str, *lines: str) -> Break:
    return lambda folder: write(folder, name, list(lines))


_BROKEN: dict[str, tuple[Break, str]] = {
    "no description": (_remove("competition.yaml"), "has no competition.yaml"),
    "no train file": (_remove("public/train.csv"), "public/train.csv is missing"),
    "no test file": (_remove("public/test.csv"), "public/test.csv is missing"),
    "not yaml": (
        lambda folder: (folder / "competition.yaml").write_text("a: [b\nc: d"),
        "competition.yaml, line 2: is not YAML",
    ),
    "unknown key": (_yaml(metrik="accuracy"), "unknown key 'metrik' | known keys: deadline"),
    "unknown metric": (_yaml(metric="niceness"), "unknown metric 'niceness' | known metrics: accuracy"),
    "no metric": (_yaml(metric=None), "names no metric"),
    "path-like id": (_yaml(id="../../evil"), "id: '../../evil' is not a name"),
    "unknown split": (_yaml(split={"kind": "odd"}), "split.kind: Input should be"),
    "split column missing": (
        _yaml(split={"kind": "stratified", "column": "zone"}),
        "the split's column 'zone' is not in train.csv",
    ),
    "label column missing": (_yaml(label_columns=["y"]), "public/train.csv has no column 'y'"),
    "empty file": (_bytes("train.csv", b""), "train.csv: is empty"),
    "only a header": (_lines("train.csv", "id,x,label"), "too few to hold some back"),
    "not utf-8": (_bytes("train.csv", b"id,x,label\n1,\xe9,yes\n"), "is not UTF-8 text (byte 13)"),
    "binary": (_bytes("test.csv", b"\x00\x01\x02"), "is not text but binary data"),
    "ragged": (_lines("train.csv", "id,x,label", "1,2,3,4,5"), "more cells than its header"),
    "empty labels": (
        _lines("train.csv", "id,x,label", *[f"{i},1,{'' if i < 3 else 'no'}" for i in range(30)]),
        "column 'label': 3 rows have no label",
    ),
    "label left in test": (
        _lines("test.csv", "id,x,label", "41,1,yes"),
        "test.csv shows the label column 'label'",
    ),
}


@pytest.mark.parametrize("case", sorted(_BROKEN))
def test_a_broken_folder_is_told(case: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A competition folder that cannot be used ends the command at once, with what to mend."""
    folder = competition_folder(tmp_path)
    breaks, message = _BROKEN[case]
    breaks(folder)
    out = tmp_path / "out"
    code, told = _error(capfd, "solve", folder, "--model", "offline", "--out", out)
    assert code == 2
    assert message in told
    assert not (out / "runs").exists(), "a campaign was opened for a broken folder"


_USAGE: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing": (("solve",), "name a COMPETITION, or --resume CAMPAIGN"),
    "both": (("solve", "x", "--resume", "y"), "name a COMPETITION, or --resume CAMPAIGN"),
    "no such folder": (("solve", "../nowhere"), "../nowhere: there is no such folder"),
    "unknown agent": (("solve", "demo-tumours", "--agent", "x"), "unknown agent 'x' | one of comind"),
    "unknown profile": (("solve", "demo-tumours", "--profile", "x"), "no profile 'x'"),
    "unknown sandbox": (("solve", "x", "--sandbox", "moon"), "invalid choice: 'moon'"),
    "unknown option": (("solve", "x", "--fast"), "unrecognized arguments: --fast"),
    "unknown command": (("fly",), "invalid choice: 'fly'"),
    "no number": (("solve", "x", "--coders", "many"), "'many' is not a number"),
    "no time": (("solve", "x", "--minutes", "0"), "0 is not more than 0"),
    "negative": (("solve", "x", "--steps", "-1"), "-1 is not 0 or more"),
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
    from comind.session.choice import choose_sandbox

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    choose_sandbox.cache_clear()
    try:
        code, told = _error(capfd, "solve", "demo-tumours", "--model", "gpt", "--out", tmp_path)
    finally:
        choose_sandbox.cache_clear()
    assert code == 4
    assert "no sandbox for code that a model wrote: bubblewrap is not installed" in told
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


def test_an_invalid_submission_is_an_answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A readable file that is no valid submission is graded invalid, with exit code 0."""
    folder = competition_folder(tmp_path)
    (tmp_path / "s.csv").write_text("id,label\n40,yes\n")
    assert main(["grade", str(folder), str(tmp_path / "s.csv"), "--json"]) == 0
    answer = json.loads(capfd.readouterr().out)
    assert answer["valid"] is False
    assert answer["score"] is None
    assert "9 of 10 ids (id) are missing" in answer["message"]


def test_a_competition_without_answers_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Only past competitions can be graded."""
    folder = competition_folder(tmp_path)
    (folder / "private" / "answers.csv").unlink()
    code, told = _error(capfd, "grade", folder, folder / "public" / "sample_submission.csv")
    assert code == 2
    assert "has no private/answers.csv" in told
