"""Build knowledge bases of a project: sources are read, summarised by a model, and versioned by DVC."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from comind.adapters.dvc.versioning import pointer_of, recorded_md5, version
from comind.app.campaign_opening import limit_project
from comind.app.params import read_params
from comind.app.specification import check_prices
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.outcome import WorkStopped
from comind.campaign.work.metering import BudgetLedger, Meter, MeteredModel
from comind.campaign.work.project_budget import CampaignAccount, ProjectBudget
from comind.domain.spend import Budget, Spend
from comind.errors import ReplyError
from comind.knowledge.extraction import Source, extract_entries
from comind.llm.exchange import ask
from comind.llm.model_ports import ChatModel
from comind.llm.rate_limiter import RateLimiter
from comind.llm.settings import ModelSettings
from comind.wiring.agents import all_roles
from comind.wiring.models import DEFAULT, build_model, default_model, resolve_settings

_ACCOUNT = "knowledge build"


class BuildResult(NamedTuple):
    """Counts of a build; sources that failed, and the rest of a spent budget, are left for the next."""

    read: int
    known: int
    entries: int
    failed: tuple[str, ...]
    tokens: int
    usd: float
    dvc: str
    """Hash of the base in DVC; empty for one outside of the project."""


def build_base(
    project: Path,
    base: Path,
    sources: Iterable[Source],
    model: str | None,
    max_usd: float | None,
    client: Callable[[str, ModelSettings], ChatModel] = build_model,
) -> BuildResult:
    """Add the entries of new sources to a base, and version it; idempotent.

    Its cost counts towards the project's limit, as `knowledge build`. `client` returns the client of a
    model.

    Raises:
        ServiceError: the model's endpoint, or DVC, refuses or is gone; the same call continues.
        UsageError: there is a limit, and the model's price is not known; or a source cannot be read.
    """
    chat, ledger = _metered_model(project, model, max_usd, client)
    counts: Sequence[int | None] = ()
    failed: list[str] = []
    base.mkdir(parents=True, exist_ok=True)
    for source in sources:
        try:
            added = extract_entries(partial(ask, chat), chat.context_tokens, base, source)
        except ReplyError as error:
            failed.append(f"{source.name}: {error}")
            continue
        except WorkStopped as over:
            failed.append(f"{source.name}: {over}")
            break
        counts = (*counts, added)
    new = [each for each in counts if each is not None]
    spent, known = ledger.spent, len(counts) - len(new)
    inside = base.resolve().is_relative_to(project.resolve())
    if inside and any(base.iterdir()):
        version(project, [base])
    md5 = recorded_md5(pointer_of(base)) if inside else ""
    return BuildResult(len(new), known, sum(new), tuple(failed), spent.tokens, spent.usd, md5)


def _metered_model(
    project: Path,
    model: str | None,
    max_usd: float | None,
    client: Callable[[str, ModelSettings], ChatModel],
) -> tuple[MeteredModel, BudgetLedger]:
    """Return the model that summarises and labels, and the ledger of its cost."""
    params = read_params(project)
    name = model or default_model()
    settings = resolve_settings(name, params.solve.models, {}, all_roles())[DEFAULT]
    if max_usd is not None:
        check_prices({DEFAULT: settings}, "--max-usd")
    limit_project(project, params, {DEFAULT: settings})
    account = CampaignAccount(ProjectBudget(ProjectFolder(project)), _ACCOUNT, None, closing_share=0)
    ledger = BudgetLedger(Budget(usd=max_usd, closing_share=0), Spend(), account)
    meter = Meter(ledger, RateLimiter(params.solve.traffic), note=lambda _: None)
    return MeteredModel(client(settings.name or name, settings), meter), ledger
