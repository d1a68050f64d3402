"""Truncation by the kind of text, to at most the given tokens."""

import ast
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.llm.templates import Templates
from comind.llm.tokens import count_tokens
from comind.llm.truncate_code import truncate_code
from comind.llm.truncate_description import truncate_description
from comind.llm.truncate_output import truncate_output, truncate_traceback
from comind.llm.truncate_prose import truncate_prose

_SENTENCES = st.lists(
    st.sampled_from(
        [
            "The houses stand in Ames.",
            "Each row of the table is one house, with its size, its year, its street and its price.",
            "Why?",
            "Predict it (i.e. the price, in dollars) as well as you can, e.g. by boosting!",
            "Those who know more than others do, as they have worked there for years, may tell us",
        ]
    ),
    min_size=1,
    max_size=30,
).map(" ".join)
_SIZES = st.integers(min_value=200, max_value=2_000)

_EVALUATION = ("Evaluation", "Evaluation metric", "Metric", "How are submissions scored", "SCORING")
_SUBMISSION = (
    "Submission format",
    "Submission File",
    "How to submit",
    "OUTPUT FORMAT",
)
_DATA = ("Data", "Dataset Description", "Files", "Data fields", "File descriptions", "Columns")
_OTHERS = ("Overview", "Timeline", "Prizes", "Acknowledgements", "About the host", "Citation")


def _of_a_kind(text: str, tokens: int) -> list[str]:
    """Truncate a text as each kind of text."""
    return [
        cut(text, tokens)
        for cut in (
            truncate_description,
            truncate_prose,
            truncate_code,
            truncate_output,
            truncate_traceback,
        )
    ]


@given(st.text(max_size=4_000), st.integers(min_value=16, max_value=400))
def test_no_cut_is_longer_than_asked(text: str, tokens: int) -> None:
    """Any text is unchanged where it fits, and else within the tokens."""
    for cut in _of_a_kind(text, tokens):
        if count_tokens(text) <= tokens:
            assert cut == text
        assert count_tokens(cut) <= tokens


@given(
    st.lists(
        st.sampled_from(
            [
                "# Data\n", "**Evaluation**\n", "Metric: rmse. Or not?\n", "```\n", "\n",
                "<h2>Files</h2>", "x = [1, 2]\n", "def f(a):\n", "    return a\n",
                "class A:\n", "    def g(self): pass\n",
                "Epoch 3: loss 0.2\n", "\rEpoch 4", 'File "/usr/lib/python3/a.py", line 3, in b\n',
                "Cell In[3], line 1\n", "----> 1 f()\n", "ValueError: no\n", "Some words. And more!\n",
            ]
        ),
        max_size=200,
    ).map("".join),
    st.integers(min_value=16, max_value=300),
)  # fmt: skip
def test_text_of_any_kind_is_truncated_to_its_tokens(text: str, tokens: int) -> None:
    """Headings, fences, frames and partial programs in any order are truncated within the tokens."""
    for cut in _of_a_kind(text, tokens):
        assert count_tokens(cut) <= tokens


