"""Evidence against a running cell: what is found, and what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.session.evidence import CellSnapshot, Evidence, Symptom, _parse_duration, find_evidence


def _found(
    output: str,
    *,
    code: str = "fit()",
    seconds: float = 100.0,
    left: float = 1000.0,
    silent: float = 0.0,
) -> dict[Symptom, Evidence]:
    snapshot = CellSnapshot(code=code, output=output, seconds=seconds, left=left, silent=silent)
    return {each.symptom: each for each in find_evidence(snapshot)}


def _times(line: str, count: int) -> str:
    """Return a line `count` times, with `#` replaced by its number."""
    return "\n".join(line.replace("#", str(number)) for number in range(count))


LOST = [
    "loss: nan",
    "loss=NaN",
    "epoch # loss nan acc 0.10",
    "Epoch #/100 - 3s - loss: nan - accuracy: 0.0987 - val_loss: nan",
    "step # | train_loss: inf | lr 0.001",
    "[#]\tvalidation-rmse:nan",
    "[#]\ttraining's binary_logloss: nan\tvalid_1's binary_logloss: nan",
    "{'loss': nan, 'learning_rate': 5e-05, 'epoch': #}",
    '{"epoch": #, "loss": NaN}',
    "iter #: loss = tensor(nan, device='cuda:0')",
]


@pytest.mark.parametrize("line", LOST)
def test_a_loss_that_stays_not_a_number_is_certain(line: str) -> None:
    """Five reports in a row in which every loss is NaN are certain evidence; two are none."""
    evidence = _found("reading data\n" + _times(line, 5))[Symptom.NOT_A_NUMBER]
    assert evidence.certain
    assert evidence.quote in (_times(line, 5))
    assert not _found(_times(line, 3))[Symptom.NOT_A_NUMBER].certain
    assert _found(_times(line, 2)) == {}


@pytest.mark.parametrize(
    "output",
    [
        _times("nan", 50),
        _times("dropping # rows where the loss is nan", 50),
        _times("column loss_# holds nan", 50),
        _times("nan_loss_ratio: 0.#", 50),
        _times("nans in column #: 12", 50),
        _times("loss   NaN", 50),  # rows of a printed series
        _times("score    NaN   0.5   NaN", 50),
        _times("epoch # train_loss: 0.31 val_loss: nan", 50),
        _times("Banana loss: nano #", 50),
        _times("loss: nan", 20) + "\n" + "loss: 0.7",
        _times("name: nan", 50),
        _times("info: information #", 50),
        _times("epoch # loss: 0.#", 50),
    ],
)
def test_the_word_nan_is_no_evidence(output: str) -> None:
    """Prose, column names, tables and a loss that is finite again are no evidence."""
    assert Symptom.NOT_A_NUMBER not in _found(output)


@pytest.mark.parametrize(
    "output",
    [
        "Fold 1\n" + _times("epoch # loss: nan", 9),
        _times("trial # loss: nan", 9),
        "lr = 0.1\n" + _times("epoch # loss: nan", 9),
        _times("fold_# auc: nan", 9),
    ],
)
def test_several_runs_in_one_cell_are_not_certain(output: str) -> None:
    """With several folds or trials, or only an undefined score, evidence is not certain."""
    assert not _found(output)[Symptom.NOT_A_NUMBER].certain


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1:02:03", 3723),
        ("02:03", 123),
        ("30:00:00", 108000),
        ("1 day, 2:00:00", 93600),
        ("1h 5m", 3900),
        ("2 hours 30 minutes", 9000),
        ("12.5 min", 750),
        ("45s", 45),
    ],
)
def test_durations_are_understood(text: str, seconds: float) -> None:
    """Durations are parsed in the formats of progress bars and libraries."""
    assert _parse_duration(text) == seconds


@pytest.mark.parametrize(
    "line",
    [
        "epoch 3/500 ETA: 5:00:00",
        "12:\tlearn: 0.5\ttotal: 1m 2s\tremaining: 5h",
        "  1%|          | 12/1000 [01:00<5:00:00, 18.2s/it]",
        "Time left: 300 minutes",
        "5/500 [..............] - ETA: 5h 0m - loss: 0.4",
    ],
)
def test_more_time_than_is_left_is_found(line: str) -> None:
    """A stated time far above the time left is certain, one above it is evidence, one below is none."""
    assert _found(line, left=3600)[Symptom.NO_TIME].certain
    assert line.strip() == _found(line, left=3600)[Symptom.NO_TIME].quote
    assert not _found(line, left=3600, seconds=20)[Symptom.NO_TIME].certain, "still warming up"
    assert not _found(line, left=10000)[Symptom.NO_TIME].certain
    assert _found(line, left=18000) == {}


@pytest.mark.parametrize("code", ["fit(early_stopping_rounds=50)", "if time.time() > end: break"])
def test_code_that_may_end_early_is_not_certain_to_be_late(code: str) -> None:
    """With early stopping, a progress bar's remaining time is not certain evidence."""
    found = _found("ETA: 50:00:00", code=code, left=3600)
    assert not found[Symptom.NO_TIME].certain


@pytest.mark.parametrize(
    "line", ["remaining: 12", "12 rows left", "beta: 1:00", "ETA: soon", "left: 5h"]
)
def test_what_is_no_time_is_not_read_as_one(line: str) -> None:
    """Counts, ratios and words next to a number are not parsed as a remaining time."""
    assert _found(line, left=1) == {}


def test_the_same_complaint_again_and_again_is_found() -> None:
    """Ten recent errors that differ only in numbers are evidence, never certain; old ones are none."""
    output = _times("ValueError: row # has 3 fields, expected 4", 12)
    evidence = _found(output)[Symptom.SAME_ERROR]
    assert evidence.quote == "ValueError: row 11 has 3 fields, expected 4"
    assert not evidence.certain
    assert _found(_times("ValueError: row #", 5)) == {}
    assert _found(output + "\n" + _times("epoch # done", 30)) == {}


def test_silence_counts_where_output_was_promised() -> None:
    """A long silence is evidence for code that prints progress, and never for a plain fit."""
    printing = "for x in y:\n    print(x)"
    assert Symptom.SILENCE in _found("start", code=printing, silent=700, left=9000)
    assert _found("start", code=printing, silent=50) == {}
    assert _found("start", code="model.fit(x, y)\nprint(model)", silent=5000) == {}


@given(st.text(max_size=2000), st.floats(0, 1e6), st.floats(0, 1e6))
def test_any_output_can_be_read(output: str, seconds: float, left: float) -> None:
    """For any output the search terminates, and a quote is a line of the output."""
    for evidence in _found(output, seconds=seconds, left=left).values():
        assert evidence.quote in output


def test_a_huge_line_is_read_in_bounded_time() -> None:
    """Long lines without a space do not slow the search down."""
    for part in ("-", "a", "1:", "Error", "1d ", "loss:"):
        _found((part * 60_000)[:60_000])
        _found(_times(part * 300, 200))
