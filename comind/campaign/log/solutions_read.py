"""Find the earlier solutions whose files a script reads, and what a refit has to refit before it."""

import re

from comind.campaign.log.work import Code
from comind.campaign.log.work_items import Attempt, WorkItems

_FOLDER = "solutions"  # as in input/solutions/attempt-000
# What lists the folder, or makes names of attempts: then any mounted solution may be read.
_ANY = re.compile(r"glob|listdir|iterdir|scandir|\bwalk\b|attempt-(?!\d)")


def solutions_read(work: Code, script: str) -> list[str]:
    """Return the mounted attempts whose files the script of `work` may read."""
    mounted = [given for given in work.inputs if "/" not in given]
    if _FOLDER not in script:
        return []
    named = [given for given in mounted if given in script]
    return mounted if not named or _ANY.search(script) else named


def refit_order(works: WorkItems, *work_ids: str) -> list[str]:
    """Return attempts or blends, each after those whose files its program reads.

    A refit needs those fitted on the same rows as itself.
    """
    found = dict[str, None]()

    def add(work_id: str) -> None:
        if work_id not in found:
            for each in _read_by(works.attempt(work_id), works):
                add(each)
            found[work_id] = None

    for work_id in work_ids:
        add(work_id)
    return list(found)


def _read_by(attempt: Attempt, works: WorkItems) -> list[str]:
    """Return the attempts that the program of an attempt reads, or those of a blend's members."""
    blend, code = attempt.work.blend, attempt.outcome.code if attempt.outcome else ""
    if blend is None:
        return solutions_read(attempt.work, code)
    members = [works.attempt(each.attempt) for each in blend.members]
    return list(dict.fromkeys(name for member in members for name in _read_by(member, works)))
