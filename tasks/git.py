"""Campaigns in git, without touching the user's branch, index or working tree."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from comind.errors import OrchestrationError
from comind.system.killpoints import passed

__all__ = [
    "campaign_commit",
    "campaign_ref",
    "commit_campaign",
    "enclosing_repository",
    "make_repository",
    "unstage",
]

_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "CoMind"), ("EMAIL", "comind@localhost"))
}


def campaign_ref(campaign: str) -> str:
    """Return the ref that holds a campaign."""
    return f"refs/comind/{campaign}"


def enclosing_repository(folder: Path) -> Path | None:
    """Return the top of the git work tree that keeps `folder`, or None.

    A folder that the work tree ignores is not kept by it.

    Raises:
        OrchestrationError: git is not installed.
    """
    found = _git(folder, "rev-parse", "--show-toplevel", check=False)
    if found.returncode != 0:
        return None
    ignored = _git(folder, "check-ignore", "--quiet", str(folder.absolute()), check=False)
    return None if ignored.returncode == 0 else Path(found.stdout.strip())


def make_repository(folder: Path) -> None:
    """Make `folder` a git repository of its own.

    Raises:
        OrchestrationError: git is not installed, or refuses.
    """
    _git(folder, "init", "--quiet")
    exclude = folder / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    with exclude.open("a") as file:
        file.write("/runs/\n/mlruns/\n/.prefect/\n")


def unstage(project: Path, names: Sequence[str]) -> None:
    """Take new files out of the index again; the files themselves stay."""
    _git(project, "rm", "--cached", "-r", "-f", "--quiet", "--ignore-unmatch", "--", *names)


def commit_campaign(project: Path, campaign: str, files: Sequence[Path], message: str) -> str:
    """Commit `files` on top of the campaign's ref and return the commit.

    The first commit of a campaign stands on the project's HEAD, so that its tree also holds the code
    it was made with. Nothing is committed when nothing has changed.

    Raises:
        OrchestrationError: git is not installed, or refuses.
    """
    ref = campaign_ref(campaign)
    tip = _resolve(project, ref)
    base = tip or _resolve(project, "HEAD")
    # The prefix is empty at the top of the work tree, and "some/folder/" below it.
    prefix = _git(project, "rev-parse", "--show-prefix").stdout.strip()
    with tempfile.TemporaryDirectory(prefix="comind-index-") as scratch:
        index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
        if base:
            _git(project, "read-tree", base, env=index)
        names = [file.relative_to(project).as_posix() for file in files]
        listed = "".join(f"{file.absolute()}\n" for file in files)
        blobs = _git(project, "hash-object", "-w", "--stdin-paths", given=listed).stdout.split()
        entries = [f"100644 {blob}\t{prefix}{name}\0" for blob, name in zip(blobs, names, strict=True)]
        _git(project, "update-index", "-z", "--index-info", env=index, given="".join(entries))
        tree = _git(project, "write-tree", env=index).stdout.strip()
    if tip and tree == _git(project, "rev-parse", f"{tip}^{{tree}}").stdout.strip():
        return tip
    parents = ["-p", base] if base else []
    made = _git(project, "commit-tree", tree, *parents, "-m", message, env=_IDENTITY)
    commit = made.stdout.strip()
    # The old value makes this fail, rather than lose a commit, should someone else have moved the ref.
    _git(project, "update-ref", ref, commit, tip or "0" * 40)
    passed("ref-committed")
    return commit


def campaign_commit(project: Path, campaign: str) -> str | None:
    """Return the newest commit of a campaign, or None before its first one."""
    return _resolve(project, campaign_ref(campaign))


def _resolve(project: Path, name: str) -> str | None:
    found = _git(project, "rev-parse", "--quiet", "--verify", f"{name}^{{commit}}", check=False)
    return found.stdout.strip() if found.returncode == 0 else None


def _git(
    folder: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    given: str | None = None,
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    program = shutil.which("git")
    if program is None:
        raise OrchestrationError("git is not installed", hint="apt-get install git")
    # A hook or alias of a surrounding git command must not redirect ours.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    done = subprocess.run(
        [program, "-C", str(folder), *arguments],
        env={**inherited, **(env or {})},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    if check and done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise OrchestrationError(f"git {arguments[0]} failed in {folder}: {reason}")
    return done
