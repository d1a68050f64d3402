"""Have a submission again from its lineage alone, and say how far it is the same; no model is called."""

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from comind.campaign.attempt import WORK_EVENTS
from comind.campaign.events import CampaignSpec
from comind.campaign.folder import ProjectFolder, WorkFolder
from comind.campaign.history import fold
from comind.campaign.lineage import AttemptLineage, script_for
from comind.campaign.script import Script
from comind.campaign.state import CampaignState
from comind.domain.resources import StoreFolders
from comind.errors import CampaignError, DataError, SubmissionError
from comind.evaluation.agreement import Verdict
from comind.evaluation.splits.split_folder import SplitFolder
from comind.eventlog.log import read_log
from comind.system.files import hash_file, read_untrusted
from comind.system.temporary_folder import remove_stale_folders, temporary_folder
from comind.wiring.proof import rerun, time_limit
from comind.wiring.runtime import CampaignRuntime
from flows.params import read_params
from tasks.environment import read_environment
from tasks.restoring import find_campaign, restore_data, restore_logs, restore_settings
from tasks.versioning import ensure_repository

__all__ = ["clear_reproductions", "reproduce"]


@dataclass(frozen=True, slots=True)
class _Part:
    """One attempt, run again; as it is told with `--json`."""

    attempt: str
    verdict: Verdict
    difference: str
    submission_sha256: str | None
    expected_sha256: str
    score: float | None
    expected_score: float | None
    script: str
    seconds: float


def reproduce(project: Path, name: str, *, sandbox: str | None, everything: bool) -> dict[str, Any]:
    """Return the contract's answer of `comind reproduce`.

    `project` is a git repository with the campaign's ref, or a clone of one that has it; `name` is a
    campaign, `CAMPAIGN/attempt-000`, or the id of an MLflow run. With `everything`, all that was
    published is run again, not only what was handed in. No `sandbox` is the strongest that seals.

    Raises:
        CampaignError: there is no such campaign or run, or it handed nothing in.
        LogError: a log was changed.
        DataError: data or script are not what was recorded.
        ServiceError: DVC, git or the sandbox is missing or refuses.
    """
    campaign, attempt = find_campaign(project, name)
    if not (project / ".dvc" / "config").is_file():
        ensure_repository(project)
        restore_settings(project, campaign)
    with temporary_folder(*_workplaces(project)) as place:
        state = restore_logs(project, campaign, place)
        targets = _targets(state, attempt, everything=everything)
        restore_data(project, campaign, place, state, targets)
        store = read_params(project).store.below(project)
        runtime = _runtime(place, campaign, state, sandbox, store)
        try:
            parts = [_part(runtime, state, work_id) for work_id in targets]
        finally:
            runtime.close()
        differences = _environment_differences(state, targets[-1], runtime.spec)
    return _answer(campaign, state, parts, differences)


def clear_reproductions(project: Path) -> list[Path]:
    """Remove what killed reproductions left behind, labels among it; returns what that was."""
    return remove_stale_folders(*_workplaces(project))


def _workplaces(project: Path) -> tuple[Path, str]:
    """Return where we work, on the disk of DVC's cache, and how the folders there are called."""
    return project / ".dvc" / "tmp", "reproduce"


def _answer(
    campaign: str, state: CampaignState, parts: list[_Part], differences: tuple[str, ...]
) -> dict[str, Any]:
    """Put the parts together: hashes of what was handed in, the score of what was scored."""
    worst = max(parts, key=lambda part: part.verdict.distance)
    delivered = state.delivered()
    handed_in = next((p for p in parts if delivered and p.attempt == delivered.id), parts[-1])
    scored = next((part for part in parts if part.expected_score is not None), handed_in)
    return {
        "campaign": campaign,
        "attempt": handed_in.attempt,
        "verdict": worst.verdict.value,
        "difference": worst.difference,
        "submission_sha256": handed_in.submission_sha256,
        "expected_sha256": handed_in.expected_sha256,
        "score": scored.score,
        "expected_score": scored.expected_score,
        "environment_matches": not differences,
        "environment_differences": list(differences),
        "parts": [asdict(part) for part in parts],
    }


