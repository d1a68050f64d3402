"""Programs are measured as in the CoMind paper, appendix B."""

import math
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.reports.code_metrics import measure
from comind.domain.code_metrics import CodeMetrics

_PROGRAM = '''"""What it does."""
import sys

# a comment
def sign(x):
    """Say the sign."""
    if x > 0:
        return 1
    return -1 if x < 0 else 0

TEXT = """two
lines"""
for each in range(3):
    print(sign(each))
'''


def test_a_program_is_measured() -> None:
    """Lines of code and comments, complexities, and Halstead's metrics by their definitions."""
    # two operators, > and <, each once, of the operands x, 0, x, 0, of which two are different; the
    # unary minus of -1 is a third operator, its operand 1 a third operand
    operators, operands, different = 3, 5, (3, 3)
    volume = (operators + operands) * math.log2(sum(different))
    difficulty = different[0] / 2 * operands / different[1]
    assert measure(_PROGRAM) == CodeMetrics(
        code_length=len(_PROGRAM),
        source_lines=9,
        cyclomatic_complexity=3.0,
        total_complexity=4,
        comment_lines=1,
        halstead_volume=round(volume, 3),
        halstead_difficulty=round(difficulty, 3),
        halstead_effort=round(volume * difficulty, 3),
    )


def test_a_program_without_functions_has_no_mean() -> None:
    """As in the paper, the mean over no function is 0; the whole still has paths."""
    measured = measure("if True:\n    print(1)\n")
    assert (measured.cyclomatic_complexity, measured.total_complexity) == (0.0, 2)


@pytest.mark.parametrize(
    "code",
    ["def (", "!pip install x", "x = '\0'", "(" * 5000, "-" * 100_000 + "1", "\ud800", "a\n  b\n c"],
    ids=["syntax", "magic", "null byte", "deep", "deeper", "no text", "indent"],
)
def test_what_cannot_be_parsed_has_a_length_alone(code: str) -> None:
    """Code that does not parse has its length as its only metric."""
    assert measure(code) == CodeMetrics(code_length=len(code))


@given(st.text(alphabet="ab10 \n\t\\'\"#:()[]=+-.\f\r\0if elsdf", max_size=80) | st.text(max_size=40))
def test_anything_can_be_measured(code: str) -> None:
    """No text makes `measure` raise or warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert measure(code).code_length == len(code)


def test_a_long_statement_takes_no_time() -> None:
    """Counting is linear in the length of one statement (radon's own count is not)."""
    rows = "\n".join(f"  ({number}, 'x')," for number in range(20_000))
    assert measure(f"data = [\n{rows}\n]\n").source_lines == 20_002
