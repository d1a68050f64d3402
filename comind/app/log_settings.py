"""Configure the program's log: on stderr, in a file beside each campaign, and on Prefect's page."""

import logging
import logging.config
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, TextIO

from comind.errors import ComindError
from comind.servers.run_environment import LOGGERS
from comind.system.redaction import redact, redacted_traceback

LEVELS = ("debug", "info", "warning", "error")
DEFAULT_LEVEL = "warning"
_FILE_BYTES = 5_000_000  # of a campaign's log, and of the part before it
_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_log = logging.getLogger(__name__)
_campaign: ContextVar[str] = ContextVar("campaign", default="")


def configure_logging(level: str = DEFAULT_LEVEL) -> None:
    """Log to stderr from `level` on; files and Prefect's page have what is at `info`, too.

    Call it before Prefect is imported, which adds a handler of its own. Loggers of tools stay as they
    are.
    """
    logging.setLogRecordFactory(_Record)
    least = min(logging.INFO, logging.getLevelNamesMapping()[level.upper()])
    handler = "terminal" if sys.stderr.isatty() else "stream"
    handlers: dict[str, dict[str, Any]] = {
        "stream": {"()": _StderrHandler, "formatter": "line"},
        # By its name: Rich is imported for a terminal only.
        "terminal": {"()": "comind.app.terminal.log_handler.terminal_handler"},
    }
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": {"format": _LINE}},
            "handlers": {handler: {**handlers[handler], "level": level.upper()}},
            "loggers": {
                name: {"level": least, "handlers": [handler], "propagate": False} for name in LOGGERS
            },
        }
    )


def configure_run_logging() -> None:
    """Log from `info` on to what Prefect has set up in the process of a flow run.

    Nothing is changed where the command line has configured the log.
    """
    if logging.getLogger(LOGGERS[0]).level == logging.NOTSET:
        logging.setLogRecordFactory(_Record)
        levels = {name: {"level": "INFO"} for name in LOGGERS}
        logging.config.dictConfig({"version": 1, "incremental": True, "loggers": levels})


@contextmanager
def logged_beside(file: Path) -> Iterator[None]:
    """Append what is logged within the block, in any thread of a campaign, to a file in its folder.

    Of threads that serve several campaigns, each campaign's file has all.
    """
    name = file.parent.name
    handler = _CampaignFile(file, maxBytes=_FILE_BYTES, backupCount=1, delay=True)
    handler.setFormatter(logging.Formatter(_LINE))
    handler.addFilter(lambda _record: _campaign.get() in ("", name))
    loggers = [logging.getLogger(name) for name in LOGGERS]
    token = _campaign.set(name)
    for each in loggers:
        each.addHandler(handler)
    try:
        yield
    except Exception as error:
        _log.info("%s: halted: %s", name, error, exc_info=not isinstance(error, ComindError))
        raise
    finally:
        for each in loggers:
            each.removeHandler(handler)
        _campaign.reset(token)
        handler.close()


class _Record(logging.LogRecord):
    """A record of any logger, without keys in its message and its traceback."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.exc_info and self.exc_info[1]:
            self.exc_text = redacted_traceback(self.exc_info[1])  # formatters keep it

    def getMessage(self) -> str:  # noqa: N802 - of logging
        """Return the message, without keys."""
        return redact(super().getMessage())


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to what is `sys.stderr` at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _CampaignFile(RotatingFileHandler):
    """A file that is not written where the disk is full: the campaign itself reports that."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - of logging
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)
