"""Push campaigns: data to the DVC remote, refs to the git remote."""

from pathlib import Path

from comind.adapters.dvc.versioning import push
from comind.adapters.git.refs import campaign_ref, files_at, has_remote, push_ref
from comind.domain.value import Value

_GIT_REMOTE = "origin"


class Pushed(Value):
    """The result of a push."""

    campaign: str
    objects: int
    """Number of files that the DVC remote did not have before."""
    ref: str
    """The pushed ref; empty where there is no git remote `origin`."""


def push_campaign(project: Path, campaign: str) -> Pushed:
    """Push the campaign's data, then its ref, so that a pushed ref has its data.

    Raises:
        OrchestrationError: there is no DVC remote, or one of the remotes refuses.
    """
    pointers = files_at(project, campaign_ref(campaign), suffix=".dvc")
    objects = push(project, pointers)
    ref = campaign_ref(campaign) if has_remote(project, _GIT_REMOTE) else ""
    if ref:
        push_ref(project, _GIT_REMOTE, ref)
    return Pushed(campaign=campaign, objects=objects, ref=ref)
