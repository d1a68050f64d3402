# ruff: noqa: E501 - programs in a table, one a line
"""The standalone script has the effects of the cells, with fewer statements."""

import contextlib
import io
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.log.outcome import Submitted
from comind.campaign.log.work_events import SubmissionNames
from comind.campaign.log.work_state import CellRun
from comind.campaign.script.cells import RanCell, cells_of
from comind.campaign.script.derive import ScriptOrigin, all_cells, derive
from comind.session.session_ports import CellResult, CellStatus

_NAMES = SubmissionNames()
_HAND_IN = (
    "open('validation_submission.csv', 'w').write(str(y))\nopen('submission.csv', 'w').write(str(x))"
)


def _cells(*codes: str, lives: tuple[int, ...] = ()) -> list[RanCell]:
    return [
        RanCell(n, f"goal {n}", code, lives[n] if lives else 0, _NAMES) for n, code in enumerate(codes)
    ]


def _text(*codes: str) -> str:
    return derive(_cells(*codes)).text


def _lines(*codes: str) -> list[str]:
    return [line for line in _text(*codes).splitlines() if not line.startswith("#")]


def _ran(step: int, code: str, status: CellStatus | None = CellStatus.OK, error: str = "") -> CellRun:
    result = CellResult(status=status, error=error) if status else None
    return CellRun(
        number=step,
        ordinal=step,
        step=step,
        goal=f"goal {step}",
        code=code,
        names=None,
        started=datetime.now(UTC),
        result=result,
    )


def test_what_nobody_needs_is_left_out() -> None:
    """Prints, plots, exploration and discarded models are not in the script."""
    text = _text(
        "import pandas as pd\nimport matplotlib.pyplot as plt\n"
        "train = pd.read_csv('input/train.csv')\nprint(train.head())\ntrain.describe()",
        "from sklearn.linear_model import Ridge, Lasso\nlasso = Lasso().fit(train[['a']], train['b'])\n"
        "print(lasso.score(train[['a']], train['b']))\nfig = train.plot()\nfig.savefig('plot.png')",
        "model = Ridge()\nmodel.fit(train[['a']], train['b'])\n"
        "pd.Series(model.predict(train[['a']])).to_csv('submission.csv')\n"
        "train.to_csv('validation_submission.csv')",
    )
    assert "Lasso()" not in text
    assert "plot" not in text.replace("matplotlib.pyplot", "")
    assert "describe" not in text
    assert "print" not in text
    assert "model.fit(train[['a']], train['b'])" in text


def test_probabilities_that_were_handed_in_are_written_again() -> None:
    """The script writes those of validation and test rows, and without them is as before."""
    code = "shares = 0.5\nopen('test_probabilities.csv', 'w').write(str(shares))"
    hashes = {"validation_sha256": "a", "test_sha256": "b"}
    kept = Submitted(
        step=2, test_probabilities_sha256="c", out_of_fold_probabilities_sha256="d", **hashes
    )
    ran = [_ran(1, "x = y = 1"), _ran(2, f"{code}\n{_HAND_IN}")]
    for submitted, beside in ((Submitted(step=2, **hashes), set()), (kept, {"test_probabilities.csv"})):
        cells = cells_of([ran[0], replace(ran[1], submitted=submitted)], 2)
        assert cells[-1].beside == beside
        assert ("write(str(shares))" in derive(cells).text) == bool(beside)


