"""What a competition's folder says of it, written from Kaggle's facts and pages."""

import hashlib
import re
from collections.abc import Sequence

import yaml

from comind.kaggle.metrics import Reading, read_metric
from comind.kaggle.port import CompetitionFacts, LeaderboardRow, Page, number
from comind.kaggle.tables import Form
from comind.system.markup import html_to_text

__all__ = ["competition_yaml", "description", "numbers_of", "page_named", "pages_hash"]

_ORDER = ("overview", "description", "evaluation", "data-description", "data", "timeline")
_NOT_TOLD = ("rules", "prizes", "citation", "acknowledgements", "faq", "abstract")
_MANY_TARGETS = 20


def description(facts: CompetitionFacts, pages: Sequence[Page]) -> str:
    """Return `description.md`: the pages that say what is to be done, and how it is scored."""
    parts = [f"# {facts.title}"]
    if facts.summary:
        parts.append(facts.summary)
    told = [page for page in pages if _name(page) not in _NOT_TOLD and page.content.strip()]
    told.sort(key=lambda page: _ORDER.index(_name(page)) if _name(page) in _ORDER else len(_ORDER))
    parts += [f"## {page.name}\n\n{html_to_text(page.content).strip()}" for page in told]
    if facts.metric:
        parts.append(f"Kaggle's name for the metric: {facts.metric}")
    return "\n\n".join(parts) + "\n"


def competition_yaml(
    facts: CompetitionFacts, pages: Sequence[Page], form: Form, scores: Sequence[float]
) -> tuple[str, Reading]:
    """Return `competition.yaml` as text, and how the metric was read."""
    reading = read_metric(facts.metric, page_named(pages, "evaluation"), form.target_columns, scores)
    many = len(form.target_columns) > _MANY_TARGETS
    values: dict[str, object] = {"id": facts.slug, "title": facts.title}
    if reading.metric:
        values["metric"] = reading.metric
    values["id_columns"] = list(form.id_columns)
    if form.train_id_columns:
        values["train_id_columns"] = list(form.train_id_columns)
    values["label_columns"] = list(form.label_columns)
    values["target_columns"] = "sample_submission" if many else list(form.target_columns)
    if facts.deadline:
        values["deadline"] = facts.deadline.isoformat()
    said = " ".join(f"# From {facts.url}; metric: {reading.reason}.".split())
    head = f"{said}\n# Change this file freely: it is not written again then.\n"
    return head + yaml.safe_dump(values, sort_keys=False, allow_unicode=True), reading


def page_named(pages: Sequence[Page], name: str) -> str:
    """Return the text of the page of this name, or nothing."""
    return next((html_to_text(page.content).strip() for page in pages if _name(page) == name), "")


def pages_hash(pages: Sequence[Page], name: str | None = None) -> str:
    """Return the SHA-256 of all pages, or of the one of this name; of nothing where it is not there."""
    wanted = [page for page in pages if name in (None, _name(page))]
    texts = sorted(f"{page.name}\0{page.content}" for page in wanted)
    return hashlib.sha256("\0\0".join(texts).encode()).hexdigest()


def numbers_of(rows: Sequence[LeaderboardRow]) -> list[float]:
    """Return the scores of a leaderboard that are numbers, best first."""
    found = (number(row.score.replace(",", "")) for row in rows)
    return [score for score in found if score is not None]


def _name(page: Page) -> str:
    return "-".join(re.sub(r"[^a-z0-9]+", " ", page.name.lower()).split())
