"""What the files leave open is asked on a terminal, and only there."""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
import yaml

from comind.app.downloads import prepare_download, settle_questions
from comind.app.terminal.questions import ask_user
from comind.competitions.download.findings import Question
from comind.errors import CompetitionError
from comind.metrics.metric_names import likely_metrics
from tests.doubles.terminal import pseudo_terminal

_PRICES = "id,area,rooms,price,rent\n" + "".join(
    f"{n},{n * 2},{n % 3},{n * 9.5},{n}\n" for n in range(30)
)
_TEST = "id,area,rooms\n" + "".join(f"{n},{n * 2},{n % 3}\n" for n in range(30, 40))


@pytest.fixture
def download(tmp_path: Path) -> Path:
    """A download with two columns that may be predicted, and no description."""
    folder = tmp_path / "flats"
    folder.mkdir()
    (folder / "train.csv").write_text(_PRICES)
    (folder / "test.csv").write_text(_TEST)
    return folder


def test_answers_are_written_and_kept(download: Path, tmp_path: Path) -> None:
    """Columns are asked for before the files are arranged, the metric after; neither is asked again."""
    asked: list[Question] = []

    def ask(question: Question) -> str | list[str]:
        asked.append(question)
        return ["price"] if question.several else question.choices[0]

    layout = prepare_download(download, tmp_path / "project", ask=ask)
    layout = settle_questions(layout, download, "", ask)
    assert [(each.key, each.choices) for each in asked] == [
        ("target_columns", ("price", "rent")),
        ("metric", ("rmse", "mae", "rmsle")),
    ]
    values = yaml.safe_load((layout.folder / "competition.yaml").read_text())
    assert (values["metric"], values["target_columns"]) == ("rmse", ["price"])
    asked.clear()
    layout = settle_questions(prepare_download(download, tmp_path / "project"), download, "", ask)
    assert not asked
    assert not layout.kept
    assert "id and price, which competition.yaml names" in "\n".join(layout.lines())
    assert "NOT CERTAIN" not in "\n".join(layout.lines())


def test_what_is_left_open_stays_open(download: Path, tmp_path: Path) -> None:
    """Without an answer the columns are an error in one line, and the metric a line of the report."""
    with pytest.raises(CompetitionError, match=r"2 columns that test\.csv lacks"):
        prepare_download(download, tmp_path / "project", ask=lambda _: None)
    layout = prepare_download(download, tmp_path / "project", ask=lambda _: ["rent"])
    layout = settle_questions(layout, download, "", lambda _: None)
    assert [each.key for each in layout.questions()] == ["metric"]
    open_line = "NOT CERTAIN: no description is among the files; add a line such as `metric: rmse`"
    assert open_line in "\n".join(layout.lines())


def test_a_metric_by_hand_is_not_asked_for(download: Path, tmp_path: Path) -> None:
    """A value that the user wrote into competition.yaml is used."""
    layout = prepare_download(download, tmp_path / "project", ask=lambda _: ["rent"])
    described = layout.folder / "competition.yaml"
    described.write_text(described.read_text() + "metric: mae\n")
    assert prepare_download(download, tmp_path / "project").questions() == []


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("2\n", "mae"), ("rmsle\n", "rmsle"), ("\n", None), ("", None), ("rmes\n1\n", "rmse")],
)
def test_a_number_or_a_name_is_an_answer(
    typed: str, answer: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelt name is answered with the nearest, and asked again; the end of input leaves it open."""
    monkeypatch.setattr("sys.stdin", StringIO(typed))
    choices = likely_metrics("", [str(n / 3) for n in range(40)], ["0"])
    assert ask_user(Question(key="metric", text="metric", choices=choices)) == answer
    printed = capsys.readouterr().err
    assert "metric? [1] rmse, [2] mae, [3] rmsle, or a name" in printed
    assert ("'rmes' is not known; the nearest: rmse" in printed) == (typed == "rmes\n1\n")


@pytest.mark.parametrize(
    ("reason", "labels", "predicted", "choices"),
    [
        ("", {"0", "1"}, {"0.5"}, ("roc-auc", "log-loss", "accuracy")),
        ("", {"cat", "dog"}, {"cat"}, ("accuracy", "f1", "roc-auc")),
        ("", {"a", "b", "c"}, {"0.3"}, ("multiclass-log-loss", "accuracy", "macro-f1")),
        ("", {f"word {n}" for n in range(900)}, {""}, ("exact-match", "accuracy", "macro-f1")),
        ("more than one metric is named: mae, rmse", {"1", "2"}, {"1"}, ("mae", "rmse", "accuracy")),
    ],
)
def test_the_likeliest_metrics_come_first(
    reason: str, labels: set[str], predicted: set[str], choices: tuple[str, ...]
) -> None:
    """Metrics that the page names, then those usual for such labels."""
    assert likely_metrics(reason, labels, predicted) == choices


def test_a_person_is_asked_on_a_terminal(download: Path, tmp_path: Path) -> None:
    """The command asks for the columns, shows the report, and asks for the metric."""
    command = [sys.executable, "-m", "comind.cli", "inspect", download, "--out", tmp_path / "project"]
    with pseudo_terminal() as terminal:
        os.write(terminal.leader, b"1\nmae\n")
        done = subprocess.run(
            command,
            stdin=terminal.follower,
            stderr=terminal.follower,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=120,
        )
        printed = terminal.output()
    assert done.returncode == 0, printed
    assert "metric      mae" in done.stdout
    assert printed.index("columns to predict?") < printed.index("written to") < printed.index("metric?")
