"""Summarize a campaign for `comind solve`, from its files alone."""

from datetime import datetime
from pathlib import Path
from typing import Any

from comind.adapters.git.refs import campaign_commit
from comind.adapters.mlflow.campaign_runs import campaign_run_id
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import BASELINE_ROLE
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.campaign_view import CampaignView, read_view
from comind.competitions.download.plain_download import is_code_competition
from comind.errors import OrchestrationError


def result_of(project: Path, folder: CampaignFolder) -> dict[str, Any]:
    """Return the JSON values of `comind solve`; None for what is not known yet."""
    view = read_view(folder)
    state, best, spend, tuning = view.state, view.best, view.spend, view.tuning
    sources = _sources(state, state.works.attempt(best.work_id)) if best else []
    source = "baseline" if {each.work.role for each in sources} == {BASELINE_ROLE} else "agent"
    competition = Path(state.spec.competition_folder)
    attempts, scored = view.attempts
    sealed = [work.sealed for work in view.works.values() if work.begun]
    return {
        "campaign": folder.name,
        "competition": state.spec.competition,
        "agent": state.spec.agent,
        "as_of": _time(state.spec.cutoff),
        "deadline": _time(state.spec.closed_at),
        "model": state.spec.model,
        "submission": str(folder.submission) if best else None,
        "upload": str(folder.upload) if folder.upload.is_file() else None,
        "notebook": _script(folder, view) if is_code_competition(competition) else None,
        "journal": str(folder.journal),
        "best_from": source if best else None,
        "picked": best.work_id if best else None,
        "pick_reason": state.picked.reason if state.picked else None,
        "pick_evidence": state.picked.evidence if state.picked else None,
        **{name: getattr(state.picked, name, None) for name in ("folds", "confidence", "shrinkage")},
        "refitted": state.refit() is not None,
        "blend": _blend(state),
        "validation_score": best.score.value.value if best else None,
        "validation_interval": [best.score.interval.low, best.score.interval.high] if best else None,
        "metric": state.split.metric if state.split else None,
        "maximize": state.split.maximize if state.split else None,
        "gradings": tuning.gradings,
        "revealed_bits": round(tuning.bits, 1),
        "optimism": tuning.optimism,
        "flags": [each.model_dump(mode="json") for each in state.flags],
        "attempts": attempts,
        "valid_attempts": scored,
        "rejected": {each.id: f"by {each.rejected}" for each in state.works.rejected()},
        "seconds": round(spend.seconds, 1),
        "proof_seconds": round(state.proof_seconds, 1),
        "tokens": spend.tokens,
        "usd": round(spend.usd, 6),
        "mlflow_run_id": _run_id(project, folder.name),
        "dvc_rev": campaign_commit(project, folder.name),
        "sealed": bool(sealed) and all(each is not False for each in sealed),
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _run_id(project: Path, campaign: str) -> str | None:
    """Return the id of the campaign's run in MLflow; None if there is none, or no server answers."""
    try:
        return campaign_run_id(project, campaign)
    except OrchestrationError:
        return None


def _script(folder: CampaignFolder, view: CampaignView) -> str | None:
    """Return the path of the script that made the delivered submission; None before there is one."""
    found = sorted(folder.work(view.delivered[0]).root.glob("script.*")) if view.delivered else []
    return str(found[0]) if found else None


def _sources(state: CampaignState, picked: Attempt) -> list[Attempt]:
    """Return the attempts whose code made a submission: the members of a blend, else itself."""
    if picked.work.blend is None:
        return [picked]
    return [state.works.attempt(parent) for parent in picked.work.parents]


def _blend(state: CampaignState) -> str | None:
    """Return the blend and its gain, or why there is none; None where none was considered."""
    if state.judged is None:
        return None
    blended = state.works.blend()
    if state.judged.blend is None or blended is None:
        return f"none: {state.judged.reason}"
    return f"{blended.id}, {blended.result}: {state.judged.blend}"
