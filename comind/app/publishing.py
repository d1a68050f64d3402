"""Publish solutions: code, report, submissions and checkpoints of scored attempts."""

from pathlib import Path

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Code
from comind.domain.value import Value, one_line
from comind.system.files import copy_plain_tree, copy_untrusted_tree
from comind.system.supervisor import remove_tree
from comind.system.temporary_folders import staged_folder

_CHECKPOINT_BYTES = 8 << 30
_SHOWN, _NAME_LENGTH = 5, 80  # of files that are left out


class _PublishedSolution(Value):
    """Schema of `solution.json`."""

    campaign: str
    attempt: str
    title: str
    method: str
    parents: tuple[str, ...]
    outcome: CodeOutcome
    note: str = ""
    """Which checkpoints are missing, and why."""


def publish_solution(
    project: Path, campaign: str, work_id: str, work: Code, outcome: CodeOutcome
) -> Path:
    """Copy code, report, submissions and checkpoints of a scored attempt to a new folder; returns it.

    The folder is renamed into place when it is complete; an existing one is not changed.
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
        # No later attempt loads checkpoints of a run on a fold.
        note = "" if work.fold else _copy_checkpoints(checkpoints, staged / "checkpoints")
        (staged / "code.py").write_text(outcome.code + "\n")
        (staged / "report.md").write_text(outcome.report + "\n")
        solution = _PublishedSolution(
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
    """Copy checkpoints of untrusted code; a link among them aborts it. Returns what was left out."""
    if source.is_symlink() or not source.is_dir():
        return ""
    try:
        left_out = copy_untrusted_tree(source, target, limit_bytes=_CHECKPOINT_BYTES)
    except (ValueError, OSError) as error:
        remove_tree(str(target))
        return f"the checkpoints were not kept: {error}"
    named = ", ".join(one_line(name, _NAME_LENGTH) for name in left_out[:_SHOWN])
    more = f" and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
    return f"hidden, or named as git and DVC take no data: {named}{more}" if left_out else ""
