"""Reproduce a submission from its lineage, without model calls, and compare it with the original."""

import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from comind.adapters.dvc.restoring import find_campaign, restore_data, restore_logs, restore_settings
from comind.adapters.dvc.versioning import ensure_repository
from comind.app.current_environment import current_environment
from comind.app.params import read_params
from comind.campaign.log.campaign_folders import ProjectFolder, WorkFolder
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_events import WORK_EVENTS
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.reports.attempt_lineage import AttemptLineage, script_for
from comind.campaign.script.derive import Script
from comind.domain.resources import StoreFolders
from comind.errors import CampaignError, DataError, SubmissionError, UsageError
from comind.eventlog.log import read_log
from comind.grading.agreement import Verdict
from comind.splits.split_folder import SplitFolder
from comind.system.files import hash_file, read_untrusted
from comind.system.progress import step
from comind.system.temporary_folders import temporary_folder
from comind.wiring.leftovers import REPRODUCTION, reproductions
from comind.wiring.proof import rerun, time_limit
from comind.wiring.runtime import CampaignRuntime


@dataclass(frozen=True, slots=True)
class _Part:
    """One reproduced attempt; an element of `parts` with `--json`."""

    attempt: str
    verdict: Verdict
    difference: str
    submission_sha256: str | None
    expected_sha256: str
    score: float | None
    expected_score: float | None
    script: str
    seconds: float


def reproduce_submissions(
    project: Path, name: str, *, sandbox: str | None, everything: bool
) -> dict[str, Any]:
    """Run scripts of a campaign again; returns the JSON values of `comind reproduce`.

    Each step has a line on stderr before it begins.

    `project` is a git repository with the campaign's ref, or a clone of one; `name` a campaign,
    `CAMPAIGN/attempt-000`, or the id of an MLflow run. With `everything` all published solutions run,
    else the final pick and its refit. `sandbox` None is the strongest available.

    Raises:
        CampaignError: there is no such campaign or run, or it has no submission.
        LogError: a log was changed.
        DataError: data or script are not what was recorded.
        ServiceError: DVC, git or the sandbox is missing or refuses.
        UsageError: `everything` of one attempt.
    """
    with step(f"comind reproduce: looking for {name} in {project}"):
        campaign, attempt = find_campaign(project, name)
    if everything and attempt is not None:
        raise UsageError(f"--all: has no effect on {attempt} alone", hint=f"name {campaign}")
    if not (project / ".dvc" / "config").is_file():
        ensure_repository(project)
        restore_settings(project, campaign)
    with temporary_folder(reproductions(project), REPRODUCTION) as place:
        with step(f"comind reproduce: restoring the logs of {campaign}, and verifying them"):
            state = restore_logs(project, campaign, place)
        targets = _targets(state, attempt, everything=everything)
        with step(f"comind reproduce: restoring the data of {', '.join(targets)}, and verifying them"):
            restore_data(project, campaign, place, state, targets)
        store = read_params(project).store.below(project)
        runtime = _runtime(place, campaign, state, sandbox, store)
        try:
            parts = []
            for number, work_id in enumerate(targets, 1):
                parts.append(_part(runtime, state, work_id, f"{number} of {len(targets)}"))
        finally:
            runtime.close()
        with step("comind reproduce: comparing the environment"):
            differences = _environment_differences(state, targets[-1], runtime.spec)
    return _summarize(campaign, state, parts, differences)


def _summarize(
    campaign: str, state: CampaignState, parts: list[_Part], differences: tuple[str, ...]
) -> dict[str, Any]:
    """Combine the parts: verdict and hashes of the delivered file, score of the scored one.

    The script of a refit makes the delivered file alone; what became of other scripts is in their parts.
    """
    delivered = state.delivered()
    submission = next((p for p in parts if delivered and p.attempt == delivered.id), parts[-1])
    scored = next((part for part in parts if part.expected_score is not None), submission)
    return {
        "campaign": campaign,
        "attempt": submission.attempt,
        "verdict": submission.verdict.value,
        "difference": submission.difference,
        "submission_sha256": submission.submission_sha256,
        "expected_sha256": submission.expected_sha256,
        "score": scored.score,
        "expected_score": scored.expected_score,
        "environment_matches": not differences,
        "environment_differences": list(differences),
        "parts": [asdict(part) for part in parts],
    }


