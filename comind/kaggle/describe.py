"""Write `description.md` and `competition.yaml` from the facts and pages of a competition."""

import hashlib
import re
from collections.abc import Sequence

import yaml

from comind.competitions.download.table_roles import TableColumns
from comind.kaggle.port import CompetitionFacts, LeaderboardRow, Page, parse_score
from comind.metrics.metric_names import MetricMatch, match_metric
from comind.system.markup import html_to_text

_ORDER = ("overview", "description", "evaluation", "data-description", "data", "timeline")
_OMITTED = ("rules", "prizes", "citation", "acknowledgements", "faq", "abstract")
_MANY_TARGETS = 20


def description(facts: CompetitionFacts, pages: Sequence[Page]) -> str:
    """Return the text of `description.md`: the pages on the task, its data and its evaluation."""
    parts = [f"# {facts.title}"]
    if facts.summary:
        parts.append(facts.summary)
    shown = [page for page in pages if _name(page) not in _OMITTED and page.content.strip()]
    shown.sort(key=lambda page: _ORDER.index(_name(page)) if _name(page) in _ORDER else len(_ORDER))
    parts += [f"## {page.name}\n\n{html_to_text(page.content).strip()}" for page in shown]
    if facts.metric:
        parts.append(f"Kaggle's name for the metric: {facts.metric}")
    return "\n\n".join(parts) + "\n"


def competition_yaml(
    facts: CompetitionFacts, pages: Sequence[Page], columns: TableColumns, scores: Sequence[float]
) -> tuple[str, MetricMatch]:
    """Return the text of `competition.yaml`, and the metric that was matched."""
    evaluation = (html_to_text(page.content).strip() for page in pages if _name(page) == "evaluation")
    match = match_metric(facts.metric, next(evaluation, ""), columns.target_columns, scores)
    many = len(columns.target_columns) > _MANY_TARGETS
    values: dict[str, object] = {"id": facts.slug, "title": facts.title}
    if match.metric:
        values["metric"] = match.metric
    values["id_columns"] = list(columns.id_columns)
    if columns.train_id_columns:
        values["train_id_columns"] = list(columns.train_id_columns)
    values["label_columns"] = list(columns.label_columns)
    values["target_columns"] = "sample_submission" if many else list(columns.target_columns)
    if facts.deadline:
        values["deadline"] = facts.deadline.isoformat()
    source = " ".join(f"# From {facts.url}; metric: {match.reason}.".split())
    head = f"{source}\n# Change this file freely: it is not written again then.\n"
    return head + yaml.safe_dump(values, sort_keys=False, allow_unicode=True), match


def pages_hash(pages: Sequence[Page], name: str | None = None) -> str:
    """Return the SHA-256 of all pages, or of the one called `name`, which may be missing."""
    wanted = [page for page in pages if name in (None, _name(page))]
    texts = sorted(f"{page.name}\0{page.content}" for page in wanted)
    return hashlib.sha256("\0\0".join(texts).encode()).hexdigest()


def numeric_scores(rows: Sequence[LeaderboardRow]) -> list[float]:
    """Return the scores of a leaderboard that are numbers, best first."""
    found = (parse_score(row.score.replace(",", "")) for row in rows)
    return [score for score in found if score is not None]


def _name(page: Page) -> str:
    return "-".join(re.sub(r"[^a-z0-9]+", " ", page.name.lower()).split())