@st.composite
def _descriptions(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Return a description in one of the styles that hosts use, and the headings that matter."""
    style: Callable[[str], str] = draw(
        st.sampled_from(
            [
                lambda title: f"## {title}\n",
                lambda title: f"###{title} ###\n\n",
                lambda title: f"**{title}**\n",
                lambda title: f"__{title}:__\n\n",
                lambda title: f"<h3 class='x'>{title}</h3>\n",
                lambda title: f"<p><strong>{title}</strong></p>\n",
                lambda title: f"{title}\n{'-' * len(title)}\n",
                lambda title: f"{title}\n\n",
            ]
        )
    )
    wanted = [draw(st.sampled_from(titles)) for titles in (_EVALUATION, _SUBMISSION, _DATA)]
    others = draw(st.lists(st.sampled_from(_OTHERS), unique=True, max_size=5))
    titles = draw(st.permutations([*wanted, *others]))
    sections = [f"{style(title)}{draw(_SENTENCES)}\n\n" for title in titles]
    return f"{draw(_SENTENCES)}\n\n{''.join(sections)}", wanted


@given(_descriptions(), _SIZES)
def test_headings_that_matter_survive(described: tuple[str, list[str]], tokens: int) -> None:
    """From 200 tokens on, the headings of evaluation, submission and data are kept."""
    text, wanted = described
    cut = truncate_description(text, tokens)
    assert count_tokens(cut) <= tokens
    assert [title for title in wanted if title not in cut.partition("(Left out")[0]] == []


def test_evaluation_and_data_survive_truncation_in_their_order() -> None:
    """Evaluation, submission and data are whole where they fit; others are truncated or named."""
    filler = "This is a sentence that nobody needs. " * 40
    text = (
        f"# The great data challenge\n\n{filler}\n\n## Evaluation\n\n"
        "The metric is rmsle. Lower is better.\n\n"
        f"### Details\n\nZeros count.\n\n## Timeline\n\n{filler}\n\n## Prizes\n\n{filler}\n\n"
        "## Submission format\n\n```\nid,price\n1,2\n```\n\n"
        "**Data fields**\n\n- id: a number\n- size: in m2\n"
    )
    cut = truncate_description(text, 200)
    kept = [
        "# The great data challenge", "nobody needs. ...", "The metric is rmsle. Lower is better.",
        "Zeros count.", "```\nid,price\n1,2\n```", "- size: in m2", "(Left out: Timeline, Prizes.)",
    ]  # fmt: skip
    places = [cut.find(each) for each in kept]
    assert -1 not in places
    assert places == sorted(places)


def test_what_only_a_browser_shows_goes_first() -> None:
    """Images, menus and URLs of links are dropped before any word."""
    image = f"![fig](https://storage.example.org/{'media/' * 40}x.png)"
    menu = "link\n\nkeyboard_arrow_up\n\n"
    score = "Scored by [the area under the curve](https://en.wikipedia.org/wiki/AUC), see a[0](1)."
    text = f"## Evaluation\n\n{menu}{image}\n\n{score}\n"
    assert truncate_description(text, 60) == (
        "## Evaluation\n\n\n\nScored by the area under the curve, see a[0](1).\n"
    )


@pytest.mark.parametrize(
    ("title", "kept"),
    [
        ("What do you need to predict?", True),
        ("Kaggle submission format", True),
        ("**Evaluation**", True),
        ("_Folder contents_", True),
        ("Principal Data Engineer at the sponsor", False),
        ("Data Science at the host", False),
        ("Submission deadlines", False),
    ],
)
def test_titles_as_hosts_write_them(title: str, kept: bool) -> None:
    """Important sections are recognised by their titles, and others with a shared word are not."""
    filler = "This is a sentence that nobody needs. " * 60
    text = f"# The challenge\n\n{filler}\n\n### {title}\n\nThe answer is 42.\n\n## Timeline\n\n{filler}"
    assert ("The answer is 42." in truncate_description(text, 200)) is kept


def test_a_line_that_begins_with_its_heading_is_found() -> None:
    """`Metric: rmse` and `**Evaluation**: ...` are sections, too."""
    filler = "This is a sentence that nobody needs. " * 60
    text = (
        f"{filler}\n\n**Evaluation**: Root mean squared error.\n\nData: Two files of houses.\n\n{filler}"
    )
    cut = truncate_description(text, 200)
    assert "**Evaluation**: Root mean squared error." in cut
    assert "Data: Two files of houses." in cut


@given(_SENTENCES, st.integers(min_value=20, max_value=200))
def test_truncated_prose_ends_with_a_sentence(text: str, tokens: int) -> None:
    """Truncated prose is whole sentences from its beginning, or whole words of the first one."""
    cut = truncate_prose(text, tokens)
    if cut != text:
        kept = cut.removesuffix(" ...")
        assert text.startswith(f"{kept} ")
        assert kept[-1] in ".?!" or not set(".?!") & set(kept.replace("i.e.", "").replace("e.g.", ""))


_SIMPLE = st.sampled_from(
    ["x = [1, 2, 3]", "y = x + 1; z = '''a\n  b'''", "print(x)  # shown", "import os", "model.fit(x, y)",
     "@cache\ndef kept(): return 1", "# a comment"]
)  # fmt: skip


def _indented(lines: str) -> str:
    return "\n".join(f"    {line}" for line in lines.split("\n"))


_COMPOUND = st.sampled_from(
    [
        'def first(a, b=2):\n    """Do it."""\n{}',
        "@cache\nasync def second():\n    # why\n{}",
        "class Third(Base):\n    size = 3\n\n{}",
        "if x:\n{}\nelif y:\n    pass\nelse:\n{}",
        "try:\n{}\nexcept ValueError:\n    pass\nfinally:\n{}",
        "for _ in x:\n{}",
        "with x:\n    pass\n{}",
    ]
)
_BODIES = st.recursive(
    st.lists(_SIMPLE, min_size=1, max_size=8).map(lambda body: "\n".join([*body, "pass"])),
    lambda body: st.lists(
        st.one_of(
            _SIMPLE,
            st.tuples(_COMPOUND, body).map(lambda t: t[0].replace("{}", _indented(t[1]))),
        ),
        min_size=1,
        max_size=12,
    ).map(lambda body: "\n\n".join([*body, "submission.to_csv('s.csv')"])),
    max_leaves=30,
)


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


@given(_BODIES.filter(_parses), st.integers(min_value=64, max_value=600))
def test_truncated_programs_stay_python(source: str, tokens: int) -> None:
    """A truncated program whose last statement fits is Python and ends with it."""
    cut = truncate_code(source, tokens)
    assert count_tokens(cut) <= tokens
    ast.parse(cut)
    assert cut.rstrip().endswith(source.rstrip().splitlines()[-1])


_PROGRAM = '''import numpy as np


def helper(x: int) -> int:
    """Return twice x.

    It does so slowly.
    """
    total = 0
    for each in range(x):
        total += 2
    return total


class Features:
    """Make features."""

    def dates(self, rows):
        rows["year"] = rows.date.dt.year
        rows["month"] = rows.date.dt.month
        return rows


def train(rows):
    model = make_model(depth=3, rate=0.1)
    model.fit(rows, rows.target)
    return model


model = train(Features().dates(rows))
submission["price"] = model.predict(test)
submission.to_csv("submission.csv", index=False)
'''


def test_helpers_are_cut_first_and_signatures_stay() -> None:
    """The body of a helper is dropped before one that trains; signature and summary are kept."""
    cut = truncate_code(_PROGRAM, count_tokens(_PROGRAM) - 10)
    expected = _PROGRAM.replace(
        '    """Return twice x.\n\n    It does so slowly.\n    """\n    total = 0\n'
        "    for each in range(x):\n        total += 2\n    return total\n",
        '    """Return twice x."""\n    ...  # 8 lines cut\n',
    )
    assert cut == expected
    less = truncate_code(_PROGRAM, 150)
    assert "model.fit(rows, rows.target)" in less
    assert "def dates(self, rows):\n        ...  # 3 lines cut" in less
    least = truncate_code(_PROGRAM, 60)
    assert least.endswith('submission.to_csv("submission.csv", index=False)\n')
    assert "lines cut" in least


def test_magics_of_a_notebook_do_not_hinder() -> None:
    """A program with IPython magics is truncated by functions, too; other text by lines."""
    source = f"%pip install x\n!ls\n{_PROGRAM}"
    assert "def helper(x: int) -> int:" in truncate_code(source, 120)
    broken = f"{_PROGRAM}\nthis is no Python\n"
    assert truncate_code(broken, 100).endswith("this is no Python\n")
    assert "(cut)" in truncate_code(broken, 100)


def test_scores_and_last_lines_of_an_output_stay() -> None:
    """Lines with scores and the last ones are kept; dropped progress and warnings are counted."""
    epochs = [f"Epoch {number}/99 loss {1 / number:.4f}" for number in range(1, 100)]
    words = ["nothing to see here, only words that go on and on"] * 99
    bars = "\r".join(f"{number}%|####" for number in range(100))
    lines = [
        "fold 1 auc 0.91",
        *epochs,
        *words,
        "a.py:3: FutureWarning: do not",
        bars,
        "CV 0.912",
        "written",
    ]
    cut = truncate_output("\n".join(lines), 160)
    for kept in ("fold 1 auc 0.91\n", "99%|####\n", "CV 0.912\nwritten"):
        assert kept in cut
    assert "98%" not in cut
    assert cut.count("FutureWarning") <= 1
    shown = cut.splitlines()
    missing = sum(int(line.split()[1]) for line in shown if line.endswith(" lines left out"))
    assert missing + sum(not line.endswith(" lines left out") for line in shown) == len(lines)


_PLAIN = """Traceback (most recent call last):
  File "/work/train.py", line 9, in <module>
    fit(rows)
  File "/work/train.py", line 4, in fit
    return model.fit(rows)
  File "/usr/lib/python3.11/site-packages/sklearn/base.py", line 1351, in wrapper
    return fit_method(estimator, *args, **kwargs)
  File "/usr/lib/python3.11/site-packages/sklearn/linear.py", line 1201, in fit
    X, y = self._validate_data(X, y)
ValueError: Input X contains NaN.
LogisticRegression does not accept missing values.
"""
_IPYTHON = """---------------------------------------------------------------------------
ValueError                                Traceback (most recent call last)
Cell In[2], line 4
      2 names = ('train', 'test')
      3 tables = {name: read(name) for name in names}
----> 4 model.fit(tables['train'])

File /usr/lib/python3/dist-packages/sklearn/base.py:1351, in fit(self, X)
   1350 try:
-> 1351     return fit_method(estimator, *args, **kwargs)

ValueError: Input X contains NaN.
"""


@pytest.mark.parametrize(
    ("text", "kept"),
    [(_PLAIN, "    return model.fit(rows)"), (_IPYTHON, "----> 4 model.fit(tables['train'])")],
)
def test_own_lines_and_the_message_of_a_traceback_stay(text: str, kept: str) -> None:
    """Frames inside libraries become a number; our own line and the message are kept."""
    for tokens in (count_tokens(text) - 1, 110, 90):
        cut = truncate_traceback(text, tokens)
        assert kept in cut
        assert "ValueError: Input X contains NaN." in cut
        assert "frames inside libraries left out" in cut
        assert "fit_method" not in cut


def test_a_message_without_end_leaves_room_for_the_line() -> None:
    """A message that is too long loses its middle, and frames keep half of the tokens."""
    cut = truncate_traceback(_PLAIN.replace("Input X", "the keys " + "'some_key', " * 900), 300)
    assert "return model.fit(rows)" in cut
    assert "ValueError: the keys" in cut
    assert "does not accept missing values." in cut


def test_prompts_cut_by_these_filters() -> None:
    """Each kind is a template filter."""
    environment = Templates("comind.llm")._environment
    for kind in ("description", "prose", "code", "output", "traceback"):
        shown = environment.from_string(f"{{{{ text|{kind}(50) }}}}").render(text="A word. " * 99)
        assert count_tokens(shown) <= 50
