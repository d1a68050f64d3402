"""All that is told of sealed labels, played at once: scores, parts, tables, folds and blends.

Bits are those of the table of channels in docs/security.md. On n coin flips, b bits tell at most
sqrt(n b ln 2 / 2) labels beyond half of them (Pinsker's inequality).
"""

import math
from dataclasses import dataclass
from pathlib import Path

import pytest

from comind.domain.revealed_bits import PAIRED_BITS, PART_BITS, SCORE_BITS, table_bits
from comind.grading.blending.error_correlation import MOST_COMPARED
from tests.unit.grading.game.player import MESSAGE, Player
from tests.unit.grading.game.world import SITES, World

_FLOAT = 64  # of a run on a fold, which no agent is told of
_BLEND = 70  # of one target column


@dataclass(frozen=True)
class _Game:
    """What is played, and which bits are told at most."""

    rows: int
    coded: int
    spread: int

    @property
    def by_scores(self) -> float:
        return (self.coded + self.spread) * SCORE_BITS

    @property
    def to_attempts(self) -> float:
        """By parts, differences and a table of errors, beside scores."""
        steps, parts = self.coded + self.spread, len(SITES) * PART_BITS
        return steps * parts + (steps - 1) * PAIRED_BITS + table_bits(self.spread)

    @property
    def at_the_end(self) -> float:
        """By a run of each finalist on a fold, and the blend, which is asked twice."""
        return self.spread * 3 * _FLOAT + (self.spread - 1) * 3 * _FLOAT + 2 * _BLEND

    def most(self, bits: float) -> float:
        """Return how many labels so many bits tell at most beyond half of them."""
        return math.sqrt(self.rows * bits * math.log(2) / 2)

    def play(self, root: Path, seed: int) -> tuple[int, int, int]:
        """Return how many labels are known by scores, by all that attempts are told, and by the end."""
        world = World(root, self.rows, seed)
        known, fewer = [], round(math.log2(self.rows / 1_600))  # of more rows each says less
        for alone, coded in ((True, 12), (False, 8)):
            player = Player(world, scores_alone=alone, coded=coded - fewer, seed=seed)
            for _ in range(self.coded):
                player.code()
            files = player.spread(self.spread)
            known.append(world.known(player.beliefs))
            if not alone:
                player.close(files)
                known.append(world.known(player.beliefs))
        by_scores, by_steps, by_all = known
        return by_scores, by_steps, by_all

    def check(self, by_scores: int, by_steps: int, by_all: int) -> None:
        """Make sure that no more is learnt than the bits allow."""
        assert by_scores <= self.most(self.by_scores)
        assert by_steps - by_scores <= self.most(self.to_attempts)
        assert by_all - by_scores <= self.most(self.to_attempts + self.at_the_end)


def test_all_that_is_told_says_no_more_than_its_bits(tmp_path: Path) -> None:
    """A player that asks well learns from all channels at once what their bits allow, and no more.

    It is a strong one: a step gives it 18 labels by score and interval, 44 with parts and differences;
    a run on a fold, which no attempt hears of, 16 more.
    """
    game = _Game(rows=1_600, coded=3, spread=2)
    assert game.most(game.to_attempts + game.at_the_end) < game.rows / 2, "the bound says something"
    by_scores, by_steps, by_all = game.play(tmp_path, seed=0)
    game.check(by_scores, by_steps, by_all)
    assert by_scores > 0
    assert by_steps - by_scores > game.coded * 5, "it makes something of parts and differences"
    assert by_all - by_steps >= game.spread * MESSAGE / 4, "it makes something of folds"


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(5))
def test_a_longer_game(seed: int, tmp_path: Path) -> None:
    """Nor does it in twenty steps, with a whole table of errors and eight finalists."""
    game = _Game(rows=6_000, coded=12, spread=MOST_COMPARED)
    told = game.play(tmp_path, seed)
    print(f"seed {seed}: {told}")  # noqa: T201 - what a torture run finds
    game.check(*told)
