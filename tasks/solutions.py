"""Solutions: what a scored attempt leaves behind for later ones, and for people."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Code
from comind.domain.value import Value
from comind.system.files import copy_plain_tree, copy_untrusted_tree, staged_folder
from comind.system.supervisor import remove_tree

__all__ = ["PublishedSolution", "publish_solution"]

_CHECKPOINT_BYTES = 8 << 30


class PublishedSolution(Value):
    """What `solution.json` says of the files beside it."""

    campaign: str
    attempt: str
    title: str
    method: str
    parents: tuple[str, ...]
    outcome: CodeOutcome
    note: str = ""
    """Why something that the attempt kept is not here."""


@task(cache_policy=NO_CACHE, task_run_name="publish {work_id}")
def publish_solution(
    project: Path, campaign: str, work_id: str, work: Code, outcome: CodeOutcome
) -> Path:
    """Collect code, report, submissions and checkpoints of a scored attempt in one new folder.

    The folder appears in one step; one that is there already is left as it is.
    """
    folder = ProjectFolder(project)
    target = folder.published(campaign, work_id)
    if target.exists():
        return target
    assert outcome.submitted is not None, "only a scored attempt is published"
    source = folder.campaign(campaign).work(work_id)
    with staged_folder(target) as staged:
        copy_plain_tree(source.submissions(outcome.submitted.step), staged)
        checkpoints = source.workspace / "checkpoints"
        # Nobody goes on from what was fitted on a fold.
        note = "" if work.fold else _copy_checkpoints(checkpoints, staged / "checkpoints")
        (staged / "code.py").write_text(outcome.code + "\n")
        (staged / "report.md").write_text(outcome.report + "\n")
        solution = PublishedSolution(
            campaign=campaign,
            attempt=work_id,
            title=outcome.title or work.draft.title,
            method=work.draft.method,
            parents=work.parents,
            outcome=outcome,
            note=note,
        )
        (staged / "solution.json").write_text(solution.model_dump_json(indent=2) + "\n")
    return target


def _copy_checkpoints(source: Path, target: Path) -> str:
    """Copy what the attempt's code kept; that code is not trusted, so a link in it ends the copy."""
    if source.is_symlink() or not source.is_dir():
        return ""
    try:
        copy_untrusted_tree(source, target, limit_bytes=_CHECKPOINT_BYTES)
    except (ValueError, OSError) as error:
        remove_tree(str(target))
        return f"the checkpoints were not kept: {error}"
    return ""
