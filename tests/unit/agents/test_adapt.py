"""A public notebook, adapted to our split and really run, predicts both sets of rows in one run."""

import contextlib
import csv
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.agents.comind.adapt import AdaptedNotebook, adapt_notebook
from comind.campaign.log.work_events import SubmissionNames
from comind.campaign.script.cells import RanCell
from comind.campaign.script.derive import derive
from comind.domain.draft import Draft
from comind.domain.problem import DataShape
from tests.examples import examples
from tests.unit.agents.samples import PROBLEM

_NOTEBOOK = """\
# %% [markdown]
# # A line, with love

# %%
# %%time
import os
import numpy as np, pandas as pd
for folder, _, files in os.walk('/kaggle/input'):
    print(folder, sorted(files))
# !pip install magic
# %matplotlib inline

# %%
# %%bash
ls -l ../input

# %%
train = pd.read_csv('../input/demo/train.csv')
test = pd.read_csv(os.path.join('../input', 'demo', "test.csv"))
sample = pd.read_csv('/kaggle/input/another-name/gender_submission.csv')
assert list(pd.read_csv('../input/train.csv.zip').columns) == list(train.columns)
assert len(pd.read_csv('test.csv')) == len(pd.read_csv('../input/test.csv')) == len(test) == len(sample)
with open('../input/extra-rows/rows.txt') as file:
    extra = file.read()
if len(train):
    # !nvidia-smi
    get_ipython().system('ls')
slope = np.polyfit(train['x'], train['label'], 1)

# %%
sample['label'] = np.polyval(slope, test['x'])
sample.to_csv('/kaggle/working/submission.csv', index=False)
"""


def _draft(source: str = _NOTEBOOK, **values: Any) -> Draft:
    given = {"notebook": "python", "inputs": ("ada/notebook", "ada/extra-rows"), **values}
    return Draft.model_validate({"title": "t", "method": "m", "codebase": source, **given})


def _write(file: Path, header: list[str], rows: list[list[object]]) -> None:
    with file.open("w", newline="") as lines:
        csv.writer(lines, lineterminator="\n").writerows([header, *rows])


def _lay_out(root: Path, validation: list[str], test: list[str]) -> None:
    """Write an attempt's files below `input/`."""
    data = root / "input" / "demo"
    data.mkdir(parents=True)
    _write(data / "train.csv", ["id", "x", "label"], [[f"t{n}", n, 2 * n + 1] for n in range(5)])
    for name, sample, ids in (
        ("validation.csv", "sample_validation_submission.csv", validation),
        ("test.csv", "sample_submission.csv", test),
    ):
        _write(data / name, ["id", "x"], [[each, number] for number, each in enumerate(ids)])
        _write(data / sample, ["id", "label"], [[each, 0] for each in ids])
    (root / "input" / "ada" / "extra-rows").mkdir(parents=True)
    (root / "input" / "ada" / "extra-rows" / "rows.txt").write_text("more")


def _run(program: str, root: Path) -> None:
    """Run a program in a folder in a new interpreter."""
    command = [sys.executable, "-W", "ignore", "-c", program]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise ValueError(ran.stderr)


def _run_here(cells: AdaptedNotebook, root: Path) -> None:
    """Run cells in this interpreter with its own packages, without doubles."""
    before, names = Path.cwd(), {"__name__": "__main__"}
    plain = cells.before.replace("\nkaggle_stand_ins()\n", "\n")
    os.chdir(root)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile("\n".join((plain, *cells[1:3])), "notebook", "exec"), names)
    finally:
        os.chdir(before)


def _rows(file: Path) -> list[list[str]]:
    with file.open(newline="") as lines:
        return list(csv.reader(lines))


def test_one_run_of_a_notebook_predicts_both_parts(tmp_path: Path) -> None:
    """A notebook that reads Kaggle's paths and writes one file submits both, with the right ids."""
    _lay_out(tmp_path, ["v0", "v1", "v2"], ["a0", "a1"])
    adapted = adapt_notebook(PROBLEM, _draft())
    assert adapted.refused == ""
    _run("\n".join(adapted[:3]), tmp_path)
    predicted = _rows(tmp_path / "validation_submission.csv")
    assert [row[0] for row in predicted] == ["id", "v0", "v1", "v2"]
    assert [round(float(row[1])) for row in predicted[1:]] == [1, 3, 5]
    predicted = _rows(tmp_path / "submission.csv")
    assert [row[0] for row in predicted] == ["id", "a0", "a1"]
    assert [round(float(row[1])) for row in predicted[1:]] == [1, 3]
    found = {path.name for path in (tmp_path / "kaggle" / "input" / "demo").iterdir()}
    assert found >= {"train.csv", "test.csv", "sample_submission.csv", "gender_submission.csv"}
    assert not found & {"validation.csv", "sample_validation_submission.csv"}


