"""Look up metrics by name or alias.

Metrics of other distributions are entry points of the group `comind.metrics`, named as the metric is.
One of ours is added to the tuple of its family (`CLASSIFICATION_METRICS` ...), with its other names.
"""

from comind.domain.competition import SAMPLE_SUBMISSION, Competition
from comind.errors import CompetitionError, UsageError
from comind.metrics.families import OWN_METRICS
from comind.metrics.functions import function_metric
from comind.metrics.metric_names import metrics_named, nearest_metrics
from comind.metrics.metric_types import Metric
from comind.metrics.sequences import ranked_metric
from comind.system.extras import DISTRIBUTION
from comind.system.plug_ins import PLUG_IN_METRICS, declared, entry_points_of, load_plug_in, origin

METRICS = {metric.name: metric for metric in OWN_METRICS if not metric.rare}
CUSTOM_METRICS = {metric.name: metric for metric in OWN_METRICS if metric.rare}
"""Metrics of few past competitions.

Those with a context need columns of the truth that only benchmark competitions have; `competition.yaml`
can name the others.
"""

_OWN = {**METRICS, **CUSTOM_METRICS}


def metric_names() -> list[str]:
    """Return the names of the standard metrics and of those of other distributions."""
    ours = entry_points_of(DISTRIBUTION, PLUG_IN_METRICS)
    return sorted({*METRICS, *declared(PLUG_IN_METRICS).keys() - ours})


def is_known_metric(name: str) -> bool:
    """Return whether a metric of ours or of a plug-in has this name."""
    return name in _OWN or name in declared(PLUG_IN_METRICS) or ranked_metric(name) is not None


def known_metric(name: str) -> Metric:
    """Return the metric with exactly this name, as splits record it.

    Raises:
        UsageError: there is no such metric, or its plug-in cannot be loaded.
    """
    own = _OWN.get(name) or ranked_metric(name)
    if own is not None:
        return own
    if name not in declared(PLUG_IN_METRICS):
        hint = f"install the distribution that declares it in {PLUG_IN_METRICS}"
        raise UsageError(f"the metric {name!r} is not installed", hint=hint)
    metric = load_plug_in(PLUG_IN_METRICS, name, "metric")
    if not isinstance(metric, Metric) or metric.name != name:
        where = f"the metric {name!r} of {origin(PLUG_IN_METRICS, name)}"
        raise UsageError(f"{where} is no comind.metrics.Metric of this name")
    return metric


def find_metric(competition: Competition) -> Metric:
    """Return the metric of a competition; case and separators of its name are ignored.

    Raises:
        CompetitionError: `competition.yaml` names none, an unknown one, or one with several meanings.
    """
    where, name = competition.folder, competition.metric
    if competition.metric_function is not None:
        return function_metric(competition.metric_function, where)
    hint = f"known metrics: {', '.join(metric_names())}"
    if name is None:
        raise CompetitionError(f"{where}: competition.yaml names no metric", hint=hint)
    columns = competition.target_columns
    meant = meant_metrics(name, 1 if columns == SAMPLE_SUBMISSION else len(columns))
    if not meant:
        nearest = f"nearest: {', '.join(nearest_metrics(name))}; {hint}"
        raise CompetitionError(f"{where}: unknown metric {name!r}", hint=nearest)
    if len(meant) > 1:
        may = f"the metric {name!r} may mean {' or '.join(meant)}"
        raise CompetitionError(f"{where}: {may}", hint="name one of them in competition.yaml")
    return known_metric(meant[0])


def meant_metrics(name: str, targets: int = 1) -> tuple[str, ...]:
    """Return the metrics that a name may mean for so many target columns; one where it is certain.

    Those of past competitions, whose context only their answers have, are left out.
    """
    plain = " ".join(name.lower().replace("_", " ").replace("-", " ").split())
    own = {name.replace("-", " "): name for name in (*declared(PLUG_IN_METRICS), *_OWN)}
    for spelled in (plain, plain.removesuffix(" score")):
        ranked = ranked_metric(spelled.replace(" ", "-"))
        known_name = own.get(spelled) or (ranked.name if ranked is not None else None)
        found = (known_name,) if known_name else metrics_named(spelled, targets)
        if known := tuple(each for each in found if each in _OWN or not known_metric(each).context):
            return known
    return ()
