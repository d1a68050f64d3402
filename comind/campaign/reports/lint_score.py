"""Rate the style of a program with pylint, as the CoMind paper does (appendix B).

pylint runs as a program of its own, with a limit of processor time, as its inference over what the code
imports may take long. It reads the code and runs none of it.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from comind.system.files import write_atomically

_OPTIONS = ("--rcfile=/dev/null", "--persistent=n", "--output-format=json2", "--score=y")
# Packages of agents' environments need not be in ours.
_LEFT_OUT = "--disable=import-error,no-name-in-module"
_SECONDS, _MOST_SECONDS = 60, 600.0  # of processor time, and by the clock on a busy machine


class LintScores:
    """Scores of programs, kept in a file: a rating takes seconds, and a bench is reported many times."""

    def __init__(self, path: Path) -> None:
        """Read the file, if it is there."""
        self._path = path
        self._known: dict[str, float | None] = {}
        if path.is_file():
            self._known = json.loads(path.read_text(encoding="utf-8"))

    def of(self, code: str) -> float | None:
        """Return the score of a program, rated once; see `lint_score`."""
        key = hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()
        if key not in self._known:
            self._known[key] = lint_score(code)
            write_atomically(self._path, json.dumps(self._known))
        return self._known[key]


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
