"""Find the tables in a JSON value: records, columns, and labels by id or ids by label."""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

_DEEPEST = 5
_FEW = 5  # members of a record; more are rows
_LISTED = 4  # members of a list in a record that are columns


def json_tables(value: Any, depth: int = 0) -> list[pd.DataFrame]:
    """Return the tables in a value.

    The first has a row for each member of a list, in their order, or one row for a record.
    """
    if depth > _DEEPEST or not isinstance(value, list | dict) or not value:
        return []
    if isinstance(value, list):
        found = [pd.DataFrame([_flat(each) for each in value])]
        return found + (json_tables(value[0], depth + 1) if len(value) == 1 else [])
    inner = list(value.values())
    found = [] if depth else [pd.DataFrame([_flat(value)])]
    if all(isinstance(each, dict) for each in inner):
        records = [{"key": key, **_flat(each)} for key, each in value.items()]
        found.append(pd.DataFrame(records))
        if len(value) < max(len(each) for each in inner):  # columns of rows
            found.append(
                pd.DataFrame({key: pd.Series(each, dtype=object) for key, each in value.items()})
            )
            found[-1] = found[-1].reset_index(names="key ")
    elif all(isinstance(each, list) for each in inner):
        if len({len(each) for each in inner}) == 1:
            found.append(pd.DataFrame({key: list(map(_text, each)) for key, each in value.items()}))
        found.append(
            pd.DataFrame([{"key": key, **_flat(item)} for key, each in value.items() for item in each])
        )
    elif not any(isinstance(each, dict | list) for each in inner) and len(value) >= _FEW:
        found.append(pd.DataFrame({"key": list(value), "value": list(map(_text, inner))}))
    for each in inner if len(inner) <= 50 else []:  # noqa: PLR2004 - parts of a document, not rows
        found += json_tables(each, depth + 1)
    return [table for table in found if len(table)]


def _flat(value: Any, name: str = "value", depth: int = 0) -> dict[str, str]:
    """Return a record with a text for each name, `outer.inner` for what is inside."""
    if isinstance(value, Mapping) and depth < _DEEPEST:
        pairs = [(key if depth == 0 else f"{name}.{key}", each) for key, each in value.items()]
    elif isinstance(value, list) and depth < _DEEPEST:
        kept = value if depth == 0 else value[:_LISTED]
        pairs = [(f"{name}.{number}", each) for number, each in enumerate(kept)]
    else:
        return {name: _text(value)}
    found: dict[str, str] = {}
    for key, each in pairs:
        found |= _flat(each, key, depth + 1)
    return found


def _text(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
