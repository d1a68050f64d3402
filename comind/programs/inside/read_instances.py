"""Write the instances of problem/ to instances.json; this runs in a sandbox."""

from pathlib import Path

from .problem import Problem
from .values import to_text


def main() -> None:
    """Read them, and write them in the order of the problem's own files."""
    Path("instances.json").write_text(to_text(list(Problem(Path("problem")).instances())))