def _targets(state: CampaignState, attempt: str | None, *, everything: bool) -> list[str]:
    """Return whose scripts are run again: the pick first, then its refit, then others."""
    handed_in = [each.id for each in state.works.codes() if each.submitted is not None]
    if attempt is not None:
        if attempt not in handed_in:
            raise CampaignError(
                f"{attempt} of {state.spec.id} handed nothing in",
                hint=f"these did: {', '.join(handed_in)}",
            )
        return [attempt]
    chosen, delivered = state.chosen(), state.delivered()
    if chosen is None or delivered is None:
        raise CampaignError(f"{state.spec.id}: no attempt handed anything in")
    wanted = [chosen.id, delivered.id, *(handed_in if everything else [])]
    return list(dict.fromkeys(wanted))


def _runtime(
    place: Path, campaign: str, state: CampaignState, sandbox: str | None, store: StoreFolders
) -> CampaignRuntime:
    assert state.split is not None
    folder = ProjectFolder(place)
    # DVC keeps no modes; labels are for us alone.
    SplitFolder(folder.splits / state.split.key).sealed.chmod(0o700)
    runtime = CampaignRuntime(folder, folder.campaign(campaign), foreign=True)
    # Never what the campaign asked for: its log may be a stranger's, and ask for no isolation.
    # And of its folders on the host, none: the store is the one of this project.
    own = {"sandbox": sandbox or "auto", "store": store}
    runtime.spec = runtime.spec.model_copy(update=own)
    return runtime


def _part(runtime: CampaignRuntime, state: CampaignState, work_id: str) -> _Part:
    attempt = state.works.attempt(work_id)
    submitted = attempt.submitted
    assert submitted is not None
    expected_score = attempt.score.value.value if attempt.score else None
    folder = runtime.folder.work(work_id)
    script = _script(state, folder, work_id)
    expected = runtime.project.published(runtime.folder.name, work_id)
    for path, sha256 in (
        (expected / "validation_submission.csv", submitted.validation_sha256),
        (expected / "submission.csv", submitted.test_sha256),
    ):
        if not path.is_file() or hash_file(path) != sha256:
            raise DataError(f"{work_id}: {path.name} in its solution is not what was graded")
    limit = time_limit(attempt.work, fold(read_log(folder.log, WORK_EVENTS)).cells)
    with tempfile.TemporaryDirectory(prefix="again-", dir=folder.root) as scratch:
        again = rerun(runtime, attempt.work, folder, script, expected, Path(scratch), limit)
        found = Path(scratch) / "found"
        validation, test = found / "validation_submission.csv", found / "submission.csv"
        sha256_found = hash_file(test) if test.is_file() else None
        score = None
        if expected_score is not None and validation.is_file() and test.is_file():
            report = runtime.grader_of(attempt.work.fold).grade(validation, test)
            score = report.score.value.value if report.score else None
    return _Part(
        attempt=work_id,
        verdict=again.agreement.verdict,
        difference=_explained(again.agreement.difference, score, expected_score),
        submission_sha256=sha256_found,
        expected_sha256=submitted.test_sha256,
        score=score,
        expected_score=expected_score,
        script=script.kind.value,
        seconds=again.result.seconds,
    )


def _explained(difference: str, score: float | None, expected: float | None) -> str:
    if not difference or score is None or expected is None:
        return difference
    if score == expected:
        return f"{difference}; the score is the same"
    return f"{difference}; the score is {score:.6g} instead of {expected:.6g}"


def _script(state: CampaignState, folder: WorkFolder, work_id: str) -> Script:
    """Return the script as the ref holds it, if it is what was recorded.

    Raises:
        DataError: it is missing, or was changed.
    """
    script = script_for(state, read_log(folder.log, WORK_EVENTS), work_id)
    assert script is not None
    try:
        lineage = AttemptLineage.model_validate_json(folder.lineage.read_text())
        assert lineage.script is not None
        text = read_untrusted(folder.root, lineage.script.file, limit=64 << 20).decode()
    except (OSError, ValueError, AssertionError, SubmissionError):
        raise DataError(f"{work_id}: its lineage or its script is missing or damaged") from None
    proved = state.proofs.get(work_id)
    kept = Script(script.kind, text, script.plain, script.validation, script.test)
    recorded = proved.script_sha256 if proved else lineage.script.sha256
    if kept.sha256 != recorded or lineage.script.sha256 != recorded:
        raise DataError(f"{work_id}: {lineage.script.file} is not the script that was recorded")
    return kept


def _environment_differences(state: CampaignState, work_id: str, spec: CampaignSpec) -> tuple[str, ...]:
    before = state.environment_of(work_id)
    if before is None:
        return ("the campaign did not record what it ran in",)
    now, _ = read_environment(spec.sandbox, own_code=False, store=spec.store)
    return before.differences(now)