@pytest.mark.parametrize(
    ("cells", "needed"),
    [
        (["x = [1]\ny = 2\nx.append(3)", _HAND_IN], "x.append(3)"),
        (["x = {}\ny = 2\nx['a'] = 1", _HAND_IN], "x['a'] = 1"),
        (["x = [1]\nalias = x\ny = 2\nalias.append(3)", _HAND_IN], "alias.append(3)"),
        (["x = [1]\nheld = [x]\ny = 2\nheld[0].append(3)", _HAND_IN], "held[0].append(3)"),
        (["x = 1\ny = 2\nx += 1", _HAND_IN], "x += 1"),
        (["a = 1\ndef f():\n    return a\ny = 2\nx = f()", _HAND_IN], "a = 1"),
        (["x = 0\ny = 1\ndef f():\n    global x\n    x = 5\nf()", _HAND_IN], "f()"),
        (["x = y = 1\nif y:\n    x = 2", _HAND_IN], "    x = 2"),
        (["import json\nx = y = 1\njson.dump(x, open('m.json', 'w'))", "x = json.load(open('m.json'))\n" + _HAND_IN],
         "json.dump(x, open('m.json', 'w'))"),
        (["import numpy as np\nx = y = 1\nnp.random.seed(1)", "x = np.random.rand()\n" + _HAND_IN], "np.random.seed(1)"),
        (["import numpy as np\nx = y = 1\nz = np.random.rand()", "x = np.random.rand()\n" + _HAND_IN], "z = np.random.rand()"),
        (["import os\nx = y = 1\nos.makedirs('out')", _HAND_IN], "os.makedirs('out')"),
        (["import torch\nnet = torch.nn.Linear(1, 1)\nopt = torch.optim.Adam(net.parameters())\ny = 1\nopt.step()",
          "x = net(1)\n" + _HAND_IN], "opt.step()"),
        (["x = y = 1\nname = 'submission.csv'", "open(name, 'w').write(str(x))\nopen('validation_submission.csv', 'w').write('1')"],
         "name = 'submission.csv'"),
        (["import lightning\nnet = Net()\nt = lightning.Trainer()\ny = 1\nt.fit(net, y)", "x = net(1)\n" + _HAND_IN], "t.fit(net, y)"),
        (["f = lambda: a\na = 3\ny = 1\nx = f()", _HAND_IN], "a = 3"),
        (["x = y = 1\nimport pandas as pd\npd.options.mode.copy_on_write = True", _HAND_IN], "pd.options.mode.copy_on_write = True"),
        (["from sklearn.experimental import enable_iterative_imputer\nx = y = 1", _HAND_IN], "enable_iterative_imputer"),
    ],
)  # fmt: skip
def test_what_the_submission_needs_is_kept(cells: list[str], needed: str) -> None:
    """Mutations through methods, aliases, functions, files, seeds and settings stay in the script."""
    assert needed in _text(*cells)


def test_a_new_interpreter_knows_files_alone() -> None:
    """Names of an earlier interpreter are gone; files that it wrote and are read are kept."""
    cells = _cells(
        "import json\nx = 1\njson.dump(x, open('m.json', 'w'))\ny = 9",
        "import json\ny = 2\nx = json.load(open('m.json'))\n" + _HAND_IN,
        lives=(0, 1),
    )
    text = derive(cells).text
    assert "json.dump" in text
    assert "y = 9" not in text


def test_magics_become_python_or_go() -> None:
    """Timers leave their statement, shells become subprocesses, settings go; modules can be written."""
    ran = [
        _ran(1, "%%writefile lib.py\nw = 3"),
        _ran(2, "%matplotlib inline\n%time from lib import w\n!touch marker\nx = y = w\nx?"),
        _ran(3, _HAND_IN),
    ]
    script = derive(cells_of(ran, 3))
    assert script.plain
    assert script.text.startswith("import sys; sys.path.insert(0, '')")
    assert "from lib import w" in script.text
    assert "subprocess.run('touch marker', shell=True)" in script.text
    assert "open('lib.py', 'w')" in script.text


def test_what_is_no_python_stays_as_it_is() -> None:
    """With a cell that needs IPython, all cells are kept."""
    script = derive(cells_of([_ran(1, "%%R\nx <- 1"), _ran(2, "x = y = 1\n" + _HAND_IN)], 2))
    assert (script.origin, script.plain, script.file_name) == (ScriptOrigin.CELLS, False, "script.ipy")


def test_a_failed_cell_counts_as_far_as_it_ran() -> None:
    """Statements before the failed one are kept; stopped or interrupted cells are not."""
    error = "NameError   Traceback\nCell In[1], line 3\n      2 y = 2\n----> 3 nope\nNameError: nope"
    ran = [
        _ran(1, "x = 1\ny = 2\nnope\ny = 3", CellStatus.ERROR, error),
        _ran(2, "y = 7", CellStatus.TIMEOUT),
        _ran(3, "y = 6", None),
        _ran(3, _HAND_IN),
        _ran(4, "y = 8"),
    ]
    assert [cell.code for cell in cells_of(ran, 3)] == ["x = 1\ny = 2", _HAND_IN]
    assert "y = 2" in derive(cells_of(ran, 3)).text


def test_comments_and_steps_stay_with_their_statements() -> None:
    """A comment above a kept statement is kept, and each step has its goal as a header."""
    text = _text("# why x\nx = 1\n# idle\nz = 0\ny = 2", _HAND_IN)
    assert "# --- step 0: goal 0\n# why x\nx = 1\ny = 2\n" in text
    assert "idle" not in text


