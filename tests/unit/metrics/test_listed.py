"""Every metric is documented: `python -m tests.unit.metrics.test_listed` writes the list of the page."""

import re
from pathlib import Path

from comind.metrics import METRICS

_PAGE = Path(__file__).parents[3] / "docs" / "competition-folder.md"
_HEAD = "| name | better | the target columns hold | equals |\n|---|---|---|---|\n"


def _listed(page: str) -> str:
    """Return the page with a line for each metric: direction, answer type and reference."""
    lines = [
        f"| `{name}` | {'higher' if metric.maximize else 'lower'} | "
        f"{metric.answer_kind.value.replace('-', ' ')} | {metric.reference} |\n"
        for name, metric in sorted(METRICS.items())
    ]
    pattern = re.escape(_HEAD) + r"(?:\|.*\n)+"
    return re.sub(pattern, lambda _: _HEAD + "".join(lines), page, count=1)


def test_each_metric_is_listed() -> None:
    """The page lists the direction and the answer type of each metric."""
    page = _PAGE.read_text()
    assert page == _listed(page), "run python -m tests.unit.metrics.test_listed"


if __name__ == "__main__":
    _PAGE.write_text(_listed(_PAGE.read_text()))
