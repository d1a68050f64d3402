"""Adapt a public notebook to our split, so that one run predicts validation and test rows.

The untrusted notebook runs unchanged in a folder that looks like Kaggle's. There `test.csv` has the rows
of our validation.csv followed by those of test.csv, as does the sample submission. Its predictions are
split by ids afterwards. None of its files contains validation labels. All of it is code in cells, so it
is part of the attempt's script.
"""

import re
import warnings
from collections.abc import Iterable
from typing import NamedTuple

from comind.agents.comind.conversation import TEMPLATES
from comind.domain.draft import Draft
from comind.domain.problem import DataShape, Problem
from comind.system.syntax import parse_python

MAX_CHARACTERS = 60_000
"""Length at which a notebook is truncated, and so cannot be run."""

_MOST_ROWS = 1_000_000
_ROOT = "kaggle/input"
_TABLES = (DataShape.TABLE, DataShape.TEXT, DataShape.TEXT_TO_TEXT, DataShape.PANEL)
_USUAL = ("train.csv", "test.csv", "sample_submission.csv")
_MOST_NAMES = 40
# Plotting packages: many are not installed, and older plots fail with newer versions.
_DRAWING = (
    *("altair", "autoviz", "bokeh", "chart_studio", "cufflinks", "dtale", "folium", "graphviz"),
    *("holoviews", "joypy", "kaggle_no_plots", "matplotlib", "missingno", "mpl_toolkits"),
    *("pandas_profiling", "plotly", "plotnine", "pydotplus", "pylab", "seaborn", "squarify"),
    *("sweetviz", "wordcloud", "ydata_profiling"),
)

_INPUT = re.compile(r"(?<![\w./])(?:/kaggle/input|(?:\.\./)+input|\./input)(?=[/\"'\s)])")
_WORKING = re.compile(r"(?<![\w./])/kaggle/(?:working|temp)(?=[/\"'\s)])")
_PACKED = re.compile(r"([\w-]*(?:train|test|sample)[\w-]*\.csv)\.(?:zip|gz|bz2)(?=[\"'])", re.IGNORECASE)
_NAMED = re.compile(rf"{_ROOT}/([\w.-]+)(?:/([\w.-]+))?")
_CSV = re.compile(r"[/\"'}]([\w-][\w.-]*\.csv)[\"']")
_READ = re.compile(r"read_csv\(\s*[\"'](?:\./)?([\w.-]+\.csv)[\"']")
_WRITTEN = re.compile(r"to_csv\(\s*[\"'](?:\./)?([\w.-]+\.csv)[\"']")
_WRITES = re.compile(r"to_csv|savetxt|write_csv|csv\.writer|\.write\(")
_HAS_ENDING = re.compile(r"\.[A-Za-z]\w{0,6}$")

_CELL = re.compile(r"(?m)^(?=# %%(?:\s|$))")
_CELL_MAGIC = re.compile(r"\A((?:# %%[^\n]*\n)?\s*)(?:# ?)?%%(\w+)[^\n]*")
_HARMLESS_MAGICS = {"time", "timeit", "capture", "prun"}
_OF_IPYTHON = re.compile(r"(?m)^([ \t]*)get_ipython\(\)\..*$")
_LINES = (
    (re.compile(r"(?m)^([ \t]*)([\w., ]+=)[ \t]*[!%][A-Za-z].*$"), r"\1\2 []"),
    (re.compile(r"(?m)^([ \t]*)[!%?].*$"), r"\1pass"),
    (re.compile(r"(?m)^([ \t]*)[^#\n\"']*\?[ \t]*$"), r"\1pass"),
)
_COMMENTED = re.compile(r"(?m)^([ \t]+)# [!%].*$")  # may be all of a block in a stored notebook


class AdaptedNotebook(NamedTuple):
    """A notebook as three cells, or the reason why it cannot be adapted."""

    before: str = ""
    """Creates the folder that the notebook expects."""
    program: str = ""
    """The notebook with its paths changed and without what only IPython understands."""
    after: str = ""
    """Splits its predictions into the two submissions."""
    refused: str = ""
    """Why it cannot be adapted, in one line."""


