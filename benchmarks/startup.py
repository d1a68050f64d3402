"""How much processor time the command line takes to print its help, beside an empty Python."""

import os
import subprocess
import sys

RUNS = 10


def seconds(*arguments: str) -> float:
    """Return the mean processor time, user and system, of runs of Python with these arguments."""
    before = os.times()
    for _ in range(RUNS):
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    spent = after.children_user + after.children_system
    return (spent - before.children_user - before.children_system) / RUNS


def main() -> None:
    """Print the figures."""
    empty = seconds("-c", "pass")
    print(f"empty Python: {empty:.3f} s of processor time")
    for arguments in (("--help",), ("solve", "--help")):
        used = seconds("-m", "comind.cli", *arguments)
        print(f"comind {' '.join(arguments)}: {used:.3f} s, {used / empty:.1f}x (target < 0.3 s)")


if __name__ == "__main__":
    main()
