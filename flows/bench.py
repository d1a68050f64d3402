"""The flow that runs a bench: each cell a campaign, a subflow of its own."""

import contextvars
import logging
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path

from prefect import flow

from comind.app.bench_results import BenchGrader, read_results, write_results
from comind.app.benches import Bench, BenchCell, open_bench, open_cell
from comind.app.campaign_running import solve_to_end
from comind.bench.plan import read_plan
from comind.domain.value import one_line
from comind.errors import ComindError, LogError
from comind.servers.stopping import stoppable
from comind.system.disk import full_disk
from comind.system.redaction import redact
from flows.campaign import solve_competition
from tasks.benches import track_bench

_log = logging.getLogger(__name__)
_REASON_LENGTH = 300


# A retry would repeat what the campaigns' logs hold; running it again continues.
@flow(flow_run_name="bench {plan}", persist_result=False, retries=0)
def bench(plan: Path, project: Path | None = None) -> dict[str, str]:
    """Run the campaigns of a plan that have not ended, then write results; idempotent.

    A campaign that fails does not end the bench.

    Args:
        plan: the file of the plan; its paths are relative to the current folder.
        project: the project's folder; the working directory of the run.

    Returns:
        By campaign, the reason why it did not end.

    Raises:
        ComindError: the plan is invalid, or another process runs it.
    """
    opened = open_bench((project or Path.cwd()).absolute(), read_plan(plan))
    with opened.locked(), stoppable():
        _log.info("%s", opened.estimate())
        failed, grader = dict[str, str](), BenchGrader(opened)
        with ThreadPoolExecutor(opened.plan.at_once, thread_name_prefix="cell") as pool:
            running = {
                pool.submit(contextvars.copy_context().run, _run_cell, opened, cell): cell
                for cell in opened.left()
            }
            for done in as_completed(running):
                name, reason = running[done].folder.name, done.result()
                _log.info("%s: %s", name, reason or "ended")
                if reason:
                    failed[name] = reason
                with suppress(LogError):  # reported at the end
                    grader.curve(running[done])
        results = read_results(opened, failed, grader)
        write_results(opened, results)
        track_bench(opened.project, opened.folder, results)
    return failed


def _run_cell(opened: Bench, cell: BenchCell) -> str:
    """Run a cell's campaign to its end; returns the reason where it did not end, else ""."""
    try:
        folder = open_cell(opened, cell, _log.info)
        solve_to_end(solve_competition, opened.project, folder.name)
    except ComindError as error:
        return one_line(str(error), _REASON_LENGTH)
    except Exception as error:  # noqa: BLE001 - a bug in one arm must not end the others
        if full := full_disk(error, opened.folder, "the campaign"):
            return one_line(str(full), _REASON_LENGTH)
        _log.exception("%s: a bug", cell.folder.name)
        return one_line(redact(f"a bug: {error!r}"), _REASON_LENGTH)
    return ""
