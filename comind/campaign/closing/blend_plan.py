"""Plan a blend: a weighted average of scored steps, with members and weights selected by the grader."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

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
from comind.domain.metric import MetricValue
from comind.grading.blending.selection import MOST_MEMBERS
from comind.grading.grader_port import CampaignGrader
from comind.session.packages import read_installed
from comind.session.program import thread_settings
from comind.system.failpoints import failpoint

_MOST_CANDIDATES = 40  # sent to the grader, best first
_LEAST_SECONDS = 5.0  # to open a session and to average files


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A scored step."""

    attempt: Attempt
    submitted: Submitted
    value: MetricValue
    seconds: float
    """Running time of the cells that it depends on."""

    @property
    def is_final(self) -> bool:
        """Whether it is its attempt's final submission, which ran on folds."""
        final = self.attempt.submitted
        return final is not None and final.step == self.submitted.step

    def file(self, folder: CampaignFolder) -> Path:
        """Return the path of its validation submission."""
        return folder.work(self.attempt.id).validation_submission(self.submitted.step)


def blend(campaign: Campaign, execute: Callable[[], None], grader: CampaignGrader) -> None:
    """Plan and run a blend, if the spec asks for one and the grader finds an average that is better.

    `execute` runs what is planned. The grader's report is recorded first, so a resumed campaign plans
    the same blend. With fewer than two scored steps nothing is recorded. If at least two attempts ran on
    all folds, only these are averaged, and judged over the rows of all folds.
    """
    if campaign.state.spec.blend and campaign.state.works.blend() is None:
        if campaign.state.judged is None:
            found = candidates(campaign.state, campaign.folder)
            if len(found) > 1:
                campaign.record(_judged(found, campaign, grader))
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

    Empty if no blend is wanted, or the grader finds none.
    """
    found = candidates(campaign.state, campaign.folder, among) if campaign.state.spec.blend else []
    if len(found) <= 1:
        return ()
    report = grader.blend([each.file(campaign.folder) for each in found])
    return () if report.reason else tuple(found[place].attempt.id for place in report.members)


def candidates(
    state: CampaignState, folder: CampaignFolder, among: Collection[str] | None = None
) -> list[_Candidate]:
    """Return the scored steps that can be averaged, best first, without duplicates.

    With `among`, only the final submissions of these attempts. Attempts that installed packages, or with
    another toolbox than the best one, are left out: a blend's script runs in one environment.

    Raises:
        CampaignError: a submission was changed after it was graded.
    """
    toolbox: str | None = None
    found: list[_Candidate] = []
    for attempt in state.works.best_first():
        given = attempt.work.resources.toolbox if attempt.work.resources else ""
        toolbox = given if toolbox is None else toolbox
        if given == toolbox and not read_installed(folder.work(attempt.id).installed):
            found += _scored_steps(attempt, WORK_LOG.read(folder.work(attempt.id).log))
    if among is not None:
        found = [each for each in found if each.attempt.id in among and each.is_final]
    found.sort(key=lambda each: each.value, reverse=True)
    kept: dict[tuple[str, str], _Candidate] = {}
    for each in found:
        kept.setdefault((each.submitted.validation_sha256, each.submitted.test_sha256), each)
    best = list(kept.values())[:_MOST_CANDIDATES]
    for each in best:
        folder.work(each.attempt.id).verify(each.submitted)
    return best


def _scored_steps(attempt: Attempt, ran: AttemptState) -> list[_Candidate]:
    by_step: dict[int, _Candidate] = {}
    for cell in ran.cells:
        score = cell.report.score if cell.report is not None else None
        kept = attempt.rejected or not cell.rejected  # a rejected attempt has no other step
        if score is not None and cell.submitted is not None and kept:
            cells = ran.program_of(cell)
            seconds = round(sum(each.result.seconds for each in cells if each.result), 3)
            by_step[cell.step] = _Candidate(attempt, cell.submitted, score.value, seconds)
    return list(by_step.values())


def _judged(found: Sequence[_Candidate], campaign: Campaign, grader: CampaignGrader) -> BlendJudged:
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
    report = grader.blend([each.file(campaign.folder) for each in found], folds)
    judged = BlendJudged(candidates=report.candidates, folds=len(folds))
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
        mean=report.mean, ids=report.ids, targets=report.targets, members=members, gain=report.gain
    )
    return judged.model_copy(update={"blend": chosen})


def _refittable(found: Sequence[_Candidate], state: CampaignState) -> list[_Candidate]:
    """Return candidates of which any blend can be refitted in the time left, best first.

    All of them if they fit, else the best steps of the best attempts. All of them also if no two fit:
    then the blend is delivered without a refit.
    """
    left = state.seconds_left() - 2 * _LEAST_SECONDS

    def seconds(each: _Candidate) -> float:
        read = refit_order(state.works, each.attempt.id)[:-1]
        return each.seconds + math.fsum(map(state.time.code_seconds, read))

    def fit(chosen: Sequence[_Candidate]) -> bool:
        longest = sorted(map(seconds, chosen), reverse=True)[:MOST_MEMBERS]
        return state.time.refit_seconds(math.fsum(longest)) <= left

    if not state.spec.refit or fit(found):
        return list(found)
    kept: dict[str, _Candidate] = {}
    for each in found:
        if each.attempt.id not in kept and fit([*kept.values(), each]):
            kept[each.attempt.id] = each
    return list(kept.values()) if len(kept) > 1 else list(found)


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
    ending = (
        f"{''.join(scripts)}"
        f"members = [\n{''.join(listed)}]\n"
        f"blend(members, {list(chosen.ids)!r}, {list(chosen.targets)!r}, {chosen.mean!r}, "
        f"{usual.validation!r}, {usual.test!r})\n"
    )
    return bundle("averaging", ending, resources.files("comind.grading.blending"))
