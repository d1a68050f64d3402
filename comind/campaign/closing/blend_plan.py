"""Plan a blend: a weighted average of scored steps, or a stack, with weights found by the grader."""

import math
import statistics
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from comind.baseline.bundle import bundle
from comind.campaign.closing.fold_runs import fold_runs
from comind.campaign.log.campaign_events import BlendJudged
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import Submitted
from comind.campaign.log.solutions_read import refit_order
from comind.campaign.log.work import Code
from comind.campaign.log.work_events import SubmissionNames
from comind.campaign.log.work_items import Attempt
from comind.campaign.log.work_state import WORK_LOG, AttemptState
from comind.campaign.loop import Campaign
from comind.campaign.script.cells import cells_of
from comind.campaign.script.derive import derive
from comind.domain.draft import Blend, BlendMember, Draft, Operator
from comind.domain.metric import MetricValue, ValidationScore
from comind.domain.problem import OUT_OF_FOLD_PROBABILITIES, VALIDATION_PROBABILITIES
from comind.grading.blending.stacking import LEAST_ROWS
from comind.grading.grader_port import BlendCandidate, CampaignGrader
from comind.session.packages import read_installed
from comind.session.program import thread_settings
from comind.system.failpoints import failpoint

_MOST_CANDIDATES = 40  # sent to the grader, best first
_LEAST_SECONDS = 5.0  # to open a session and to average files
_FAR = 3.0  # standard errors by which predictions that are out of fold by mistake stand out


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scored step."""

    attempt: Attempt
    submitted: Submitted
    score: ValidationScore
    out_of_fold: ValidationScore | None
    """Score of its out-of-fold predictions, if it has any."""
    seconds: float
    """Running time of the cells that it depends on."""
    beside: tuple[str, ...] = ()
    """Names of the files with what it keeps beside labels for validation and train."""

    @property
    def value(self) -> MetricValue:
        """Its validation score, as it is compared."""
        return self.score.value

    @property
    def is_final(self) -> bool:
        """Whether it is its attempt's final submission, which ran on folds."""
        final = self.attempt.submitted
        return final is not None and final.step == self.submitted.step

    def file(self, folder: CampaignFolder) -> Path:
        """Return the path of its validation submission."""
        return folder.work(self.attempt.id).validation_submission(self.submitted.step)


def blend(campaign: Campaign, execute: Callable[[], None], grader: CampaignGrader) -> None:
    """Plan and run a blend, if the spec asks for one and the grader accepts one.

    `execute` runs what is planned. The grader's report is recorded first, so a resumed campaign plans
    the same blend. With fewer than two scored steps nothing is recorded.
    """
    if campaign.state.spec.blend and campaign.state.works.blend() is None:
        if campaign.state.judged is None and (made := offers(campaign.state, campaign.folder)):
            campaign.record(_judged(made, campaign, grader))
            failpoint("blend-judged")
        judged = campaign.state.judged
        if judged is not None and judged.blend is not None:
            campaign.plan(_work(judged.blend, campaign.state, campaign.folder))
            failpoint("work-planned")
    execute()


def members_on_validation(
    campaign: Campaign, grader: CampaignGrader, among: Sequence[str]
) -> tuple[str, ...]:
    """Return the members of the blend of these attempts' submissions, selected on validation alone.

    Those with out-of-fold predictions are left out where a stack can be learned on these, as it needs no
    folds of them. Empty if no blend is wanted, or the grader finds none.
    """
    found = candidates(campaign.state, campaign.folder, among) if campaign.state.spec.blend else []
    if len(found) <= 1:
        return ()
    report = grader.blend([BlendCandidate(each.file(campaign.folder)) for each in found])
    chosen = [] if report.reason else [found[place] for place in report.members]
    stacked = _stacked(candidates(campaign.state, campaign.folder))
    return tuple(each.attempt.id for each in chosen if each.attempt.id not in stacked)