# --- any program ----------------------------------------------------------------------------------

_VARIABLES = st.sampled_from("abcxy")
_FILES = st.sampled_from(["m.txt", "n.txt"])
_VALUE = st.one_of(
    st.integers(0, 9).map(str),
    _VARIABLES,
    st.builds("[{}, {}]".format, _VARIABLES, _VARIABLES),
    st.builds("list(str({}))".format, _VARIABLES),
    st.builds("f({})".format, _VARIABLES),
    st.builds("open('{}').read()".format, _FILES),
    st.builds("{} if b else {}".format, _VARIABLES, _VARIABLES),
)
_STATEMENT = st.one_of(
    st.builds("{} = {}".format, _VARIABLES, _VALUE),
    st.builds("{}, {} = {}, {}".format, _VARIABLES, _VARIABLES, _VALUE, _VALUE),
    st.builds("{}.append({})".format, _VARIABLES, _VALUE),
    st.builds("{}[0] = {}".format, _VARIABLES, _VALUE),
    st.builds("{} += {}".format, _VARIABLES, _VALUE),
    st.builds("print({})".format, _VALUE),
    st.builds("g({})".format, _VARIABLES),
    st.builds("k({})".format, _VARIABLES),
    st.builds("open('{}', 'w').write(str({}))".format, _FILES, _VARIABLES),
    st.builds("for {} in list(str({})):\n    {} = {}".format, _VARIABLES, _VARIABLES, _VARIABLES, _VALUE),
    st.builds("with open('{}', 'w') as file:\n    file.write(str({}))".format, _FILES, _VARIABLES),
    st.builds("def f(v):\n    return [v, {}]".format, _VARIABLES),
    st.builds("def g(v):\n    v.append({})".format, _VARIABLES),
    st.builds("def k(v):\n    global {0}\n    {0} = v".format, _VARIABLES),
    st.builds("if {}:\n    {}.clear()".format, _VARIABLES, _VARIABLES),
)  # fmt: skip
_START = """a, b, c, x, y = [0], [1], [2], [3], [4]
open('m.txt', 'w').write('m')
open('n.txt', 'w').write('n')
def f(v): return v
def g(v): v.append(1)
def k(v): pass
"""


class _File(io.StringIO):
    def __init__(self, files: dict[str, str], name: str, mode: str) -> None:
        super().__init__(files[name] if mode == "r" else "")
        self._close = (
            (lambda: None) if mode == "r" else (lambda: files.__setitem__(name, self.getvalue()))
        )
        self._close()

    def write(self, text: str) -> int:
        count = super().write(text)
        self._close()
        return count


def _run(cells: list[str], *, whole: bool) -> dict[str, str]:
    """Return the files after the cells; each cell goes on as far as it can, as in a notebook."""
    files: dict[str, str] = {}
    space: dict[str, Any] = {"open": lambda name, mode="r": _File(files, name, mode), "print": id}
    for cell in cells:
        with contextlib.nullcontext() if whole else contextlib.suppress(Exception):
            exec(compile(cell, "cell", "exec"), space)
    return {name: files.get(name, "") for name in (_NAMES.validation, _NAMES.test)}


@given(st.lists(_STATEMENT, max_size=12))
def test_a_derived_script_writes_the_same_submissions(statements: list[str]) -> None:
    """Whatever the cells do with names, aliases, functions and files, the script has the same effect."""
    good = [_START]
    for statement in statements:  # cells that fail are no matter of this test
        try:
            _run([*good, statement], whole=True)
        except Exception:  # noqa: BLE001
            continue
        good.append(statement)
    good.append(_HAND_IN)
    script = derive(_cells(*good))
    assert script.origin is ScriptOrigin.DERIVED
    assert _run([script.text], whole=True) == _run(good, whole=True)


@given(st.lists(_STATEMENT, max_size=8))
def test_a_script_is_a_part_of_its_cells(statements: list[str]) -> None:
    """The script contains only lines of the cells, and all of them if no statement is dropped."""
    cells = [_START, *statements, _HAND_IN]
    text = derive(_cells(*cells)).text
    mine = {line for line in text.splitlines() if line and not line.startswith("# --- ")}
    assert mine <= set("\n".join(cells).splitlines())
    assert all_cells(_cells(*cells)).origin is ScriptOrigin.CELLS
