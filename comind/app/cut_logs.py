"""Find logs that were cut since they were committed to the campaign's ref."""

from pathlib import Path

from comind.adapters.git.refs import campaign_commit, campaign_ref, files_at
from comind.errors import LogError
from comind.system.plurals import quantity


def cut_logs(project: Path, campaign: str) -> dict[str, bytes]:
    """Return the logs whose end is missing here, by path relative to the project, as the ref has them.

    A log is synced before it is committed, so a crash of ours never leaves it shorter than the ref's.
    """
    if campaign_commit(project, campaign) is None:
        return {}
    held = files_at(project, campaign_ref(campaign), suffix="log.jsonl")
    here = {name: project / name for name in held if (project / name).is_file()}
    whole = {name: path.read_bytes().rpartition(b"\n") for name, path in here.items()}
    return {
        name: held[name]
        for name, (lines, newline, _) in whole.items()
        if held[name].startswith(lines + newline) and len(lines + newline) < len(held[name])
    }


def check_logs_whole(project: Path, campaign: str) -> None:
    """Check that no log of a campaign was cut since it was committed.

    Raises:
        LogError: one was; to continue from it would repeat, and pay again for, what it lacks.
    """
    for name, content in cut_logs(project, campaign).items():
        missing = content.count(b"\n") - (project / name).read_bytes().count(b"\n")
        raise LogError(
            f"{project / name}: lacks the last {quantity(missing, 'line')} that "
            f"{campaign_ref(campaign)} has",
            hint=f"comind repair {campaign} restores them",
        )
