"""The flows by the entry points that deployments and workers use: `comind.deployments.NAME`.

Prefect looks for modules in the run's working directory first, where a project may have packages `flows`
and `tasks` of its own. Ours are imported when a flow is looked up, from the folder that CoMind is in.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import comind
from comind.app.log_settings import configure_run_logging

_MODULES = {
    "bench": "flows.bench",
    "follow_competition": "flows.track",
    "ingest": "flows.ingest",
    "reproduce": "flows.reproduce",
    "solve": "flows.solve",
}


def __getattr__(name: str) -> Any:
    """Return a flow; no other is imported."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no flow {name!r}")
    configure_run_logging()
    ours = str(Path(comind.__file__).parents[1])
    sys.path.insert(0, ours)
    try:
        return getattr(import_module(_MODULES[name]), name)
    finally:
        sys.path.remove(ours)
