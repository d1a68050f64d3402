"""A campaign elsewhere: its data at the DVC remote, its ref at the git remote."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.domain.value import Value
from tasks.git import campaign_ref, files_at, has_remote, push_ref
from tasks.versioning import push

__all__ = ["Pushed", "push_campaign"]

_GIT_REMOTE = "origin"


class Pushed(Value):
    """What was sent where."""

    campaign: str
    objects: int
    """Files that the DVC remote did not have before."""
    ref: str
    """The ref that the git remote holds now; empty where there is no remote `origin`."""


@task(cache_policy=NO_CACHE, retries=2, retry_delay_seconds=2)  # nothing is sent twice
def push_campaign(project: Path, campaign: str) -> Pushed:
    """Send what the campaign's ref points to, then the ref, so that it never points to nothing.

    Raises:
        OrchestrationError: there is no DVC remote, or one of the remotes refuses.
    """
    pointers = files_at(project, campaign_ref(campaign), suffix=".dvc")
    objects = push(project, pointers)
    ref = campaign_ref(campaign) if has_remote(project, _GIT_REMOTE) else ""
    if ref:
        push_ref(project, _GIT_REMOTE, ref)
    return Pushed(campaign=campaign, objects=objects, ref=ref)
