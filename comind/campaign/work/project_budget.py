"""Keep the cost of all campaigns of a project under one limit, in one database for all processes.

Before a request its worst case is reserved, in the transaction that adds up all campaigns; afterwards
the actual cost replaces it. The reservations of a killed process count until its campaign is resumed, or
another campaign reads its logs. Amounts are stored in whole billionths of a dollar, rounded up.
"""

import math
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing as closed
from contextlib import contextmanager, suppress
from threading import Lock
from typing import NamedTuple

from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder
from comind.campaign.log.outcome import BudgetExceeded, DeadlineExceeded
from comind.campaign.log.work_state import WORK_LOG
from comind.domain.spend import Spend
from comind.errors import CampaignError
from comind.eventlog.log import is_written
from comind.system.disk import full_disk

_PER_DOLLAR = 10**9
_NOISE_DIGITS = 3  # of a billionth: errors of sums of floating-point numbers
_BUSY_SECONDS = 60.0  # that a transaction waits for those of other processes
_POLL_SECONDS = 0.2  # between two tries to reserve what others hold
_NAMED = 4  # campaigns in a message, those with the highest cost
_TABLES = (
    "CREATE TABLE IF NOT EXISTS project (row INTEGER PRIMARY KEY CHECK (row = 0), amount INTEGER)",
    """
    CREATE TABLE IF NOT EXISTS campaigns
    (name TEXT PRIMARY KEY, starts INTEGER NOT NULL, settled INTEGER NOT NULL)
    """,
    """
    CREATE TABLE IF NOT EXISTS reservations
    (id INTEGER PRIMARY KEY AUTOINCREMENT, campaign TEXT NOT NULL, amount INTEGER NOT NULL)
    """,
)
_COSTS = """
SELECT name, settled, coalesce((SELECT sum(amount) FROM reservations WHERE campaign = name), 0)
FROM campaigns ORDER BY name
"""
_SUMS = """
SELECT (SELECT amount FROM project), (SELECT coalesce(sum(settled), 0) FROM campaigns),
       (SELECT coalesce(sum(amount), 0) FROM reservations)
"""


def owed_by_logs(campaign: CampaignFolder) -> Spend:
    """Return the usage in the logs of all the campaign's work, calls in flight at their bound."""
    return sum((WORK_LOG.read(log).owed for log in campaign.logs()), Spend())


class CampaignCost(NamedTuple):
    """Cost of one campaign in dollars."""

    settled: float
    reserved: float
    """Worst case of its requests in flight, now or when its process was killed."""


class ProjectCosts(NamedTuple):
    """Cost of each campaign, and the limit of their sum in dollars; None is no limit."""

    limit: float | None
    campaigns: dict[str, CampaignCost]

    @property
    def settled(self) -> float:
        """Dollars spent by all campaigns, without reservations."""
        return math.fsum(cost.settled for cost in self.campaigns.values())

    @property
    def total(self) -> float:
        """Dollars spent and reserved by all campaigns."""
        return self.settled + math.fsum(cost.reserved for cost in self.campaigns.values())

    @property
    def spent(self) -> bool:
        """Whether nothing of the limit is left, reservations counted."""
        return self.limit is not None and self.total >= self.limit

    def __str__(self) -> str:
        limit = "" if self.limit is None else f" of the project's limit of {_dollars(self.limit)}"
        who = f" ({self.by_campaign()})" if self.campaigns else ""
        return f"{_dollars(self.total)}{limit}{who}"

    def by_campaign(self) -> str:
        """Return the cost of the most expensive campaigns and of the others together, in one line."""
        ranked = sorted(self.campaigns.items(), key=lambda item: -sum(item[1]))
        named = [f"{name} {_dollars(sum(cost))}" for name, cost in ranked[:_NAMED]]
        rest = [sum(cost) for _, cost in ranked[_NAMED:]]
        return ", ".join([*named, f"{len(rest)} others {_dollars(math.fsum(rest))}"] if rest else named)


