"""Count failures by kind, and tokens and dollars by role."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_state import AttemptState
from comind.campaign.reports.campaign_view import CampaignView
from comind.campaign.reports.page.provenance_rows import Link
from comind.domain.spend import Spend
from comind.domain.value import one_line
from comind.session.output import error_line
from comind.session.session_ports import CellResult, CellStatus

_MOST_LINKS = 6
_MOST_ROWS = 30
_NAME = 120


@dataclass(frozen=True, slots=True)
class CountRow:
    """A kind of failure, its count, and the work it occurred in."""

    what: str
    failure: str
    count: int
    share: float
    """Of the largest count, from 0 to 1."""
    places: tuple[Link, ...]
    more: int
    """Number of further pieces of work."""


@dataclass(frozen=True, slots=True)
class RoleRow:
    """Usage of one role's calls."""

    role: str
    spend: Spend
    share: float
    """Of all dollars, or without dollars of all tokens; from 0 to 1."""


def failure_rows(state: CampaignState, works: Mapping[str, AttemptState]) -> list[CountRow]:
    """Return failures of work, cells and requests by kind, the most frequent first."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for record in state.works:
        failure = record.outcome.failure if record.outcome is not None else None
        if failure is not None:
            found["work without a result", failure.cause.value].append(record.id)
        ran = works.get(record.id)
        for place in _inside(ran) if ran is not None else ():
            found[place].append(record.id)
    most = max(map(len, found.values()), default=1)
    ordered = sorted(found.items(), key=lambda each: -len(each[1]))[:_MOST_ROWS]
    return [_count_row(what, cause, ids, most) for (what, cause), ids in ordered]


def role_rows(view: CampaignView) -> list[RoleRow]:
    """Return tokens and dollars by role, the most expensive first; the last row is the sum."""
    spent = view.spend_by_role
    if not spent:
        return []
    total = sum(spent.values(), Spend())

    def share(spend: Spend) -> float:
        return spend.usd / total.usd if total.usd else spend.tokens / max(1, total.tokens)

    rows = [RoleRow(one_line(role, _NAME), spend, share(spend)) for role, spend in spent.items()]
    return [*sorted(rows, key=lambda row: -row.share), RoleRow("all", total, 1.0)]


def _inside(ran: AttemptState) -> Iterator[tuple[str, str]]:
    """Yield the failures in one piece of work: what failed, and how."""
    for cell in ran.cells:
        if cell.result is not None and cell.result.status is not CellStatus.OK:
            yield "cell", _name_of(cell.result)
        reports = (cell.report, cell.sample.report if cell.sample is not None else None)
        if cell.refused or any(each is not None and not each.valid for each in reports):
            yield "submission", "rejected"
    for call in ran.calls:
        for failed in call.failed_requests:
            yield "request, tried again", one_line(failed.message, _NAME)
        if call.failure:
            yield "model call", one_line(call.failure, _NAME)


def _name_of(result: CellResult) -> str:
    """Return the name of a cell's exception, or how else it ended."""
    if result.status is not CellStatus.ERROR:
        return result.status.value
    return one_line(error_line(result.error).partition(":")[0], _NAME) or result.status.value


def _count_row(what: str, failure: str, ids: list[str], most: int) -> CountRow:
    places = list(dict.fromkeys(ids))
    links = tuple(Link(each, each) for each in places[:_MOST_LINKS])
    return CountRow(what, failure, len(ids), len(ids) / most, links, len(places) - len(links))
