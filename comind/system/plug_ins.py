"""Plug-ins: objects that installed distributions declare as entry points of a group."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from comind.errors import UsageError
from comind.system.extras import missing_extra

BENCHMARKS = "comind.benchmarks"
"""Group of past competitions with their graders (`comind/grading/benchmarks.py`)."""
PLUG_IN_METRICS = "comind.metrics"
"""Group of metrics (`comind/metrics/registry.py`)."""
PLUG_IN_COMMANDS = "comind.commands"
"""Group of commands, as those of `comind/cli/table.py`."""
SESSIONS = "comind.sessions"
"""Group of machines for sessions (`comind/wiring/session_provider.py`)."""
NOT_INSTALLED = "CoMind itself is not installed: pip install --no-deps ."
"""Hint where not even a plug-in of ours is declared."""


@cache
def declared(group: str) -> dict[str, list[EntryPoint]]:
    """Return a group's entry points by name; more than one where distributions collide."""
    found: dict[str, list[EntryPoint]] = {}
    for each in sorted(entry_points(group=group), key=lambda each: each.name):
        same = found.setdefault(each.name, [])
        if each.value not in [other.value for other in same]:
            same.append(each)
    return found


def entry_points_of(distribution: str, group: str) -> set[str]:
    """Return the names that one distribution declares in a group."""
    found = declared(group).items()
    return {name for name, each in found if any(e.dist and e.dist.name == distribution for e in each)}


def load_plug_in(group: str, name: str, called: str) -> object:
    """Import the object that is declared as `name`; `called` is what an error calls it, such as `agent`.

    Raises:
        UsageError: none or several are installed under that name, or it cannot be loaded.
        ServiceError: it needs a package of an extra that is not installed.
    """
    found = declared(group).get(name, [])
    if not found:
        raise UsageError(f"no {called} {name!r} is installed", hint=NOT_INSTALLED)
    if len(found) > 1:
        raise UsageError(
            f"the {called} {name!r} is declared by {origin(group, name)}", hint="uninstall all but one"
        )
    try:
        return found[0].load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - importing a plug-in runs its code
        extra = missing_extra(error) if isinstance(error, ImportError) else None
        if extra is not None:
            raise extra from None
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UsageError(
            f"the {called} {name!r} of {origin(group, name)} cannot be loaded: {reason}"
        ) from None


def origin(group: str, name: str) -> str:
    """Return name and version of the distribution that declares a plug-in; all if they collide."""
    return " and ".join(
        f"{each.dist.name} {each.dist.version}" if each.dist else "an unknown distribution"
        for each in declared(group).get(name, [])
    )