def _targets(state: CampaignState, attempt: str | None, *, everything: bool) -> list[str]:
    """Return the attempts whose scripts run again: the pick first, then its refit, then others."""
    submitted = [each.id for each in state.works.codes() if each.submitted is not None]
    if attempt is not None:
        if attempt not in submitted:
            raise CampaignError(
                f"{attempt} of {state.spec.id} has no submission",
                hint=f"these have one: {', '.join(submitted)}",
            )
        return [attempt]
    chosen, delivered = state.chosen(), state.delivered()
    if chosen is None or delivered is None:
        raise CampaignError(f"{state.spec.id}: no attempt has a submission")
    wanted = [chosen.id, delivered.id, *(submitted if everything else [])]
    return list(dict.fromkeys(wanted))


def _runtime(
    place: Path, campaign: str, state: CampaignState, sandbox: str | None, store: StoreFolders
) -> CampaignRuntime:
    assert state.split is not None
    folder = ProjectFolder(place)
    # DVC does not restore modes; labels must not be readable by others.
    SplitFolder(folder.splits / state.split.key).sealed.chmod(0o700)
    runtime = CampaignRuntime(folder, folder.campaign(campaign), foreign=True)
    # The log is not trusted: its sandbox may be unsealed, and its store may name any folder of the host.
    own = {"sandbox": sandbox or "auto", "store": store}
    runtime.spec = runtime.spec.model_copy(update=own)
    return runtime


def _part(runtime: CampaignRuntime, state: CampaignState, work_id: str, number: str) -> _Part:
    attempt = state.works.attempt(work_id)
    submitted = attempt.submitted
    assert submitted is not None
    expected_score = attempt.score.value.value if attempt.score else None
    folder = runtime.folder.work(work_id)
    script = _script(state, folder, work_id)
    expected = runtime.project.published(runtime.folder.name, work_id)
    for path, sha256 in (
        (expected / script.kept.validation, submitted.validation_sha256),
        (expected / script.kept.test, submitted.test_sha256),
    ):
        if not path.is_file() or hash_file(path) != sha256:
            raise DataError(f"{work_id}: {path.name} in its solution is not what was graded")
    cells = WORK_LOG.read(folder.log).cells
    took = sum(cell.result.seconds for cell in cells if cell.result is not None)
    limit = time_limit(state, attempt.work, cells)
    about = f"script {number}: {work_id}, whose cells took {took:.0f} s; at most {limit:.0f} s"
    with (
        step(f"comind reproduce: {about}"),
        tempfile.TemporaryDirectory(prefix="again-", dir=folder.root) as scratch,
    ):
        again = rerun(runtime, attempt.work, folder, script, expected, Path(scratch), limit)
        found = Path(scratch) / "found"
        validation, test = found / script.kept.validation, found / script.kept.test
        sha256_found = hash_file(test) if test.is_file() else None
        score = None
        if expected_score is not None and validation.is_file() and test.is_file():
            report = runtime.grader_of(attempt.work.fold).grade(validation, test)
            score = report.score.value.value if report.score else None
    ended = f"{work_id}: {again.agreement.verdict} after {again.result.seconds:.0f} s"
    sys.stderr.write(f"comind reproduce: {ended}\n")
    return _Part(
        attempt=work_id,
        verdict=again.agreement.verdict,
        difference=_explained(again.agreement.difference, score, expected_score),
        submission_sha256=sha256_found,
        expected_sha256=submitted.test_sha256,
        score=score,
        expected_score=expected_score,
        script=script.origin.value,
        seconds=again.result.seconds,
    )


def _explained(difference: str, score: float | None, expected: float | None) -> str:
    if not difference or score is None or expected is None:
        return difference
    if score == expected:
        return f"{difference}; the score is the same"
    return f"{difference}; the score is {score:.6g} instead of {expected:.6g}"


def _script(state: CampaignState, folder: WorkFolder, work_id: str) -> Script:
    """Read an attempt's script from the ref, and verify its hash.

    Raises:
        DataError: it is missing, or not what was recorded.
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
    kept = Script(script.origin, text, script.plain, script.validation, script.test)
    recorded = proved.script_sha256 if proved else lineage.script.sha256
    if kept.sha256 != recorded or lineage.script.sha256 != recorded:
        raise DataError(f"{work_id}: {lineage.script.file} is not the script that was recorded")
    return kept


def _environment_differences(state: CampaignState, work_id: str, spec: CampaignSpec) -> tuple[str, ...]:
    before = state.environment_of(work_id)
    if before is None:
        return ("the campaign did not record what it ran in",)
    now, _ = current_environment(spec.sandbox, own_code=False, store=spec.store)
    return before.differences(now)
