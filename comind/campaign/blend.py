"""A blend: an average of scored steps that the grader has selected, planned and run by the platform."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Protocol

from comind.baseline.bundle import bundle
from comind.campaign.attempt import WORK_EVENTS, SubmissionNames
from comind.campaign.context import CodeContext
from comind.campaign.events import BlendJudged, WorkPlanned
from comind.campaign.folder import CampaignFolder
from comind.campaign.folds import fold_runs
from comind.campaign.history import AttemptState, CellRun, fold
from comind.campaign.loop import Campaign, Executor, finish_begun
from comind.campaign.outcome import CodeResult, Submitted
from comind.campaign.plan import Code
from comind.campaign.script import cells_of, derive
from comind.campaign.state import CampaignState
from comind.campaign.works import Attempt
from comind.domain.blend import Blend, BlendMember
from comind.domain.draft import Draft, Operator
from comind.domain.metric import MetricValue
from comind.errors import CampaignError
from comind.evaluation.blending.selection import MOST_MEMBERS
from comind.evaluation.grader_port import NO_FOLDS, BlendReport
from comind.eventlog.log import read_log
from comind.session.base import CellStatus
from comind.session.environment import thread_settings
from comind.session.packages import read_installed
from comind.system.failpoints import failpoint
from comind.system.files import hash_file

__all__ = [
    "BLEND_ROLE",
    "Blender",
    "Candidate",
    "average_members",
    "blend",
    "candidates",
    "members_on_validation",
]

BLEND_ROLE = "blend"

_MOST_ASKED = 40  # the grader looks at the best of them that differ
_LEAST_SECONDS = 5.0  # to open a session and to average files
_SLOWER = 1.2  # of a refit: it has more rows


class Blender(Protocol):
    """Whoever knows the labels, and selects an average by them."""

    def blend(
        self, candidates: Sequence[Path], folds: Mapping[int, Sequence[Path]] = NO_FOLDS
    ) -> BlendReport:
        """Return the best average of validation submissions, given the best first.

        With `folds`, the submissions of the same candidates for these: it is judged on their rows, too.
        """
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A step that was scored."""

    attempt: Attempt
    submitted: Submitted
    value: MetricValue
    seconds: float
    """How long the cells ran that led to it."""


def blend(
    campaign: Campaign,
    executor: Executor,
    blender: Blender,
    progress: Callable[[CampaignState], None] | None = None,
) -> None:
    """Have scored steps averaged, where that is wanted and the grader finds an average worth having.

    What the grader says is recorded before anything follows from it, so that a campaign that is taken
    up again plans the same blend. With fewer than two scored steps nothing is recorded. Where at least
    two attempts ran on all folds, these alone are averaged, and judged over the rows of all folds.
    """
    if campaign.state.spec.blend and campaign.state.works.blend() is None:
        if campaign.state.judged is None:
            found = candidates(campaign.state, campaign.folder)
            if len(found) > 1:
                campaign.record(_judged(found, campaign, blender))
                failpoint("blend-judged")
        judged = campaign.state.judged
        if judged is not None and judged.blend is not None:
            work = _work(judged.blend, campaign.state, campaign.folder)
            campaign.record(WorkPlanned(id=campaign.state.next_id(work), work=work))
            failpoint("work-planned")
    finish_begun(campaign, executor, progress)


def members_on_validation(campaign: Campaign, blender: Blender, among: Sequence[str]) -> tuple[str, ...]:
    """Return which of some attempts a blend has that the validation rows alone would choose.

    It is about what they handed in. None where no blend is wanted, or the grader finds none.
    """
    found = candidates(campaign.state, campaign.folder, among) if campaign.state.spec.blend else []
    if len(found) <= 1:
        return ()
    report = blender.blend([_validation(each, campaign.folder) for each in found])
    return () if report.reason else tuple(found[place].attempt.id for place in report.members)


def candidates(
    state: CampaignState, folder: CampaignFolder, among: Collection[str] | None = None
) -> list[Candidate]:
    """Return the scored steps that can be averaged, the best first; of the same files only one.

    With `among` those alone that these attempts handed in.

    Left out are attempts that had packages installed, or another toolbox than the best one: a blend's
    script runs in one environment.

    Raises:
        CampaignError: a submission was changed after it was graded.
    """
    toolbox: str | None = None
    found: list[Candidate] = []
    for attempt in state.works.best_first():
        given = attempt.work.resources.toolbox if attempt.work.resources else ""
        toolbox = given if toolbox is None else toolbox
        if given == toolbox and not read_installed(folder.work(attempt.id).installed):
            found += _scored_steps(attempt, fold(read_log(folder.work(attempt.id).log, WORK_EVENTS)))
    if among is not None:
        found = [each for each in found if each.attempt.id in among and _is_final(each)]
    found.sort(key=lambda each: each.value, reverse=True)
    kept: dict[tuple[str, str], Candidate] = {}
    for each in found:
        kept.setdefault((each.submitted.validation_sha256, each.submitted.test_sha256), each)
    best = list(kept.values())[:_MOST_ASKED]
    for each in best:
        _check_files(each, folder)
    return best


def average_members(work: Code, context: CodeContext) -> CodeResult:
    """Run the program of a blend, which finds its members' submissions and averages them."""
    step = context.step("Average the members' submissions.", work.draft.codebase)
    if step.result.status is CellStatus.DIED and context.steps_left:
        step = context.step("Average once more.", work.draft.codebase)
    said = step.refused or step.result.error.strip().rpartition("\n")[2]
    return CodeResult(report=said or work.draft.method)


