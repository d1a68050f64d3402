"""Push campaigns: data to the DVC remote, refs to the git remote."""

from pathlib import Path
from typing import Any

import yaml

from comind.adapters.dvc.versioning import default_remote, push
from comind.adapters.git.refs import (
    campaign_ref,
    commit_files,
    committed_file,
    experiment_ref,
    files_at,
    has_remote,
    push_refs,
    state_of_file,
    update_experiment,
)
from comind.domain.value import Value

_GIT_REMOTE = "origin"
_DVC, _PARAMS = ".dvc/config", "params.yaml"
_SETTINGS = (_DVC, ".dvcignore", ".gitignore", "dvc.yaml", "prefect.yaml")


class Pushed(Value):
    """The result of a push."""

    campaign: str
    objects: int
    """Number of files that the DVC remote did not have before."""
    ref: str
    """The pushed ref; empty where there is no git remote `origin`."""


def shared_settings(project: Path) -> list[Path]:
    """Return the settings that a campaign's commit holds as they are, so `dvc exp apply` keeps them.

    Of `params.yaml` that is so unless alerts differ from the last commit: their URLs may be secret.
    """
    found = [project / name for name in _SETTINGS if (project / name).is_file()]
    params = project / _PARAMS
    if params.is_file() and _alerts(params.read_bytes()) == _alerts(committed_file(project, _PARAMS)):
        found.append(params)
    return found


def _alerts(params: bytes) -> Any:
    try:
        return (yaml.safe_load(params) or {}).get("alerts")
    except (yaml.YAMLError, AttributeError):
        return params


def push_campaign(project: Path, campaign: str) -> Pushed:
    """Push the campaign's data, then its refs, so that a pushed ref has its data.

    The ref gets the project's settings first, so that a clone finds the remote.

    Raises:
        OrchestrationError: there is no DVC remote, or one of the remotes refuses.
    """
    ref = campaign_ref(campaign)
    objects = push(project, files_at(project, ref, suffix=".dvc"))
    if default_remote(project):
        commit_files(project, ref, shared_settings(project), f"{campaign}: settings")
        update_experiment(project, campaign)
    if not has_remote(project, _GIT_REMOTE):
        return Pushed(campaign=campaign, objects=objects, ref="")
    experiment = experiment_ref(project, campaign)
    push_refs(project, _GIT_REMOTE, [ref, *([experiment] if experiment else [])])
    return Pushed(campaign=campaign, objects=objects, ref=ref)


def missing_in_clones(project: Path) -> list[str]:
    """Return a line for what a clone would lack of the settings, with how to share it."""
    if not has_remote(project, _GIT_REMOTE):
        return [f"git has no remote {_GIT_REMOTE}: git remote add {_GIT_REMOTE} URL, then comind push"]
    if not default_remote(project):
        how = "dvc remote add -d NAME FOLDER-OR-URL, then comind push"
        return [f"{_DVC} names no default remote, only config.local, which is not shared: {how}"]
    state = state_of_file(project, _DVC, _GIT_REMOTE)
    if state == "shared":
        return []
    commit = f"git add {_DVC} && git commit -m 'DVC remote' && " if state == "uncommitted" else ""
    found = "in a clone comind reproduce finds the remote in the campaign's ref, DVC only after"
    return [f"{_DVC} is {state}: {found} {commit}git push"]
