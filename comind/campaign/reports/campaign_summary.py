"""Summarize a campaign as parameters, metrics and plots in the form that DVC reads."""

import csv
import io
import json
from typing import Any

import yaml

from comind.campaign.log.campaign_folders import EXPERIMENT_FOLDER
from comind.campaign.log.campaign_state import CampaignState

_DVC = {
    "params": ["params.yaml"],
    "metrics": ["metrics.json"],
    "plots": [{"scores.csv": {"x": "attempt", "y": "best", "title": "Best validation score"}}],
}
_PARAMETERS = ("competition", "agent", "model", "seed", "split_seed", "iterations", "coders", "steps")


def experiment_files(state: CampaignState) -> dict[str, str]:
    """Return the files by which `dvc exp show` lists a campaign, by their path in its commit."""
    files = {
        "dvc.yaml": yaml.safe_dump(_DVC, sort_keys=False),
        "params.yaml": yaml.safe_dump(_parameters(state), sort_keys=False),
        "metrics.json": json.dumps(_metrics(state), indent=2) + "\n",
        "scores.csv": scores_csv(state),
    }
    return {f"{EXPERIMENT_FOLDER}/{name}": text for name, text in files.items()}


def scores_csv(state: CampaignState) -> str:
    """Return the validation score of each scored attempt, and the best so far, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("attempt", "score", "best"))
    best = None
    for number, attempt in enumerate(state.works.attempts()):
        if attempt.score is None:
            continue
        value = attempt.score.value
        if not attempt.rejected and value.better_than(best):
            best = value
        writer.writerow((number, value.value, "" if best is None else best.value))
    return text.getvalue()


def _parameters(state: CampaignState) -> dict[str, Any]:
    spec = state.spec.model_dump(mode="json", include={*_PARAMETERS})
    budget = state.budget.model_dump(mode="json", include={"seconds", "usd", "tokens"})
    return {name: spec[name] for name in _PARAMETERS} | {"budget": budget} | dict(state.spec.parameters)


def _metrics(state: CampaignState) -> dict[str, Any]:
    best, attempts = state.chosen(), state.works.attempts()
    score = best.score if best is not None else None
    return {
        "validation_score": score.value.value if score is not None else None,
        "attempts": len(attempts),
        "valid_attempts": sum(1 for each in attempts if each.score is not None),
        "seconds": round(state.spend.seconds, 1),
        "tokens": state.spend.tokens,
        "usd": round(state.spend.usd, 6),
    }