def _scored_steps(attempt: Attempt, ran: AttemptState) -> list[Candidate]:
    by_step: dict[int, Candidate] = {}
    for cell in ran.cells:
        score = cell.report.score if cell.report is not None else None
        if score is not None and cell.submitted is not None:
            led = [*ran.replayable(cell.number), cell]
            seconds = round(sum(each.result.seconds for each in led if each.result), 3)
            by_step[cell.step] = Candidate(attempt, cell.submitted, score.value, seconds)
    return list(by_step.values())


def _judged(found: Sequence[Candidate], campaign: Campaign, blender: Blender) -> BlendJudged:
    left = campaign.state.seconds_left()
    if left < _LEAST_SECONDS:
        return BlendJudged(candidates=len(found), reason=f"{left:.0f} s are left")
    ran = fold_runs(campaign.state)
    on_all = [each for each, runs in ran.runs.items() if len(runs) == len(ran.folds)]
    finalists = candidates(campaign.state, campaign.folder, on_all)
    folds: dict[int, Sequence[Path]] = {}
    found = _refittable(finalists if len(finalists) > 1 else found, campaign.state)
    if len(finalists) > 1:
        runs = [ran.runs[each.attempt.id] for each in found]
        for place, number in enumerate(ran.folds):
            folds[number] = [campaign.folder.validation_of(each[place]) for each in runs]
    report = blender.blend([_validation(each, campaign.folder) for each in found], folds)
    told = BlendJudged(candidates=report.candidates, folds=len(folds))
    if report.reason or report.gain is None:
        return told.model_copy(update={"reason": report.reason or "nothing was gained"})
    chosen = Blend(
        mean=report.mean,
        ids=report.ids,
        targets=report.targets,
        members=tuple(
            BlendMember(
                attempt=found[place].attempt.id,
                step=found[place].submitted.step,
                weights=weights,
                seconds=found[place].seconds,
            )
            for place, weights in zip(report.members, report.weights, strict=True)
        ),
        gain=report.gain,
    )
    return told.model_copy(update={"blend": chosen})


def _refittable(found: Sequence[Candidate], state: CampaignState) -> list[Candidate]:
    """Return candidates of which any blend can be refitted in what is left, the best first.

    All of them where that fits, else the best steps of the best attempts; all, too, where no two
    of these fit: then the blend is delivered as it was scored.
    """
    left = (state.seconds_left() - _LEAST_SECONDS) / _SLOWER - _LEAST_SECONDS

    def fit(chosen: Sequence[Candidate]) -> bool:
        longest = sorted((each.seconds for each in chosen), reverse=True)[:MOST_MEMBERS]
        return math.fsum(longest) <= left

    if not state.spec.refit or fit(found):
        return list(found)
    kept: dict[str, Candidate] = {}
    for each in found:
        if each.attempt.id not in kept and fit([*kept.values(), each]):
            kept[each.attempt.id] = each
    return list(kept.values()) if len(kept) > 1 else list(found)


def _is_final(candidate: Candidate) -> bool:
    """Whether a step is what its attempt handed in, which is what ran on folds."""
    final = candidate.attempt.submitted
    return final is not None and final.step == candidate.submitted.step


def _check_files(candidate: Candidate, folder: CampaignFolder) -> None:
    work, submitted = folder.work(candidate.attempt.id), candidate.submitted
    for path, sha256 in (
        (work.validation_submission(submitted.step), submitted.validation_sha256),
        (work.test_submission(submitted.step), submitted.test_sha256),
    ):
        if hash_file(path) != sha256:
            raise CampaignError(f"{path} was changed after it was graded")


def _validation(candidate: Candidate, folder: CampaignFolder) -> Path:
    return folder.work(candidate.attempt.id).validation_submission(candidate.submitted.step)


def _work(chosen: Blend, state: CampaignState, folder: CampaignFolder) -> Code:
    members = [state.works.attempt(each.attempt) for each in chosen.members]
    parents = tuple(dict.fromkeys(each.id for each in members))
    draft = Draft(
        title=f"blend of {len(chosen.members)} scored steps",
        method=f"A weighted average ({chosen}).",
        codebase=_program(chosen, folder),
    )
    return Code(
        operator=Operator.BLEND,
        draft=draft,
        role=BLEND_ROLE,
        parents=parents,
        inputs=tuple(dict.fromkeys(given for each in members for given in each.work.inputs)),
        session="script",
        budget=state.work_budget(whole=True),
        resources=members[0].work.resources,
        blend=chosen,
    )


def _program(chosen: Blend, folder: CampaignFolder) -> str:
    """Return the program of a blend: its members' scripts with their weights, and how to average."""
    listed = []
    scripts = []
    for number, member in enumerate(chosen.members):
        ran = fold(read_log(folder.work(member.attempt).log, WORK_EVENTS))
        cells: list[CellRun] = list(ran.cells)
        script = derive(cells_of(cells, member.step))
        lines = "".join(f"    {line!r}\n" for line in script.text.splitlines(keepends=True))
        scripts.append(f"# {member}\nscript_{number} = (\n{lines})\n")
        told = {
            "name": member.attempt,
            "weights": list(member.weights),
            "file": script.file_name,
            "validation": script.validation,
            "test": script.test,
            "environment": thread_settings(ran.threads) if ran.threads else {},
        }
        listed.append(f'    {{"script": script_{number}, **{told!r}}},\n')
    usual = SubmissionNames()
    ending = (
        f"{''.join(scripts)}"
        f"members = [\n{''.join(listed)}]\n"
        f"blend(members, {list(chosen.ids)!r}, {list(chosen.targets)!r}, {chosen.mean!r}, "
        f"{usual.validation!r}, {usual.test!r})\n"
    )
    return bundle("averaging", ending, resources.files("comind.evaluation.blending"))
