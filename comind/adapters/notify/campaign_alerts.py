"""Alerts about a campaign."""

from typing import Any

from comind.adapters.notify.alert_params import AlertEvent, AlertParams
from comind.adapters.notify.log_alerts import LogAlerts
from comind.campaign.log.campaign_events import CampaignEnded, CampaignEvent, WorkFinished
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.reports.campaign_view import CampaignLogs, CampaignView


class CampaignAlerts(LogAlerts[CampaignState, CampaignEvent]):
    """Sends the alerts of one campaign."""

    def __init__(self, folder: CampaignFolder, params: AlertParams, **settings: Any) -> None:
        super().__init__(folder.log, CAMPAIGN_LOG, params, **settings)
        self._logs = CampaignLogs(folder)

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
                view = self._view(after)
                found = f"{view.best.score}, {view.choice}" if view.best else "no submission"
                return "ended", f"ended ({reason}: {detail}), {found}"
        return None

    def _facts(self, state: CampaignState) -> dict[str, Any]:
        view = self._view(state)
        spec, best, spend = state.spec, view.best, view.spend
        return {
            "campaign": spec.id,
            "competition": spec.competition,
            "agent": spec.agent,
            "model": spec.model,
            "attempt": best.work_id if best else None,
            "score": best.score.value.value if best else None,
            "metric": best.score.metric if best else None,
            "seconds": spend.seconds,
            "usd": spend.usd,
        }

    def _view(self, state: CampaignState) -> CampaignView:
        """Return the campaign as of `state`, without work that ran then: an alert is about an event."""
        running = {record.id for record in state.works.in_flight()}
        works = self._logs.update().works
        return CampaignView(state, {name: works[name] for name in works if name not in running})