class Refusal(NamedTuple):
    """A request that the project's limit does not allow."""

    costs: ProjectCosts
    usd: float
    """Worst case of the request."""
    final: bool
    """Whether that is so even if all reservations are released."""

    def __str__(self) -> str:
        return limit_spent(self.costs, f"; the next request may cost {_dollars(self.usd)}")


class ProjectBudget:
    """The database `runs/spend.sqlite`; created on first use, and thread-safe."""

    def __init__(
        self, project: ProjectFolder, owed: Callable[[CampaignFolder], Spend] = owed_by_logs
    ) -> None:
        """Set the project; `owed` returns the usage that a campaign's logs have."""
        self._project = project
        self._owed = owed
        self.path = project.spend

    def set_limit(self, usd: float | None) -> None:
        """Set the limit of all campaigns together, for running ones as well; None is no limit."""
        if usd is None and not self.path.is_file():
            return
        with self._transaction() as database:
            amount = None if usd is None else math.floor(round(usd * _PER_DOLLAR, _NOISE_DIGITS))
            database.execute("INSERT OR REPLACE INTO project VALUES (0, ?)", (amount,))

    def costs(self) -> ProjectCosts:
        """Return limit and costs; empty where no campaign has had a request with a price."""
        if not self.path.is_file():
            return ProjectCosts(None, {})
        with self._transaction() as database:
            return _costs(database)

    def start(self, campaign: str, owed: float | None) -> None:
        """Count a start of `campaign`, and settle what its former process had reserved.

        `owed` is its cost in dollars by its logs, None without logs: the reservations then count in
        full. Only the writer of the campaign's log may call this.
        """
        with self._transaction() as database:
            _settle_by_logs(database, campaign, owed)
            database.execute("UPDATE campaigns SET starts = starts + 1 WHERE name = ?", (campaign,))

    def settle_killed(self) -> None:
        """Settle by their logs the campaigns that no process runs: new ones, and with reservations."""
        with self._transaction() as database:
            starts = dict(database.execute("SELECT name, starts FROM campaigns").fetchall())
            held = {name for (name,) in database.execute("SELECT campaign FROM reservations")}
        for name in self._project.campaigns():
            campaign = self._project.campaign(name)
            if (name in starts and name not in held) or is_written(campaign.log):
                continue
            owed = self._owed(campaign).usd
            with self._transaction() as database:
                if _starts(database, name) == starts.get(name):  # else a process has resumed it
                    _settle_by_logs(database, name, owed)

    def reserve(self, campaign: str, usd: float, share: float) -> "int | Refusal":
        """Reserve `usd` for one request of a started campaign; return the number of the reservation.

        The sum of all campaigns may use `share` of the limit; refused if the request could exceed that.
        """
        amount = _amount(usd)
        with self._transaction() as database:
            limit, settled, reserved = database.execute(_SUMS).fetchone()
            if limit is not None and settled + reserved + amount > limit * share:
                return Refusal(_costs(database), usd, final=settled + amount > limit * share)
            values = (campaign, amount)
            added = database.execute("INSERT INTO reservations (campaign, amount) VALUES (?, ?)", values)
            return int(added.lastrowid or 0)

    def settle(self, reservation: int, usd: float) -> None:
        """Replace a reservation by the actual cost; idempotent."""
        with self._transaction() as database:
            found = database.execute(
                "DELETE FROM reservations WHERE id = ? RETURNING campaign", (reservation,)
            ).fetchall()
            for (campaign,) in found:
                database.execute(
                    "UPDATE campaigns SET settled = settled + ? WHERE name = ?", (_amount(usd), campaign)
                )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection with an exclusive transaction, which is committed or rolled back.

        Raises:
            CampaignError: the database is damaged or cannot be written.
            DiskError: the disk is full.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            opened = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            with closed(opened) as database, database:
                database.execute("BEGIN IMMEDIATE")
                for table in _TABLES:
                    database.execute(table)
                yield database
        except (sqlite3.Error, OSError) as error:
            raise full_disk(error, self.path, "the costs of all campaigns") or CampaignError(
                f"{self.path}: cannot be used ({error})",
                hint="delete the file if it is damaged: costs are in the logs",
            ) from None