def candidates(
    state: CampaignState, folder: CampaignFolder, among: Collection[str] | None = None
) -> list[Candidate]:
    """Return the scored steps that can be averaged, best first, without duplicates.

    With `among`, only the final submissions of these attempts. Attempts that installed packages, or with
    another toolbox than the best one, are left out: a blend's script runs in one environment.

    Raises:
        CampaignError: a submission was changed after it was graded.
    """
    toolbox: str | None = None
    found: list[Candidate] = []
    for attempt in state.works.best_first():
        given = attempt.work.resources.toolbox if attempt.work.resources else ""
        toolbox = given if toolbox is None else toolbox
        if given == toolbox and not read_installed(folder.work(attempt.id).installed):
            found += _scored_steps(attempt, WORK_LOG.read(folder.work(attempt.id).log))
    if among is not None:
        found = [each for each in found if each.attempt.id in among and each.is_final]
    found.sort(key=lambda each: each.value, reverse=True)
    kept: dict[tuple[str, str], Candidate] = {}
    for each in found:
        kept.setdefault((each.submitted.validation_sha256, each.submitted.test_sha256), each)
    best = list(kept.values())[:_MOST_CANDIDATES]
    for each in best:
        folder.work(each.attempt.id).verify(each.submitted)
    return best


def _scored_steps(attempt: Attempt, ran: AttemptState) -> list[Candidate]:
    by_step: dict[int, Candidate] = {}
    for cell in ran.cells:
        score = cell.report.score if cell.report is not None else None
        kept = attempt.rejected or not cell.rejected  # a rejected attempt has no other step
        if score is not None and cell.submitted is not None and kept:
            cells = ran.program_of(cell)
            seconds = round(sum(each.result.seconds for each in cells if each.result), 3)
            own = cell.out_of_fold.score if cell.out_of_fold is not None else None
            right = cell.probabilities is not None and cell.probabilities.valid
            names = (VALIDATION_PROBABILITIES, OUT_OF_FOLD_PROBABILITIES) if right else ()
            beside = tuple(name for name in names if name in cell.submitted.probabilities)
            by_step[cell.step] = Candidate(attempt, cell.submitted, score, own, seconds, beside)
    return list(by_step.values())


