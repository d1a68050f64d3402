"""description.md and competition.yaml from Kaggle's facts."""

import yaml

from comind.competitions.download.table_roles import TableColumns
from comind.kaggle.describe import competition_yaml, description, numeric_scores, pages_hash
from comind.kaggle.port import LeaderboardRow, Page
from tests.unit.kaggle.world import tiny_world

FACTS = tiny_world().facts


def test_html_becomes_text() -> None:
    """HTML pages become plain text; lists stay lists."""
    page = Page(
        name="Description",
        content="<p>Guess &amp; win <b>now</b></p><ul><li>one</li><li>two</li></ul><script>x()</script>",
    )
    told = description(FACTS, [page])
    assert "Guess & win now" in told
    assert "- one\n- two" in told
    assert "x()" not in told
    assert "<" not in told


def test_markdown_stays_as_it_is() -> None:
    """Comparisons and formulas are not taken for tags."""
    content = "Where $a < b$ and\n\n| x | y |\n|---|---|"
    assert content in description(FACTS, [Page(name="data", content=content)])


def test_many_targets_are_the_samples() -> None:
    """Many target columns are not listed."""
    form = TableColumns(
        id_columns=("id",), label_columns=("y",), target_columns=tuple(f"c{n}" for n in range(50))
    )
    text, _ = competition_yaml(FACTS, [], form, [])
    assert yaml.safe_load(text)["target_columns"] == "sample_submission"


def test_a_strange_title_breaks_nothing() -> None:
    """Any text from Kaggle is one YAML value, and the comment one line."""
    facts = FACTS.model_copy(update={"title": 'a: "b" # c\nid: other', "metric": "x\nid: other"})
    form = TableColumns(id_columns=("id",), label_columns=("y",), target_columns=("y",))
    values = yaml.safe_load(competition_yaml(facts, [], form, [])[0])
    assert values["id"] == FACTS.slug
    assert values["title"] == facts.title


def test_hashes_of_pages() -> None:
    """The hash of pages depends on their text, not on their order."""
    one, other = Page(name="Rules", content="a"), Page(name="data", content="b")
    assert pages_hash([one, other]) == pages_hash([other, one])
    assert pages_hash([one, other], "rules") == pages_hash([one], "rules")
    assert pages_hash([one]) != pages_hash([one.model_copy(update={"content": "c"})])


def test_scores_that_are_numbers() -> None:
    """Scores may have thousands separators; others than numbers are left out."""
    rows = [LeaderboardRow(team="t", score=score) for score in ("1,234.5", "-", "", "nan", "inf", "2")]
    assert numeric_scores(rows) == [1234.5, 2.0]
