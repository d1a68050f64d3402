"""Write the report of a followed competition as Markdown and as an HTML page."""

from pathlib import Path

from comind.following.history import read_days
from comind.following.report import following_sections, score_curves
from comind.following.state import read_following
from comind.reporting.markdown import markdown_report, text_report
from comind.reporting.page import ReportFigure, report_page
from comind.reporting.paper_figures import curves_svg


def following_report(project: Path, slug: str, *, terminal: bool = False) -> str:
    """Return the report as Markdown, or as text for a terminal.

    Raises:
        LogError: the log is corrupt.
    """
    sections = following_sections(read_following(project, slug), read_days(project, slug))
    return (text_report if terminal else markdown_report)(slug, sections)


def following_page(project: Path, slug: str) -> str:
    """Return the report as a self-contained HTML page, with the scores over time.

    Raises:
        LogError: the log is corrupt.
    """
    state, days = read_following(project, slug), read_days(project, slug)
    figures = []
    if curves := score_curves(days):
        metric = state.candidate.validation.metric if state.candidate else "score"
        figures.append(ReportFigure("Scores over time", curves_svg(curves, metric)))
    return report_page(slug, following_sections(state, days), figures)
