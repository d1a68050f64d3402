"""Run evaluate.py once for each folder below cases/, two at a time; this runs inside the sandbox.

usage: run_all.py SECONDS ALL. Each case has private/ and submission.csv, and SECONDS to be evaluated;
its report is written to reports/. None is begun that could end after ALL seconds.
"""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SECONDS, ALL = map(float, sys.argv[1:])
BEGUN = time.monotonic()


def run(case: Path) -> None:
    """Evaluate one case; a crash or timeout of the program is reported as a failure."""
    report = Path("reports") / f"{case.name}.json"
    if time.monotonic() - BEGUN > ALL - SECONDS:
        report.write_text(json.dumps({"score": None, "success": False, "message": "no time was left"}))
        return
    command = [sys.executable, "scripts/evaluate.py", "--public_dir", "public"]
    command += ["--private_dir", f"{case}/private", "--pred", f"{case}/submission.csv"]
    try:
        done = subprocess.run(
            [*command, "--report", str(report)],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        output = done.stderr.strip() or done.stdout.strip() or "nothing"
        failure = f"it ended with exit code {done.returncode} and printed: {output[-600:]}"
        failed = done.returncode != 0
    except subprocess.TimeoutExpired:
        failure, failed = f"it took more than {SECONDS:.0f} s", True
    if failed or not report.is_file():
        message = failure if failed else "it wrote no report"
        report.write_text(json.dumps({"score": None, "success": False, "message": message}))


Path("reports").mkdir(exist_ok=True)
with ThreadPoolExecutor(2) as pool:
    list(pool.map(run, sorted(Path("cases").iterdir())))
