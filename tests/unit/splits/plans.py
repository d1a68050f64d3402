"""Plans of splits of competitions that state no rule."""

from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.splits.split_plan import SplitPlan, plan_split


def plan_of(root: Path, table: pd.DataFrame, test: Any) -> SplitPlan:
    """Return the plan of a competition without a rule, with these test rows."""
    public = root / "world" / "public"
    public.mkdir(parents=True)
    asked = table[test].drop(columns="target")
    table[~test].to_csv(public / "train.csv", index=False)
    asked.to_csv(public / "test.csv", index=False)
    asked[["id"]].assign(target=0.0).to_csv(public / "sample_submission.csv", index=False)
    (public / "description.md").write_text("# World\n")
    described = {
        "id": "world",
        "title": "World",
        "metric": "rmse",
        "id_columns": ["id"],
        "label_columns": ["target"],
        "target_columns": ["target"],
    }
    (public.parent / "competition.yaml").write_text(yaml.safe_dump(described))
    return plan_split(CompetitionData.read(load_competition(public.parent)), seed=0)
