"""Alerts about a campaign."""

from typing import Any

from comind.adapters.notify.alert_params import AlertEvent, AlertParams
from comind.adapters.notify.log_alerts import LogAlerts
from comind.campaign.log.campaign_events import CampaignEnded, CampaignEvent, WorkFinished
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState


class CampaignAlerts(LogAlerts[CampaignState, CampaignEvent]):
    """Sends the alerts of one campaign."""

    def __init__(self, folder: CampaignFolder, params: AlertParams, **settings: Any) -> None:
        super().__init__(folder.log, CAMPAIGN_LOG, params, **settings)

    def _called_for(
        self, before: CampaignState, event: CampaignEvent, after: CampaignState
    ) -> tuple[AlertEvent, str] | None:
        best = after.best
        match event:
            case WorkFinished() if best is not None:
                former = before.best.score.value if before.best else None
                if best.score.value.better_than(former):
                    return "new_best", f"new best {best.score} by {best.work_id}"
            case CampaignEnded(reason=reason, detail=detail):
                found = f"best {best.score} by {best.work_id}" if best else "no submission"
                return "ended", f"ended ({reason}: {detail}), {found}"
        return None

    def _facts(self, state: CampaignState) -> dict[str, Any]:
        spec, best = state.spec, state.best
        return {
            "campaign": spec.id,
            "competition": spec.competition,
            "agent": spec.agent,
            "model": spec.model,
            "attempt": best.work_id if best else None,
            "score": best.score.value.value if best else None,
            "metric": best.score.metric if best else None,
            "seconds": state.spend.seconds,
            "usd": state.spend.usd,
        }
