"""Keep the plan that a campaign's opening has checked for the task that writes the split."""

from pathlib import Path

import numpy as np

from comind.competitions.data import CompetitionData
from comind.domain.competition import SplitRule
from comind.domain.value import Value
from comind.splits.quality import SplitQuality
from comind.splits.split_plan import SplitPlan, split_keys
from comind.splits.twin_files import RowClusters
from comind.system.files import write_atomically

_PREFIX = ".plan-"
"""Of its file, beside the splits."""


class _KeptPlan(Value):
    """The values of a plan; tables are read again."""

    key: str
    rule: SplitRule
    reason: str
    rows: list[int]
    excluded: list[int]
    notes: tuple[str, ...]
    quality: SplitQuality
    clusters: list[int] | None


def keep_plan(plan: SplitPlan, splits: Path) -> None:
    """Keep a plan below the folder of splits until its split is written.

    Without a metric none is kept, as a program will choose the rows.
    """
    if plan.data.competition.metric is None:
        return
    kept = _KeptPlan(
        key=plan.key,
        rule=plan.rule,
        reason=plan.reason,
        rows=plan.rows,
        excluded=list(plan.excluded),
        notes=plan.notes,
        quality=plan.quality,
        clusters=None if plan.clusters is None else plan.clusters.train.tolist(),
    )
    write_atomically(_place(splits, split_keys(plan.data, plan.seed)[0]), kept.model_dump_json())


def take_plan(data: CompetitionData, seed: int, splits: Path) -> SplitPlan | None:
    """Return the kept plan of these tables and seed; None where there is none, or a broken one."""
    keys = split_keys(data, seed)
    try:
        kept = _KeptPlan.model_validate_json(_place(splits, keys[0]).read_bytes())
    except (OSError, ValueError):
        return None
    if kept.key not in keys:
        return None
    values = {name: getattr(kept, name) for name in _KeptPlan.model_fields if name != "clusters"}
    none = np.array([], dtype=np.intp)
    clusters = None if kept.clusters is None else RowClusters(np.array(kept.clusters), none)
    return SplitPlan(data=data, seed=seed, clusters=clusters, **values)


def forget_plan(data: CompetitionData, seed: int, splits: Path) -> None:
    """Remove the kept plan of these tables and seed, if there is one."""
    _place(splits, split_keys(data, seed)[0]).unlink(missing_ok=True)


def _place(splits: Path, key: str) -> Path:
    return splits / f"{_PREFIX}{key}.json"