class CampaignAccount:
    """Reserves for one running campaign; thread-safe. It is started with the first priced request."""

    def __init__(
        self, budget: ProjectBudget, campaign: str, owed: float | None, closing_share: float
    ) -> None:
        """Prepare; `owed` is the cost by the campaign's logs, in dollars, before this process.

        None for work without a log, such as building a knowledge base.
        """
        self._budget = budget
        self._campaign = campaign
        self._owed = owed
        self._open_share = 1 - closing_share
        self._started = False
        self._starting = Lock()
        self.refused: Refusal | None = None
        """The last request that was refused."""

    def reserve(self, usd: float, *, closing: bool, seconds_left: Callable[[], float]) -> int:
        """Reserve the worst case of one request; wait while only reservations of others prevent it.

        A `closing` request may use the share that is reserved for calls that finish work.

        Raises:
            BudgetExceeded: the request could exceed the project's limit.
            DeadlineExceeded: others hold the rest of the limit until the deadline.
        """
        self._start()
        share = 1.0 if closing else self._open_share
        while isinstance(found := self._budget.reserve(self._campaign, usd, share), Refusal):
            if found.final:
                self.refused = found
                raise BudgetExceeded(str(found))
            self._budget.settle_killed()
            if seconds_left() <= _POLL_SECONDS:
                raise DeadlineExceeded(
                    "requests of other campaigns hold the rest of the project's limit"
                )
            time.sleep(_POLL_SECONDS)
        return found

    def settle(self, reservation: int, usd: float) -> None:
        """Replace a reservation by the actual cost.

        If the database fails, the reservation stays, an upper bound, and the next one raises: the reply
        that was paid for is not in the log yet.
        """
        with suppress(CampaignError):
            self._budget.settle(reservation, usd)

    def _start(self) -> None:
        with self._starting:
            if not self._started:
                self._budget.start(self._campaign, self._owed)
                self._budget.settle_killed()
                self._started = True


def limit_spent(costs: ProjectCosts, request: str = "") -> str:
    """Return in one line that the project's limit is spent, by whom, and how to continue."""
    return (
        f"the project's limit of {_dollars(costs.limit or 0.0)} is spent "
        f"({costs.by_campaign()}{request}): raise limits.project_usd in params.yaml to continue"
    )


def _settle_by_logs(database: sqlite3.Connection, campaign: str, owed: float | None) -> None:
    """Replace a campaign's reservations: both the logs and the database are upper bounds of its cost.

    The logs have requests that were not sent before a kill, the database those whose reply was lost.
    """
    held = database.execute(
        "SELECT settled + (SELECT coalesce(sum(amount), 0) FROM reservations WHERE campaign = name)"
        " FROM campaigns WHERE name = ?",
        (campaign,),
    ).fetchone()
    bounds = [] if owed is None else [_amount(owed)]
    settled = min([*bounds, *(held or ())], default=0)
    database.execute("DELETE FROM reservations WHERE campaign = ?", (campaign,))
    database.execute(
        "INSERT INTO campaigns VALUES (?, 0, ?) ON CONFLICT (name) DO UPDATE SET settled = ?",
        (campaign, settled, settled),
    )


def _starts(database: sqlite3.Connection, campaign: str) -> int | None:
    found = database.execute("SELECT starts FROM campaigns WHERE name = ?", (campaign,)).fetchone()
    return None if found is None else int(found[0])


def _costs(database: sqlite3.Connection) -> ProjectCosts:
    limit = database.execute("SELECT amount FROM project").fetchone()
    rows = database.execute(_COSTS).fetchall()
    return ProjectCosts(
        None if limit is None or limit[0] is None else limit[0] / _PER_DOLLAR,
        {name: CampaignCost(done / _PER_DOLLAR, held / _PER_DOLLAR) for name, done, held in rows},
    )


def _amount(usd: float) -> int:
    return math.ceil(round(usd * _PER_DOLLAR, _NOISE_DIGITS))


def _dollars(usd: float) -> str:
    return f"${usd:.2f}" if round(usd, 2) == round(usd, 4) or usd >= 1 else f"${usd:.4f}"