def _stacked(found: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    """Return the candidates that can be stacked, by attempt; none if a single attempt has some.

    They have out-of-fold predictions of enough rows. Left out is what scores far better out of fold
    than on validation, compared with the others: it was fitted on rows that it predicts.
    """
    gaps = {
        number: each.out_of_fold.value.signed - each.value.signed
        for number, each in enumerate(found)
        if each.out_of_fold is not None and each.out_of_fold.rows >= LEAST_ROWS
    }
    usual = statistics.median(gaps.values()) if gaps else 0.0
    stacked: dict[str, list[Candidate]] = {}
    for number, gap in gaps.items():
        if gap - usual <= _FAR * found[number].score.interval.standard_error:
            stacked.setdefault(found[number].attempt.id, []).append(found[number])
    return stacked if len(stacked) > 1 else {}


class Offer(NamedTuple):
    """What the grader is asked to blend."""

    steps: Sequence[Candidate]
    asked: Sequence[BlendCandidate]
    """The same steps, for the grader."""
    folds: tuple[int, ...]
    """The further folds whose rows select and judge, too."""


def offers(state: CampaignState, folder: CampaignFolder) -> list[Offer]:
    """Return what the grader is asked to blend, one after another; nothing of one step.

    First all steps, if a stack can be learned of some. Then the attempts that ran on all folds, if there
    are at least two, else all steps.

    Raises:
        CampaignError: a submission was changed after it was graded.
    """
    found, ran = candidates(state, folder), fold_runs(state)
    if len(found) <= 1:
        return []
    on_all = [each for each, runs in ran.runs.items() if len(runs) == len(ran.folds)]
    of_folds = {each: tuple(map(folder.validation_of, ran.runs[each])) for each in on_all}
    finalists = candidates(state, folder, on_all)
    made = []
    if stacked := _stacked(found):
        asked = []
        for each in found:
            own: tuple[Path, ...] = ()
            if each in stacked.get(each.attempt.id, ()):
                own = (folder.work(each.attempt.id).out_of_fold(each.submitted.step),)
            elif each.is_final:
                own = of_folds.get(each.attempt.id, ())
            asked.append(_asked(each, state, folder, own=own))
        made.append(Offer(found, asked, ()))
    if len(finalists) > 1:
        asked = [_asked(each, state, folder, folds=of_folds[each.attempt.id]) for each in finalists]
        made.append(Offer(finalists, asked, ran.folds))
    elif not made:
        made.append(Offer(found, [_asked(each, state, folder) for each in found], ()))
    return made


def _asked(
    candidate: Candidate,
    state: CampaignState,
    folder: CampaignFolder,
    *,
    folds: tuple[Path, ...] = (),
    own: tuple[Path, ...] = (),
) -> BlendCandidate:
    """Return a candidate for the grader; its time is that of its code and of solutions that it reads."""
    read = refit_order(state.works, candidate.attempt.id)[:-1]
    seconds = candidate.seconds + math.fsum(map(state.time.code_seconds, read))
    place, names = folder.work(candidate.attempt.id), candidate.beside
    kept = place.probabilities(candidate.submitted)
    beside = tuple(kept[name] for name in names)
    return BlendCandidate(candidate.file(folder), folds, own, beside, seconds)


def _judged(made: Sequence[Offer], campaign: Campaign, grader: CampaignGrader) -> BlendJudged:
    """Return what the grader says of the first offer that it accepts, or judges on out-of-fold rows.

    Of the last one if there is none.
    """
    left = campaign.state.seconds_left()
    if left < _LEAST_SECONDS:
        return BlendJudged(candidates=len(made[0].steps), reason=f"{left:.0f} s are left")
    for offered in made:
        limit = most_seconds(offered.asked, campaign.state)
        report = grader.blend(offered.asked, offered.folds, limit)
        if not report.reason or report.out_of_fold_rows:
            break
    found = offered.steps
    judged = BlendJudged(candidates=report.candidates, folds=len(offered.folds))
    if report.reason or report.gain is None:
        return judged.model_copy(update={"reason": report.reason or "nothing was gained"})
    weighted = [(found[place], each) for place, each in zip(report.members, report.weights, strict=True)]
    members = tuple(
        BlendMember(
            attempt=each.attempt.id, step=each.submitted.step, weights=weights, seconds=each.seconds
        )
        for each, weights in weighted
    )
    chosen = Blend(
        mean=report.mean,
        ids=report.ids,
        targets=report.targets,
        members=members,
        gain=report.gain,
        offsets=report.offsets,
        labels=report.labels,
        stacked=report.stacked,
        out_of_fold_rows=report.out_of_fold_rows,
    )
    return judged.model_copy(update={"blend": chosen})


def most_seconds(asked: Sequence[BlendCandidate], state: CampaignState) -> float:
    """Return how long the members' code may run for a refit of the blend to fit into the time left.

    Without a limit if no two fit: then the blend is delivered without a refit.
    """
    most = (state.seconds_left() - 2 * _LEAST_SECONDS) / state.time.refit_seconds(1.0)
    two = math.fsum(sorted(each.seconds for each in asked)[:2])
    return most if state.spec.refit and two <= most else math.inf


def _work(chosen: Blend, state: CampaignState, folder: CampaignFolder) -> Code:
    members = [state.works.attempt(each.attempt) for each in chosen.members]
    parents = tuple(dict.fromkeys(each.id for each in members))
    draft = Draft(
        title=f"blend of {len(chosen.members)} scored steps",
        method=f"A weighted {'sum' if chosen.offsets else 'average'} ({chosen}).",
        codebase=_program(chosen, folder),
    )
    return Code(
        operator=Operator.BLEND,
        draft=draft,
        role=Operator.BLEND.value,
        parents=parents,
        inputs=tuple(dict.fromkeys(given for each in members for given in each.work.inputs)),
        session="script",
        budget=state.work_budget(whole=True),
        resources=members[0].work.resources,
        blend=chosen,
    )


def _program(chosen: Blend, folder: CampaignFolder) -> str:
    """Return the program of a blend: its members' scripts with their weights, and the averaging code."""
    listed, scripts = [], []
    for number, member in enumerate(chosen.members):
        ran = WORK_LOG.read(folder.work(member.attempt).log)
        script = derive(cells_of(ran.cells, member.step))
        lines = "".join(f"    {line!r}\n" for line in script.text.splitlines(keepends=True))
        scripts.append(f"# {member}\nscript_{number} = (\n{lines})\n")
        options = {
            "name": member.attempt,
            "weights": list(member.weights),
            "file": script.file_name,
            "validation": script.validation,
            "test": script.test,
            "environment": thread_settings(ran.threads) if ran.threads else {},
        }
        listed.append(f'    {{"script": script_{number}, **{options!r}}},\n')
    usual = SubmissionNames()
    offsets = f", offsets={list(chosen.offsets)!r}" if chosen.offsets else ""
    offsets += f", labels={list(chosen.labels)!r}" if chosen.labels else ""
    ending = (
        f"{''.join(scripts)}"
        f"members = [\n{''.join(listed)}]\n"
        f"blend(members, {list(chosen.ids)!r}, {list(chosen.targets)!r}, {chosen.mean!r}, "
        f"{usual.validation!r}, {usual.test!r}{offsets})\n"
    )
    return bundle("averaging", ending, resources.files("comind.grading.blending"))
