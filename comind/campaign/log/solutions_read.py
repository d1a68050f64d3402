"""Find the earlier solutions whose files a script reads, and what a refit has to refit before it."""

import re

from comind.campaign.log.work import Code
from comind.campaign.log.work_items import Attempt, WorkItems

# `solutions` as a part of a path, as in input/solutions/attempt-000, and what follows.
_FOLDER = re.compile(r"""["'/]solutions\b(?:/([\w-]+)(?![\w{-]))?""")
_LISTED = re.compile(r"glob|listdir|iterdir|scandir|\bwalk\b|copytree|\bcp\b")
_MADE = re.compile(r"attempt-(?!\d{3})")  # a name of an attempt that is put together
_COMMENTS = re.compile(r"^\s*#.*$", re.MULTILINE)


def solutions_read(work: Code, script: str) -> list[str]:
    """Return the mounted attempts whose files the script of `work` may read.

    These are those of its paths. Where a path ends before the name, they are all that the script names,
    or all that are mounted, if it names none or lists folders; and all where it makes names.
    """
    mounted = [given for given in work.inputs if "/" not in given]
    script = _COMMENTS.sub("", script)
    in_paths = set(_FOLDER.findall(script))
    if not in_paths:
        return []
    if _MADE.search(script):
        return mounted
    if in_paths <= set(mounted):
        return [given for given in mounted if given in in_paths]
    named = [given for given in mounted if given in script]
    return mounted if not named or _LISTED.search(script) else named


def inputs_read(work: Code, script: str) -> tuple[str, ...]:
    """Return the inputs that a script names, and those of earlier attempts that it may read."""
    read = solutions_read(work, script)
    return tuple(given for given in work.inputs if given in script or given in read)


def refit_order(works: WorkItems, *work_ids: str) -> list[str]:
    """Return attempts or blends, each after those whose files its program reads.

    A refit needs those fitted on the same rows as itself.
    """
    found = dict[str, None]()

    def add(work_id: str) -> None:
        if work_id not in found:
            for each in _read_by(works.attempt(work_id)):
                add(each)
            found[work_id] = None

    for work_id in work_ids:
        add(work_id)
    return list(found)


def _read_by(attempt: Attempt) -> list[str]:
    """Return the attempts that a program reads; that of a blend contains its members' scripts."""
    return solutions_read(attempt.work, attempt.outcome.code) if attempt.outcome else []
