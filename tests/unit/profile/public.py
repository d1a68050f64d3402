"""Small public folders of splits."""

from pathlib import Path
from typing import Any

import pandas as pd

from comind.domain.competition import SplitRule
from comind.domain.problem import AnswerKind
from comind.llm.tokens import count_tokens
from comind.profile.profile import profile_data
from comind.splits.split_folder import Split

__all__ = ["facts", "line", "split_of", "write_parts"]


def write_parts(public: Path, **parts: pd.DataFrame | dict[str, Any]) -> Path:
    """Write train, validation and test, as far as they are given; the rest is one row with an id."""
    public.mkdir(parents=True, exist_ok=True)
    for name in ("train", "validation", "test"):
        pd.DataFrame(parts.get(name, {"id": [f"{name}-1"]})).to_csv(public / f"{name}.csv", index=False)
    return public


def split_of(public: Path, **changes: Any) -> Split:
    """Return the description of a split with these files; label `y`, id `id` unless changed."""
    rows = {
        name: max(1, len(pd.read_csv(public / f"{name}.csv")))
        for name in ("train", "validation", "test")
    }
    values: dict[str, Any] = {
        "key": "small-1",
        "competition": "small",
        "title": "Small",
        "metric": "accuracy",
        "maximize": True,
        "answer_kind": AnswerKind.LABEL,
        "id_columns": ("id",),
        "train_id_columns": ("id",),
        "label_columns": ("y",),
        "target_columns": ("y",),
        "train_rows": rows["train"],
        "validation_rows": rows["validation"],
        "test_rows": rows["test"],
        "rule": SplitRule(kind="random"),
        "rule_reason": "a test says so",
        "seed": 3,
        "generated": False,
        "public_sha256": "0",
        "sealed_sha256": "0",
    }
    return Split(**values | changes)


def facts(public: Path, tokens: int = 4_000, **changes: Any) -> str:
    """Return the profile of a public folder with a split of its partitions."""
    return profile_data(public, split_of(public, **changes), count_tokens=count_tokens, tokens=tokens)


def line(text: str, start: str) -> str:
    """Return the only line with this prefix, ignoring indentation."""
    [found] = [line.strip() for line in text.splitlines() if line.strip().startswith(start)]
    return found
