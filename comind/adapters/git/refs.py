"""Commit campaigns to git refs of their own; the user's branch, index and working tree do not change.

Every function raises OrchestrationError where git is not installed, fails or takes too long, and
DiskError where the disk is full.
"""

import hashlib
import io
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from comind.campaign.log.campaign_folders import EXPERIMENT_FOLDER
from comind.errors import OrchestrationError
from comind.system.disk import full_disk
from comind.system.failpoints import failpoint

_SECONDS = 600.0  # of one command, such as a push
_CODE = ("comind", "tasks", "flows", "requirements", "pyproject.toml")
_IGNORED = ("runs", "benches", "mlruns", ".prefect", "data/demos", "data/downloads", "data/live")
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "CoMind"), ("EMAIL", "comind@localhost"))
}


def campaign_ref(campaign: str) -> str:
    """Return the name of a campaign's ref."""
    return f"refs/comind/{campaign}"


def following_ref(slug: str) -> str:
    """Return the name of a followed competition's ref, with a commit for each day."""
    return f"refs/comind-following/{slug}"


def enclosing_repository(folder: Path) -> Path | None:
    """Return the top of the git work tree that contains `folder` and does not ignore it, or None."""
    found = _git(folder, "rev-parse", "--show-toplevel", check=False)
    if found.returncode != 0:
        return None
    ignored = _git(folder, "check-ignore", "--quiet", str(folder.absolute()), check=False)
    return None if ignored.returncode == 0 else Path(found.stdout.strip())


def code_revision(folder: Path) -> tuple[str, str, str]:
    """Return the commit of the code in `folder`, and SHA-256 and text of its uncommitted diff.

    All are empty outside of a git repository; hash and text where nothing differs.
    """
    if enclosing_repository(folder) is None:
        return "", "", ""
    revision = _resolve(folder, "HEAD") or ""
    diff = _git(folder, "diff", "HEAD", "--binary", "--", *_CODE, check=False).stdout
    new = _git(folder, "ls-files", "-z", "--others", "--exclude-standard", "--", *_CODE).stdout
    for name in filter(None, new.split("\0")):
        done = _git(folder, "diff", "--no-index", "--binary", "--", os.devnull, name, check=False)
        diff += done.stdout
    return revision, hashlib.sha256(diff.encode()).hexdigest() if diff else "", diff


def init_repository(folder: Path) -> None:
    """Initialize a git repository in `folder`."""
    _git(folder, "init", "--quiet")


