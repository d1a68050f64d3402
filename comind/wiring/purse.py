"""What a campaign may still spend."""

from comind.campaign.attempt import WORK_EVENTS
from comind.campaign.budget import Purse
from comind.campaign.folder import CampaignFolder
from comind.campaign.history import fold
from comind.domain.spend import Budget, Spend
from comind.eventlog.log import read_log

__all__ = ["purse_of"]


def purse_of(campaign: CampaignFolder, budget: Budget) -> Purse:
    """Return a purse with what the logs of all the campaign's work leave of `budget`."""
    spent = Spend()
    for log in sorted(campaign.root.glob("*/log.jsonl")):
        spent += fold(read_log(log, WORK_EVENTS)).owed
    return Purse(budget, spent)
