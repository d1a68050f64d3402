"""The smallest agent: the platform's baseline and nothing more; what `--model offline` runs."""

from comind.campaign.agent import Agent
from comind.campaign.outcome import Finish
from comind.campaign.plan import Code, Decision, Done, Think
from comind.campaign.state import CampaignState
from comind.campaign.workbench import Desk, Workbench
from comind.domain.value import Value

__all__ = ["BaselineAgent", "Nothing"]


class Nothing(Value):
    """The result of a thought that nobody had."""


class BaselineAgent(Agent):
    """The platform's baseline alone, without a language model."""

    needs_model = False

    def plan(self, state: CampaignState) -> Decision:
        """Plan nothing beside attempt 0, which is the platform's."""
        del state
        return Done(reason="the baseline is all that runs without a language model")

    def think(self, work: Think, desk: Desk) -> Value:
        """End a thought that a campaign of a former version had begun without a model."""
        del work, desk
        return Nothing()

    def code(self, work: Code, bench: Workbench) -> Finish:
        """End an attempt in the same way."""
        del work, bench
        return Finish(report="Nobody implements drafts without a language model.")