def test_the_derived_script_does_the_same(tmp_path: Path) -> None:
    """The derived script of such an attempt writes the same two files elsewhere."""
    adapted = adapt_notebook(PROBLEM, _draft())
    cells = [
        RanCell(step, "a goal", code, 0, SubmissionNames())
        for step, code in enumerate(adapted[:3], start=1)
    ]
    script = derive(cells)
    assert script.plain
    for name, program in (("cells", "\n".join(adapted[:3])), ("script", script.text)):
        _lay_out(tmp_path / name, ["v0", "v1"], ["a0"])
        _run(program, tmp_path / name)
    for file in ("validation_submission.csv", "submission.csv"):
        assert (tmp_path / "cells" / file).read_bytes() == (tmp_path / "script" / file).read_bytes()


_CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
_IDS = st.lists(
    st.text(_CHARACTERS, min_size=1, max_size=6).filter(
        lambda text: text.strip() == text and not text.endswith("0")
    ),
    unique=True,
    min_size=2,
    max_size=12,
)
_COPIES = """\
import csv
with open('../input/demo/test.csv', newline='', encoding='utf-8') as file:
    rows = list(csv.reader(file))
with open('mine.csv', 'w', newline='', encoding='utf-8') as file:
    csv.writer(file).writerows([['x', 'label', 'id']] + [[0, x, i] for i, x in rows[:0:-1]])
"""


@given(ids=_IDS, data=st.data())
@examples(25)
def test_the_two_files_are_a_partition(ids: list[str], data: st.DataObject) -> None:
    """For any ids, each requested row is in exactly one of the two files, with its prediction."""
    cut = data.draw(st.integers(1, len(ids) - 1))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _lay_out(root, ids[:cut], ids[cut:])
        _run_here(adapt_notebook(PROBLEM, _draft(_COPIES)), root)
        for file, part in (("validation_submission.csv", ids[:cut]), ("submission.csv", ids[cut:])):
            assert _rows(root / file)[1:] == [[each, str(n)] for n, each in enumerate(part)]


@pytest.mark.parametrize(
    ("validation", "test", "seen"),
    [
        (["1", "2"], ["2.0", "3"], ["4", "5"]),
        (["a", "b"], ["b", "c"], ["validation_a", "validation_b"]),
    ],
    ids=["numbers", "texts"],
)
def test_validation_rows_whose_ids_stand_in_test_get_others(
    validation: list[str], test: list[str], seen: list[str], tmp_path: Path
) -> None:
    """The notebook sees ids that differ, and what is handed in has the rows' own."""
    _lay_out(tmp_path, validation, test)
    _run_here(adapt_notebook(PROBLEM, _draft(_COPIES)), tmp_path)
    both = _rows(tmp_path / "kaggle" / "input" / "demo" / "test.csv")
    assert [row[0] for row in both[1:]] == [*seen, *test]
    for file, part in (("validation_submission.csv", validation), ("submission.csv", test)):
        assert [row[0] for row in _rows(tmp_path / file)[1:]] == part


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("pass", "no CSV file was written"),
        ("test[['id']].to_csv('submission.csv', index=False)", "has not the columns id, label"),
        ("sample.head(2).to_csv('submission.csv', index=False)", "has other ids than"),
    ],
)
def test_what_cannot_be_split_is_said(written: str, reason: str, tmp_path: Path) -> None:
    """Without predictions for all rows the last cell fails and states what is missing."""
    _lay_out(tmp_path, ["v0"], ["a0", "a1"])
    source = _NOTEBOOK.replace("sample.to_csv('/kaggle/working/submission.csv', index=False)", written)
    adapted = adapt_notebook(PROBLEM, _draft(source + "\n# to_csv"))
    with pytest.raises(ValueError, match=reason):
        _run_here(adapted, tmp_path)


