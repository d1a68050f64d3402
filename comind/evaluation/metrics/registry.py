"""Every metric that the platform knows by name."""

from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.evaluation.metrics.base import Metric
from comind.evaluation.metrics.labels import ACCURACY

__all__ = ["METRICS", "find_metric"]

METRICS: dict[str, Metric] = {metric.name: metric for metric in (ACCURACY,)}


def find_metric(competition: Competition) -> Metric:
    """Return the metric that a competition names.

    Raises:
        CompetitionError: it names none, or one that is not known.
    """
    if competition.metric is None:
        raise CompetitionError(
            f"{competition.folder}: competition.yaml names no metric",
            hint=f"known metrics: {', '.join(sorted(METRICS))}",
        )
    try:
        return METRICS[competition.metric]
    except KeyError:
        raise CompetitionError(
            f"{competition.folder}: unknown metric {competition.metric!r}",
            hint=f"known metrics: {', '.join(sorted(METRICS))}",
        ) from None
