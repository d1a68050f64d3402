"""Open a bench: find its competitions, and specify the campaigns of all its cells."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from comind.app.campaign_opening import open_specified, resume_campaign
from comind.app.params import read_params
from comind.app.paths import find_or_fetch_competition
from comind.app.specification import expected_calls, specify_campaign
from comind.bench.plan import BenchPlan, Cell
from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder
from comind.campaign.log.campaign_settings import CampaignSettings
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.loop import read_state
from comind.competitions.competition_folder import load_competition
from comind.domain.competition import Competition
from comind.domain.value import validate_input
from comind.errors import CampaignError, CompetitionError, UsageError
from comind.grading.benchmarks import find_prepared
from comind.splits.checked_plan import prepare_split
from comind.system.hardware import usable_cores
from comind.system.plurals import quantity

_MAY_CHANGE = {"id", "agent_origin", "competition_folder", "traffic", "push", "closed_at"}
"""Fields of a specification that do not change what is compared."""


@dataclass(frozen=True, slots=True)
class BenchCell:
    """A cell with the campaign that it runs."""

    cell: Cell
    spec: CampaignSpec
    folder: CampaignFolder

    @property
    def opened(self) -> bool:
        """Whether its campaign was opened."""
        return self.folder.log.is_file()

    @property
    def ended(self) -> bool:
        """Whether its campaign has ended."""
        return self.opened and read_state(self.folder).ended is not None


@dataclass(frozen=True, slots=True)
class BenchEstimate:
    """Upper bounds on the rest of a bench: campaigns, time and cost."""

    campaigns: int
    seconds: float
    """By the time budgets; infinite where an arm has none."""
    usd: float | None
    """None where a price is not known, or replies are recorded."""
    tokens: int

    def __str__(self) -> str:
        """Return the estimate in one line."""
        time = "no time limit" if math.isinf(self.seconds) else f"at most {self.seconds / 3600:.1f} h"
        cost = "price unknown" if self.usd is None else f"about ${self.usd:.2f}"
        calls = f", about {self.tokens:,} tokens, {cost}" if self.tokens else ", no model calls"
        return f"{quantity(self.campaigns, 'campaign')}, {time}{calls}"


@dataclass(frozen=True, slots=True)
class Bench:
    """A plan with its cells in the order in which they run."""

    project: Path
    plan: BenchPlan
    cells: tuple[BenchCell, ...]

    @property
    def folder(self) -> Path:
        """Folder of results, tables and figures."""
        return ProjectFolder(self.project).benches / self.plan.name

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the bench for the length of the block.

        Raises:
            CampaignError: another process holds it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise CampaignError(f"{self.folder}: another process is running this bench") from None
        try:
            yield
        finally:
            lock.release()

    def left(self) -> list[BenchCell]:
        """Return the cells whose campaigns have not ended."""
        return [each for each in self.cells if not each.ended]

    def estimate(self) -> BenchEstimate:
        """Return what the cells that are left need at most."""
        left = self.left()
        seconds = [each.spec.budget.seconds or math.inf for each in left]
        estimates = [expected_calls(each.spec)[1] for each in left]
        known = [each for each in estimates if each is not None]
        usd = [each.usd for each in known if each.usd is not None]
        return BenchEstimate(
            len(left),
            math.fsum(seconds) / min(self.plan.at_once, max(1, len(left))),
            math.fsum(usd) if len(usd) == len(known) else None,
            sum(each.usage.prompt_tokens + each.usage.completion_tokens for each in known),
        )


def open_bench(project: Path, plan: BenchPlan) -> Bench:
    """Find a plan's competitions, and specify all its campaigns; opens none.

    Raises:
        UsageError: a competition or a value is invalid, or a campaign of this name in runs/ has other
            parameters.
    """
    plan = _with_cores(plan)
    _check_options(plan)
    competitions = {name: _load(name, project, plan.data) for name in plan.competitions}
    cells = []
    for cell in plan.cells():
        competition = competitions[cell.competition]
        name = plan.campaign(cell, competition.id)
        spec = specify_campaign(project, competition, plan.options(cell), plan.profiles(cell.arm), name)
        if not plan.after_deadline:
            _check_moment(cell, spec)
        cells.append(BenchCell(cell, spec, ProjectFolder(project).campaign(name)))
    _check_names(each.spec.id for each in cells)
    for each in cells:
        _check_same(each)
    return Bench(project, plan, tuple(cells))


def open_cell(bench: Bench, cell: BenchCell, notify: Callable[[str], None]) -> CampaignFolder:
    """Open the campaign of a cell, or resume it."""
    if cell.opened:
        return resume_campaign(bench.project, cell.spec.id, notify)
    return open_specified(bench.project, cell.spec)


def _with_cores(plan: BenchPlan) -> BenchPlan:
    """Give campaigns that run side by side equal shares of the cores, so that none depends on others."""
    if plan.at_once == 1 or "cores" in plan.common:
        return plan
    cores = max(1, usable_cores() // plan.at_once)
    return plan.model_copy(update={"common": {"cores": cores, **plan.common}})


def _load(name: str, project: Path, data: str | None) -> Competition:
    """Find, load and check a competition.

    Raises:
        CompetitionError: it is invalid, or has no true answers, neither there nor in MLE-bench's `data`.
    """
    loaded = load_competition(find_or_fetch_competition(name, project))
    prepare_split(loaded, read_params(project).prepare.seed, ProjectFolder(project).splits)
    prepared = find_prepared(Path(data), loaded.id) if data else None
    if prepared is None and not loaded.has_answers:
        raise CompetitionError(
            f"{loaded.folder}: has no true answers, on which arms are compared",
            hint="for a competition of MLE-bench, name its data folder as `data` in the plan",
        )
    return loaded


def _check_options(plan: BenchPlan) -> None:
    """Check that the values of all arms are parameters of `solve`."""
    arms = [(cell.arm, plan.options(cell)) for cell in plan.cells()[: len(plan.arms)]]
    for arm, values in (*arms, ("common", plan.common)):
        validate_input(CampaignSettings, values, f"bench {plan.name}: {arm}")


def _check_moment(cell: Cell, spec: CampaignSpec) -> None:
    """Check that an arm sees nothing of community and knowledge that followed the deadline."""
    if spec.closed_at is not None and (spec.cutoff is None or spec.cutoff > spec.closed_at):
        raise UsageError(
            f"{cell}: sees what was published {spec.visible_until()}",
            hint="leave out as_of, or allow it with after_deadline: true in the plan",
        )


def _check_names(names: Iterable[str]) -> None:
    """Check that no two competitions have the same id."""
    seen = set[str]()
    for name in names:
        if name in seen:
            raise UsageError(f"two cells have the name {name}: two competitions have the same id")
        seen.add(name)


def _check_same(cell: BenchCell) -> None:
    """Check that the campaign of a cell, where there is one, was opened with the plan's parameters.

    Raises:
        UsageError: it was not.
    """
    if not cell.opened:
        return
    recorded, planned = _compared(read_state(cell.folder).spec), _compared(cell.spec)
    for name, value in planned.items():
        if recorded[name] != value:
            raise UsageError(
                f"{cell.folder.name} was opened with {name} {recorded[name]}, now it is {value}",
                hint="give the bench another name, or change the plan back",
            )


def _compared(spec: CampaignSpec) -> dict[str, Any]:
    values = spec.model_dump(mode="json", exclude=_MAY_CHANGE)
    return values | {"max_usd": spec.budget.usd}  # no limit is `none` in logs of before the settings
