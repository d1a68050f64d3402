"""docs/model-faults.md lists every fault that is tested, with how a campaign ends."""

import os
from pathlib import Path

from tests.contract.faults import FAULTS, FaultCase

_PAGE = Path(__file__).parents[2] / "docs" / "model-faults.md"

_HEAD = """\
# When the model's endpoint fails

A campaign of a baseline and two attempts, against an HTTP server with injected faults
(`tests/doubles/endpoint.py`). Agent, client, rate limiter, budget and logs are the real ones; the clock
is simulated, cells are scripted. The tests run each row; this page is generated from the same data
(`UPDATE_SNAPSHOTS=1 .venv/bin/python -m pytest tests/contract/test_faults_page.py`).

In every row the cost stays within the budget, completions are charged as the server counted them, and
no paid work is lost: after exit code 4, `comind solve --resume` continues.

Embeddings (role `embeddings`) are retried as replies are. Where all retries fail, BM25 ranks in
their place and the attempt continues; only an endpoint that is gone ends the campaign
(`tests/unit/campaign/test_text_ranking.py`).

| name | what the endpoint does | what the user gets | exit code | message |
|---|---|---|---|---|
"""


def _row(case: FaultCase) -> str:
    message = f"... {case.message} ..." if case.message else ""
    cells = (case.name, case.wrong, case.ends, str(case.exit_code), message)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def test_the_page_is_up_to_date() -> None:
    """The page has a row for every tested fault; UPDATE_SNAPSHOTS=1 writes it again."""
    page = _HEAD + "\n".join(map(_row, FAULTS)) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        _PAGE.write_text(page)
    assert page == _PAGE.read_text()
