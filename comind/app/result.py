"""Summarize a campaign for `comind solve`, from its files alone."""

from datetime import datetime
from pathlib import Path
from typing import Any

from comind.adapters.git.refs import campaign_commit
from comind.adapters.mlflow.campaign import campaign_run_id
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import BASELINE_ROLE
from comind.campaign.log.work_items import Attempt
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.loop import read_state
from comind.campaign.reports.tuning import tuning_of
from comind.competitions.download.plain_download import is_code_competition
from comind.errors import OrchestrationError


def result_of(project: Path, folder: CampaignFolder) -> dict[str, Any]:
    """Return the JSON values of `comind solve`; None for what is not known yet."""
    state = read_state(folder)
    picked = state.chosen()
    score = picked.score if picked else None
    attempts = state.works.attempts()
    sources = _sources(state, picked) if picked else []
    source = "baseline" if {each.work.role for each in sources} == {BASELINE_ROLE} else "agent"
    works = {log.parent.name: WORK_LOG.read(log) for log in folder.logs()}
    competition = Path(state.spec.competition_folder)
    ran, tuning = list(works.values()), tuning_of(state, works)
    return {
        "campaign": folder.name,
        "competition": state.spec.competition,
        "agent": state.spec.agent,
        "as_of": _time(state.spec.cutoff),
        "deadline": _time(state.spec.closed_at),
        "model": state.spec.model,
        "submission": str(folder.submission) if picked else None,
        "upload": str(folder.upload) if folder.upload.is_file() else None,
        "notebook": _script(folder, state) if is_code_competition(competition) else None,
        "journal": str(folder.journal),
        "best_from": source if picked else None,
        "picked": picked.id if picked else None,
        "pick_reason": state.picked.reason if state.picked else None,
        "pick_evidence": state.picked.evidence if state.picked else None,
        **{name: getattr(state.picked, name, None) for name in ("folds", "confidence", "shrinkage")},
        "refitted": state.refit() is not None,
        "blend": _blend(state),
        "validation_score": score.value.value if score else None,
        "validation_interval": [score.interval.low, score.interval.high] if score else None,
        "metric": state.split.metric if state.split else None,
        "maximize": state.split.maximize if state.split else None,
        "gradings": tuning.gradings,
        "revealed_bits": round(tuning.bits, 1),
        "optimism": tuning.optimism,
        "flags": [each.model_dump(mode="json") for each in state.flags],
        "attempts": len(attempts),
        "valid_attempts": sum(1 for each in attempts if each.score),
        "rejected": {each.id: f"by {each.rejected}" for each in state.works.rejected()},
        "seconds": round(state.spend.seconds, 1),
        "tokens": sum(each.spend.tokens for each in ran),
        "usd": round(sum(each.spend.usd for each in ran), 6),
        "mlflow_run_id": _run_id(project, folder.name),
        "dvc_rev": campaign_commit(project, folder.name),
        "sealed": bool(ran) and all(each.sealed is not False for each in ran),
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _run_id(project: Path, campaign: str) -> str | None:
    """Return the id of the campaign's run in MLflow; None if there is none, or no server answers."""
    try:
        return campaign_run_id(project, campaign)
    except OrchestrationError:
        return None


def _script(folder: CampaignFolder, state: CampaignState) -> str | None:
    """Return the path of the script that made the delivered submission; None before there is one."""
    delivered = state.delivered()
    found = sorted(folder.work(delivered.id).root.glob("script.*")) if delivered else []
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
