"""Rate the style of a program with pylint, as the CoMind paper does (appendix B).

pylint runs as a program of its own, with a timeout: its inference of a model's code may not end, and an
import of it would keep a second syntax tree of each module. It reads the code and runs none of it.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

_OPTIONS = ("--rcfile=/dev/null", "--persistent=n", "--output-format=json2", "--score=y")
# Packages of agents' environments need not be in ours.
_LEFT_OUT = "--disable=import-error,no-name-in-module"
_SECONDS, _MOST_SECONDS = 60, 600.0  # of processor time, and by the clock on a busy machine


@lru_cache(maxsize=256)
def lint_score(code: str) -> float | None:
    """Return pylint's score of `code`, at most 10; None if it does not parse, or takes too long."""
    with tempfile.TemporaryDirectory(prefix="comind-lint-") as folder:
        path = Path(folder) / "program.py"
        path.write_text(code, encoding="utf-8", errors="replace")
        limit = [found, f"--cpu={_SECONDS}"] if (found := shutil.which("prlimit")) else []
        argv = [*limit, sys.executable, "-I", "-m", "pylint", *_OPTIONS, _LEFT_OUT, str(path)]
        try:
            done = subprocess.run(
                argv,
                cwd=folder,
                capture_output=True,
                timeout=_MOST_SECONDS,
                check=False,
                env={"HOME": folder},
            )
            found = json.loads(done.stdout)
        except (subprocess.TimeoutExpired, ValueError):
            return None
    if any(each["symbol"] == "syntax-error" for each in found["messages"]):
        return None
    return round(float(found["statistics"]["score"]), 3)
