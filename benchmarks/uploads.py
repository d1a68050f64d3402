"""Peak memory of a server of MLE-Live that receives ten submissions of 50 MB at once, and grades them.

`python benchmarks/uploads.py` starts the server in a process of its own, on a competition with a hundred
rows, and uploads tables with long cells, tables with too many rows, and files that are no table.
It prints the server's memory before, its peak, and what it keeps.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil

_SIZE = 50_000_000
_AT_ONCE = 10
_ROWS = 100
_PROGRAM = """
import sys
from pathlib import Path
from comind.competitions.competition_folder import load_competition
from comind.live.hosted import HostedCompetition
from comind.live.server import LiveServer
from comind.live.submissions import SubmissionStore
from comind.live.world import LiveBudget, MLELive

folder = Path(sys.argv[1])
world = MLELive(
    load_competition(folder / "many"), budget=LiveBudget(submissions_per_day=1000),
    store=SubmissionStore(folder / "state"),
)
server = LiveServer([HostedCompetition(world, folder / "archives")])
print(server.port, flush=True)
server.serve()
"""


def write_competition(folder: Path) -> None:
    """Write a competition with a hundred test rows and their answers."""
    public, private = folder / "public", folder / "private"
    public.mkdir(parents=True)
    private.mkdir()
    rows, known = (
        "".join(f"{first + number},{number % 2}\n" for number in range(_ROWS)) for first in (0, _ROWS)
    )
    (folder / "competition.yaml").write_text("id: many\ntitle: Many\nmetric: accuracy\n")
    (public / "description.md").write_text("# Many\n")
    (public / "train.csv").write_text(f"id,label\n{known}")
    (public / "test.csv").write_text("id\n" + "".join(f"{number}\n" for number in range(_ROWS)))
    zeros = "".join(f"{number},0\n" for number in range(_ROWS))
    (public / "sample_submission.csv").write_text(f"id,label\n{zeros}")
    (private / "answers.csv").write_text(f"id,label\n{rows}")


def contents() -> list[bytes]:
    """Return ten files of 50 MB, of three kinds."""
    header, line = b"id,label\n", b"12345678,1\n"
    many = header + line * ((_SIZE - len(header)) // len(line))
    cell = b"1" * (_SIZE // _ROWS - len(b"99,\n"))
    long = header + b"".join(b"%d,%b\n" % (number, cell) for number in range(_ROWS))
    nothing = os.urandom(_SIZE)
    return [(many, long, nothing)[number % 3] for number in range(_AT_ONCE)]


def upload(base: str, content: bytes) -> None:
    """Upload a file as the official client does, and submit it."""
    services = f"{base}/api/v1/competitions.CompetitionApiService"
    auth = ("ann", "key")
    with httpx.Client(auth=auth, timeout=600) as client:
        request = {"competitionName": "many", "contentLength": len(content), "fileName": "s.csv"}
        started = (
            client.post(f"{services}/StartSubmissionUpload", json=request).raise_for_status().json()
        )
        httpx.put(started["createUrl"], content=content, timeout=600).raise_for_status()
        body = {"competitionName": "many", "blobFileTokens": started["token"]}
        client.post(f"{services}/CreateSubmission", json=body).raise_for_status()


def main() -> None:
    """Run the server and the uploads, and print the server's memory."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_competition(folder / "many")
        running = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, name], stdout=subprocess.PIPE, text=True
        )
        assert running.stdout is not None
        base = f"http://127.0.0.1:{int(running.stdout.readline())}"
        process = psutil.Process(running.pid)
        before = process.memory_info().rss
        files, began = contents(), time.monotonic()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda content: upload(base, content), files))
        took = time.monotonic() - began
        log = folder / "state" / "submissions.jsonl"
        while log.read_text().count('"valid"') < _AT_ONCE:
            time.sleep(0.2)
        status = Path(f"/proc/{running.pid}/status").read_text()
        peak = int(status.partition("VmHWM:")[2].split()[0]) / 1e3
        kept = process.memory_info().rss / 1e6
        running.terminate()
        running.wait()
    print(f"{_AT_ONCE} uploads of {_SIZE / 1e6:.0f} MB in {took:.1f} s")
    print(f"memory: {before / 1e6:.0f} MB before, peak {peak:.0f} MB, kept {kept:.0f} MB")


if __name__ == "__main__":
    main()
