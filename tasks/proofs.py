"""Proofs: the script of an attempt, run in a fresh interpreter."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.campaign.events import ScriptProved
from comind.wiring.proof import prove
from comind.wiring.workshop import workshop_of

__all__ = ["prove_script"]


@task(cache_policy=NO_CACHE, task_run_name="prove {work_id}", retries=1, retry_delay_seconds=2)
def prove_script(project: Path, campaign: str, work_id: str, seconds: float) -> ScriptProved:
    """Return whether an attempt's script gives its submissions again; it leaves nothing behind."""
    return prove(workshop_of(project, campaign), work_id, seconds)
