"""Render a report as one self-contained HTML page, with figures as images."""

import base64
from collections.abc import Iterable
from importlib import resources
from typing import NamedTuple

from markupsafe import Markup

from comind.reporting.sections import ReportSection
from comind.system.html_pages import html_templates, policy_hash

_PACKAGE = "comind.reporting"


class ReportFigure(NamedTuple):
    """A figure as SVG."""

    title: str
    svg: bytes

    @property
    def source(self) -> str:
        """The figure as a data URI; as an image, nothing in it can be active."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}"


def report_page(
    title: str,
    sections: Iterable[ReportSection],
    figures: Iterable[ReportFigure] = (),
    figures_after: int = 1,
) -> str:
    """Return the page as HTML; it loads nothing and runs no script.

    All text is escaped, as it may be written by others or by models. The figures follow the section of
    the number `figures_after`.
    """
    text = (resources.files(_PACKAGE) / "report.css").read_text(encoding="utf-8")
    style = Markup("\n" + text)  # noqa: S704 - a file of ours
    return (
        html_templates(_PACKAGE)
        .get_template("report.html.j2")
        .render(
            title=title,
            sections=list(sections),
            figures=list(figures),
            figures_after=figures_after,
            style=style,
            policy=f"default-src 'none'; style-src {policy_hash(style)}; img-src data:; "
            "base-uri 'none'; form-action 'none'",
        )
    )
