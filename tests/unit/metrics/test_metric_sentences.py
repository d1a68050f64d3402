"""A metric is taken from a page only where the whole sentence that names it is understood."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from comind.metrics import known_metric
from comind.metrics.metric_names import match_metric

_SENTENCES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "fixtures" / "metric_sentences.yaml").read_text()
)


@pytest.mark.parametrize("case", _SENTENCES, ids=lambda case: case["says"][:60])
def test_a_sentence_names_a_metric_or_is_asked_about(case: dict[str, Any]) -> None:
    """Nothing that the sentence says beside the name is dropped, and it is quoted."""
    page = (
        f"# A competition\n\nWhat it is about.\n\n## Evaluation\n\n{case['says']}\n\n## Rules\n\nNone.\n"
    )
    targets = [f"target_{number}" for number in range(case.get("targets", 1))]
    match = match_metric("", page, targets)
    assert match.metric == case["metric"], match
    if match.metric:
        assert known_metric(match.metric)
        assert match.sentence.split()[0] in case["says"]
