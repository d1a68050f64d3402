"""Collect garbage: delete cached data that no campaign and no followed competition references."""

from pathlib import Path

from comind.adapters.dvc.restoring import required_data, restore_logs
from comind.adapters.dvc.versioning import drop_unused
from comind.adapters.git.refs import (
    campaign_ref,
    campaigns_in,
    files_at,
    following_commits,
    remove_experiment,
)
from comind.system.temporary_folders import scratch_folder


def collect_garbage(project: Path, *, finals_only: bool, dry: bool) -> tuple[int, list[str]]:
    """Delete unused data from DVC's cache; returns how many files, and the campaigns kept.

    All that refs of campaigns, or any day of a followed competition, point to is kept; with
    `finals_only`, of ended campaigns only what the final submission and its refit need, including the
    inputs that were mounted for them; DVC's experiments of these campaigns are removed.

    Raises:
        LogError: a log in a ref was changed; then nothing is deleted.
        OrchestrationError: git or DVC fails.
    """
    kept: dict[str, bytes] = {}
    gone: dict[str, bytes] = {}
    campaigns, reduced = campaigns_in(project), []
    for campaign in campaigns:
        pointers = files_at(project, campaign_ref(campaign), suffix=".dvc")
        needed = _needed_by_final(project, campaign) if finals_only else None
        for name, pointer in pointers.items():
            (kept if needed is None or name in needed else gone)[name] = pointer
        if needed is not None:
            reduced.append(campaign)
    gone = {name: pointer for name, pointer in gone.items() if name not in kept}
    for day in following_commits(project):  # names repeat from day to day, so each gets a prefix
        pointers = files_at(project, day, suffix=".dvc")
        kept |= {f"{day}/{name}": pointer for name, pointer in pointers.items()}
    if not dry:  # all refs are readable
        for campaign in reduced:
            remove_experiment(project, campaign)  # applying it would need all of the data
    return drop_unused(project, kept, gone, dry=dry), campaigns


def _needed_by_final(project: Path, campaign: str) -> set[str] | None:
    """Return the pointers that the final submission needs; None where the campaign has not ended."""
    with scratch_folder("g") as place:
        state = restore_logs(project, campaign, place)
    chosen, delivered = state.chosen(), state.delivered()
    if state.ended is None or state.split is None or chosen is None or delivered is None:
        return None
    works = {chosen.id, delivered.id}
    named = {f"{name}.dvc" for name in required_data(campaign, state, sorted(works))}
    return named | {f"data/community/{read.key}.dvc" for read in state.communities}
