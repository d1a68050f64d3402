"""Summarize a campaign as parameters, metrics and plots in the form that DVC reads."""

import csv
import io
import json
from typing import Any

import yaml

from comind.campaign.log.campaign_folders import EXPERIMENT_FOLDER
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.reports.campaign_view import CampaignView

_DVC = {
    "params": ["params.yaml"],
    "metrics": ["metrics.json"],
    "plots": [{"scores.csv": {"x": "attempt", "y": "best", "title": "Best validation score"}}],
}
_PARAMETERS = ("competition", "agent", "model", "seed", "split_seed", "iterations", "coders", "steps")


def experiment_files(view: CampaignView) -> dict[str, str]:
    """Return the files by which `dvc exp show` lists a campaign, by their path in its commit."""
    files = {
        "dvc.yaml": yaml.safe_dump(_DVC, sort_keys=False),
        "params.yaml": yaml.safe_dump(_parameters(view.state), sort_keys=False),
        "metrics.json": json.dumps(_metrics(view), indent=2) + "\n",
        "scores.csv": scores_csv(view),
    }
    return {f"{EXPERIMENT_FOLDER}/{name}": text for name, text in files.items()}


def scores_csv(view: CampaignView) -> str:
    """Return the validation score of each scored attempt or blend, and the best so far, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("attempt", "score", "best"))
    for number, _, score, best in view.curve:
        writer.writerow((number, score.value.value, "" if best is None else best.value))
    return text.getvalue()


def _parameters(state: CampaignState) -> dict[str, Any]:
    spec = state.spec.model_dump(mode="json", include={*_PARAMETERS})
    budget = state.budget.model_dump(mode="json", include={"seconds", "usd", "tokens"})
    return {name: spec[name] for name in _PARAMETERS} | {"budget": budget} | dict(state.spec.parameters)


def _metrics(view: CampaignView) -> dict[str, Any]:
    best, spend, (attempts, scored) = view.best, view.spend, view.attempts
    return {
        "validation_score": best.score.value.value if best is not None else None,
        "attempts": attempts,
        "valid_attempts": scored,
        "seconds": round(spend.seconds, 1),
        "tokens": spend.tokens,
        "usd": round(spend.usd, 6),
    }