def adapt_notebook(problem: Problem, draft: Draft) -> AdaptedNotebook:
    """Return the notebook that a draft starts from as cells that can run here."""
    refused = _refusal(problem, draft)
    if refused:
        return AdaptedNotebook(refused=refused)
    program = _without_magics(draft.codebase)
    fault = _syntax_error(program)
    if fault:
        return AdaptedNotebook(refused=f"it is no plain Python: {fault}")
    program = _WORKING.sub(".", _PACKED.sub(r"\1", _INPUT.sub(_ROOT, program)))
    mounted = {ref.partition("/")[2]: ref for ref in draft.inputs if "/" in ref}
    datasets = [(name, f"input/{ref}") for name, ref in mounted.items()]
    datasets += [(f"datasets/{ref}", f"input/{ref}") for ref in mounted.values()]
    named = _CSV.findall(program)
    before = TEMPLATES.render(
        "notebook_before",
        problem=problem,
        folder=f"{_ROOT}/{problem.competition}",
        files=_safe_names(name for name in named if name not in _USUAL),
        folders=_safe_names(_folders(program) - {problem.competition, *mounted}),
        datasets=datasets,
        bare=_safe_names(
            (set(named) & {*_USUAL, *_READ.findall(program)}) - set(_WRITTEN.findall(program))
        ),
        drawing=_DRAWING,
    )
    return AdaptedNotebook(before, program, TEMPLATES.render("notebook_after", problem=problem))


def _refusal(problem: Problem, draft: Draft) -> str:
    """Return why a notebook cannot be adapted, before parsing it."""
    if "python" not in draft.notebook.lower():
        return f"it is written in {draft.notebook}"
    if problem.shape not in _TABLES:
        return f"the competition is about {problem.shape.value}, not about tables alone"
    if problem.train_rows + problem.validation_rows + problem.test_rows > _MOST_ROWS:
        return f"the tables have more than {_MOST_ROWS} rows"
    if len(draft.codebase) >= MAX_CHARACTERS:
        return f"it has more than {MAX_CHARACTERS} characters"
    if not _WRITES.search(draft.codebase):
        return "it writes no file of predictions"
    return ""


def _without_magics(source: str) -> str:
    """Remove magics and shell lines from a notebook, as far as needed to parse it.

    A line that begins with `%` can also continue an expression, so valid Python is left as it is.
    """
    code = "".join(_without_magic(cell) for cell in _CELL.split(source))
    code = _OF_IPYTHON.sub(r"\1pass", code)
    if not _syntax_error(code):
        return code
    for pattern, plain in _LINES:
        code = pattern.sub(plain, code)
    return _COMMENTED.sub(r"\1pass", code) if _syntax_error(code) else code


def _without_magic(cell: str) -> str:
    """Remove the magic of a cell, or all of a cell in another language."""
    found = _CELL_MAGIC.match(cell)
    if found is None:
        return cell
    body = cell[found.end() :] if found[2] in _HARMLESS_MAGICS else "\n"
    return f"{found[1]}# {found[2]}{body}"


def _syntax_error(code: str) -> str:
    """Return why a text is not Python, and in which line; empty if it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as an invalid escape sequence in a string
            parse_python(code)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    # Untrusted code may contain null bytes or be too deep for the parser.
    except (ValueError, RecursionError, MemoryError) as error:
        return type(error).__name__
    return ""


def _folders(program: str) -> set[str]:
    """Return the folders that a program names directly below Kaggle's input folder."""
    found = set()
    for first, second in _NAMED.findall(program):
        if first == "competitions" and second:
            found.add(f"{first}/{second}")
        elif first not in ("competitions", "datasets") and not _HAS_ENDING.search(first):
            found.add(first)
    return found


def _safe_names(names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if ".." not in name})[:_MOST_NAMES]
