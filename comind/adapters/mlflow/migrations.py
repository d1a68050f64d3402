"""Create MLflow's tables; report its migrations, which take minutes on a busy machine."""

import contextlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

from mlflow.store import db_migrations
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

from comind.system.progress import step

_LOGGER = "alembic.runtime.migration"
_EACH = "Running upgrade"  # how its message on a migration begins


def create_database(path: Path) -> None:
    """Create a database in whole, where there is none: an interrupted migration cannot be repeated."""
    if path.exists():
        return
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    SqlAlchemyStore(f"sqlite:///{new}", str(path.parent)).engine.dispose()
    new.replace(path)


@contextlib.contextmanager
def reported_migrations() -> Iterator[None]:
    """Report each migration within the block as progress; nothing where the tables are there."""
    logger = logging.getLogger(_LOGGER)
    level, propagate = logger.level, logger.propagate
    with contextlib.ExitStack() as stack:
        handler = _Migrations(lambda: stack.enter_context(step("creating MLflow's tables", _count())))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate


class _Migrations(logging.Handler):
    """Counts migrations; `begin` is called at the first one, and returns what takes their number."""

    def __init__(self, begin: Callable[[], Callable[[int], None]]) -> None:
        super().__init__()
        self._begin = begin
        self._reached: Callable[[int], None] | None = None
        self._count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count a migration that begins."""
        if record.getMessage().startswith(_EACH):
            self._reached = self._reached or self._begin()
            self._count += 1
            self._reached(self._count)


def _count() -> int:
    """Return how many migrations a new database takes."""
    return len([*Path(db_migrations.__file__).parent.glob("versions/[!_]*.py")])
