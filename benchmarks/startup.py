"""How long the command line takes to say something, beside an empty Python."""

import subprocess
import sys
import time

RUNS = 7


def seconds(*arguments: str) -> float:
    """Return the best of several runs of Python with these arguments."""
    best = float("inf")
    for _ in range(RUNS):
        begun = time.perf_counter()
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
        best = min(best, time.perf_counter() - begun)
    return best


def main() -> None:
    """Print the figures."""
    empty, helped = seconds("-c", "pass"), seconds("-m", "comind.cli", "--help")
    print(f"comind --help: {helped:.2f} s, {helped / empty:.1f}x an empty Python (target < 0.7 s)")


if __name__ == "__main__":
    main()