def test_an_older_file_is_not_split_again(tmp_path: Path) -> None:
    """A second split takes the file written since the first, and the same cells can run twice."""
    _lay_out(tmp_path, ["v0"], ["a0"])
    adapted = adapt_notebook(PROBLEM, _draft(_COPIES))
    _run_here(adapted, tmp_path)
    twice = adapted._replace(after=f"{adapted.after}\nsplit_submission()")
    with pytest.raises(ValueError, match="no CSV file was written"):
        _run_here(twice, tmp_path)


_PLOTS = """\
import matplotlib.pyplot as plt, seaborn as sns
from mpl_toolkits.mplot3d import Axes3D
import numpy as np
import pandas as pd
plt.style.use('seaborn-v0_0')
figure, ((left, right), below) = plt.subplots(2, 2)
counts, edges, patches = plt.hist([1, 2])
for patch in right.patches:
    raise AssertionError
sns.distplot([1.0], ax=left).set(ylim=left.get_ylim()[1] * 1.1)
with plt.xkcd():
    plt.rcParams['figure.dpi'] = 10
train = pd.read_csv("train.csv")
train.plot(kind='box')
train.hist()
both = train.append({'id': 'x'}, ignore_index=True).append(train)
assert len(both) == 2 * len(train) + 1
sub = pd.read_csv("my_sample.csv")
sub['label'] = np.zeros(len(sub), dtype=np.int)
sub.to_csv('submission.csv', index=False)
"""


def test_plots_and_removed_names_stop_nothing(tmp_path: Path) -> None:
    """Old programs run: plotting packages are stubbed, and names that packages dropped are restored."""
    _lay_out(tmp_path, ["v0"], ["a0"])
    adapted = adapt_notebook(PROBLEM, _draft(_PLOTS))
    _run("\n".join(adapted[:3]), tmp_path)
    assert _rows(tmp_path / "submission.csv") == [["id", "label"], ["a0", "0"]]
    cells = [RanCell(n, "g", each, 0, SubmissionNames()) for n, each in enumerate(adapted[:3])]
    _run(derive(cells).text, tmp_path)


@pytest.mark.parametrize(
    ("source", "values", "problem", "reason"),
    [
        (_NOTEBOOK, {"notebook": "rmarkdown"}, {}, "it is written in rmarkdown"),
        (_NOTEBOOK, {}, {"shape": DataShape.IMAGES}, "the competition is about images"),
        (_NOTEBOOK, {}, {"train_rows": 2_000_000}, "more than 1000000 rows"),
        ("x = 1\n" * 20_000, {}, {}, "more than 60000 characters"),
        ("print('hello')", {}, {}, "it writes no file of predictions"),
        ("def f(:\n  x.to_csv('s.csv')", {}, {}, "it is no plain Python: line 1: "),
        ("x.to_csv('\0')", {}, {}, "it is no plain Python: "),
    ],
)
def test_what_cannot_be_adapted_says_why(
    source: str, values: dict[str, Any], problem: dict[str, Any], reason: str
) -> None:
    """A notebook in another language, for other data or with a syntax error is refused in one line."""
    adapted = adapt_notebook(PROBLEM.model_copy(update=problem), _draft(source, **values))
    assert reason in adapted.refused
    assert adapted == AdaptedNotebook(refused=adapted.refused)
    assert "\n" not in adapted.refused


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("!pip install x", "pass"),
        ("files = !ls", "files = []"),
        ("%timeit f(x)", "pass"),
        ("train?", "pass"),
        ("if x:\n    # !pip install x", "if x:\n    pass"),
        ("get_ipython().run_line_magic('matplotlib', 'inline')", "pass"),
        ("text = ('%s'\n% 'a')", "text = ('%s'\n% 'a')"),
        ("a = 'C:/kaggle/input.csv'", "a = 'C:/kaggle/input.csv'"),
        ("a = '../../input/x'", "a = 'kaggle/input/x'"),
        ('a = "/kaggle/working/m.bin"', 'a = "./m.bin"'),
    ],
)
def test_only_what_is_not_python_changes(line: str, plain: str) -> None:
    """Magics, shell lines and Kaggle's paths are replaced; other code is unchanged."""
    source = f"x = 1\n{line}\nsub.to_csv('submission.csv')\n"
    assert (
        adapt_notebook(PROBLEM, _draft(source)).program
        == f"x = 1\n{plain}\nsub.to_csv('submission.csv')\n"
    )