def ignore_files(project: Path) -> None:
    """Let git ignore logs, databases and unversioned data, by `info/exclude`; idempotent.

    Pointers of DVC are not ignored, as it does not see those that are; it ignores their data itself.
    """
    prefix = _git(project, "rev-parse", "--show-prefix").stdout.rstrip("\n")
    top = "/" + re.sub(r"([\\*?\[])", r"\\\1", prefix)  # special characters of patterns
    patterns = [f"{top}{folder}/" for folder in _IGNORED]
    path = _git(project, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude").stdout
    exclude = Path(path.rstrip("\n"))
    exclude.parent.mkdir(exist_ok=True)
    before = exclude.read_text() if exclude.is_file() else ""
    missing = [pattern for pattern in patterns if pattern not in before.splitlines()]
    if missing:
        end = "" if before.endswith("\n") or not before else "\n"
        with exclude.open("a") as file:
            file.write(end + "".join(f"{pattern}\n" for pattern in missing))


def unstage(project: Path, names: Sequence[str]) -> None:
    """Remove new files from the index, but not from the working tree."""
    _git(project, "rm", "--cached", "-r", "-f", "--quiet", "--ignore-unmatch", "--", *names)


def commit_files(
    project: Path,
    ref: str,
    files: Sequence[Path],
    message: str,
    texts: Mapping[str, str] | None = None,
) -> str:
    """Commit `files` on top of a ref and return the commit; the tip, where nothing has changed.

    `texts` are further files by their path in the commit, without one in the working tree. The parent
    of a ref's first commit is the project's HEAD, so that its tree also holds the code.
    """
    tip = _resolve(project, ref)
    base = tip or _resolve(project, "HEAD")
    # The prefix is empty at the top of the work tree, and "some/folder/" below it.
    prefix = _git(project, "rev-parse", "--show-prefix").stdout.strip()
    with tempfile.TemporaryDirectory(prefix="comind-index-") as scratch:
        index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
        if base:
            _git(project, "read-tree", base, env=index)
        sources = {file.relative_to(project).as_posix(): file.absolute() for file in files}
        for number, (name, text) in enumerate((texts or {}).items()):
            sources[name] = Path(scratch) / f"text-{number}"
            sources[name].write_text(text)
        names, listed = list(sources), "".join(f"{source}\n" for source in sources.values())
        blobs = _git(project, "hash-object", "-w", "--stdin-paths", given=listed).stdout.split()
        entries = [f"100644 {blob}\t{prefix}{name}\0" for blob, name in zip(blobs, names, strict=True)]
        _git(project, "update-index", "-z", "--index-info", env=index, given="".join(entries))
        tree = _git(project, "write-tree", env=index).stdout.strip()
    if tip and tree == _git(project, "rev-parse", f"{tip}^{{tree}}").stdout.strip():
        return tip
    parents = ["-p", base] if base else []
    made = _git(project, "commit-tree", tree, *parents, "-m", message, env=_IDENTITY)
    commit = made.stdout.strip()
    # With the old value, this fails rather than lose a commit if another process has moved the ref.
    _git(project, "update-ref", ref, commit, tip or "0" * 40)
    failpoint("ref-committed")
    return commit


def update_experiment(project: Path, campaign: str) -> None:
    """Make the newest commit of a campaign a DVC experiment, on the commit where the campaign started.

    The experiment is created with the campaign's first commit, later ones move it: a removed one stays
    removed. None is created in a repository without commits, as DVC needs one.
    """
    tip = campaign_commit(project, campaign)
    if tip is None:
        return
    ref = experiment_ref(project, campaign)
    base = _resolve(project, f"{tip}^")
    if ref is None and base is not None and base == _resolve(project, "HEAD"):
        ref = f"refs/exps/{base[:2]}/{base[2:]}/{campaign}"
    if ref is not None:
        _git(project, "update-ref", ref, tip)


def experiment_ref(project: Path, campaign: str) -> str | None:
    """Return the ref of the campaign's DVC experiment, if there is one."""
    pattern = f"refs/exps/*/*/{campaign}"
    return _git(project, "for-each-ref", "--format=%(refname)", pattern).stdout.strip() or None


def remove_experiment(project: Path, campaign: str) -> None:
    """Remove the campaign's DVC experiment; its own ref stays."""
    ref = experiment_ref(project, campaign)
    if ref is not None:
        _git(project, "update-ref", "-d", ref)


def campaign_commit(project: Path, campaign: str) -> str | None:
    """Return the newest commit of a campaign, or None."""
    return _resolve(project, campaign_ref(campaign))


def campaigns_in(project: Path) -> list[str]:
    """Return the names of campaigns with a ref, sorted."""
    found = _git(project, "for-each-ref", "--format=%(refname)", campaign_ref(""), check=False)
    return [line.removeprefix(campaign_ref("")) for line in found.stdout.split()]


def following_commits(project: Path) -> list[str]:
    """Return the commits of all refs of followed competitions."""
    head = _resolve(project, "HEAD")
    below = ["--not", head] if head else []
    return _git(project, "rev-list", f"--glob={following_ref('*')}", *below).stdout.split()


def files_at(project: Path, revision: str, *, suffix: str = "") -> dict[str, bytes]:
    """Read a campaign's files (pointers, logs, settings) from a commit.

    Returns:
        Contents by path relative to the project; code and other files of the user are
        excluded, and the summary for DVC.

    Raises:
        OrchestrationError: there is no such commit, or an object of it is damaged.
    """
    prefix = _git(project, "rev-parse", "--show-prefix").stdout.strip()
    listed = _git(project, "ls-tree", "-r", "-z", "--full-tree", revision).stdout
    blobs = {}
    for line in filter(None, listed.split("\0")):
        facts, _, name = line.partition("\t")
        inner = name.removeprefix(prefix)
        ours = name.startswith(prefix) and inner.startswith(("runs/", "data/", ".dvc/config"))
        ours = ours and not inner.startswith(f"{EXPERIMENT_FOLDER}/")
        if ours and inner.endswith(suffix):
            blobs[inner] = facts.split()[2]
    return dict(zip(blobs, _read_blobs(project, [*blobs.values()]), strict=True))


def committed_file(project: Path, name: str) -> bytes:
    """Return a file of the project as it is in HEAD; empty where it is not."""
    found = _run(project, "show", f"HEAD:./{name}", text=False)
    return bytes(found.stdout) if found.returncode == 0 else b""


def fetch_campaigns(project: Path, remote: str) -> bool:
    """Fetch the refs of all campaigns from a remote, fast-forward only; returns whether it worked."""
    ref = campaign_ref("*")
    return _git(project, "fetch", "--quiet", remote, f"{ref}:{ref}", check=False).returncode == 0


def push_refs(project: Path, remote: str, refs: Sequence[str]) -> None:
    """Push refs to a remote, fast-forward only.

    Raises:
        OrchestrationError: the remote refuses, or has another campaign of this name.
    """
    _git(project, "push", "--quiet", "--no-verify", remote, *(f"{ref}:{ref}" for ref in refs))


def state_of_file(project: Path, name: str, remote: str) -> Literal["shared", "uncommitted", "unpushed"]:
    """Return whether the branches that were last seen at a remote have a file as it is here."""
    if not committed_file(project, name) or _git(project, "status", "--porcelain", "--", name).stdout:
        return "uncommitted"
    unseen = ["rev-list", "-1", "HEAD", "--not", f"--remotes={remote}", "--", name]
    return "unpushed" if _git(project, *unseen).stdout else "shared"


def has_remote(project: Path, remote: str) -> bool:
    """Return whether git has a remote of this name; it has none outside of a repository."""
    return remote in _git(project, "remote", check=False).stdout.split()


def _read_blobs(project: Path, blobs: Sequence[str]) -> Iterator[bytes]:
    """Read objects in one process of git: each is a line with its size, its bytes and a newline."""
    given = "".join(f"{blob}\n" for blob in blobs)
    output = io.BytesIO(_run(project, "cat-file", "--batch", given=given, text=False).stdout)
    for blob in blobs:
        facts = output.readline().split()
        found = facts[1:2] == [b"blob"]
        content = output.read(int(facts[2]) + 1) if found else b""
        if not found or len(content) <= int(facts[2]):
            raise OrchestrationError(
                f"git holds a damaged object ({blob[:12]})", hint="fetch the campaign's ref again"
            )
        yield content[:-1]


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
    done = _run(folder, *arguments, env=env, given=given)
    if check and done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        failed = OrchestrationError(f"git {arguments[0]} failed in {folder}: {reason}")
        raise full_disk(OrchestrationError(done.stderr), folder, f"git {arguments[0]}") or failed
    return done


def _run(
    folder: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    given: str | None = None,
    text: bool = True,
) -> subprocess.CompletedProcess[Any]:
    """Run git in `folder`; its output is bytes without `text`."""
    program = shutil.which("git")
    if program is None:
        raise OrchestrationError("git is not installed", hint="apt-get install git")
    # Variables of an enclosing git command, such as a hook, must not redirect this one.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        return subprocess.run(
            [program, "-C", str(folder), *arguments],
            env={**inherited, **(env or {})},
            input=given if given is None or text else given.encode(),
            capture_output=True,
            text=text,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OrchestrationError(
            f"git {arguments[0]} did not end within {_SECONDS:.0f} seconds in {folder}",
            hint="see whether it waits for a password or a remote, then run the command again",
        ) from None
