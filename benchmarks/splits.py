"""How often the way in which test rows were set apart is found, over worlds with a known answer."""

import sys
import tempfile
from pathlib import Path
from statistics import median

from tests.unit.splits.planted import PLANTED, Judged, judge, planted_world

SEEDS = 20


def judged(kind: str, seed: int) -> Judged:
    """Return what becomes of one world."""
    with tempfile.TemporaryDirectory() as root:
        return judge(planted_world(kind, seed), Path(root))


def main(seeds: int) -> None:
    """Print a row for each kind of world."""
    print("| test rows | right | right, but warned of | wrong ones warned of | confidence, median |")
    print("|---|---|---|---|---|")
    for kind in PLANTED:
        found = [judged(kind, seed) for seed in range(seeds)]
        right = sum(each.right for each in found)
        warned = sum(bool(each.warnings) for each in found)
        wrong = f"{sum(each.warned for each in found)} of {sum(each.wrong for each in found)}"
        confidence = median(each.confidence or 0.0 for each in found)
        cells = (kind, f"{right} of {seeds}", str(warned), wrong, f"{confidence:.0%}")
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
