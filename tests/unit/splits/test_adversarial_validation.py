"""Two samples of rows are told apart by what they hold, not by the names of their files."""

import numpy as np
import pandas as pd

from comind.splits.adversarial_validation import adversarial_auc
from comind.splits.pooled_rows import PooledRows


def _pool(shift: float) -> PooledRows:
    """Return rows of train and test whose numbers differ by `shift`, each with a file."""
    rng = np.random.default_rng(0)
    parts = [
        pd.DataFrame(
            {
                "id": [f"{number:04d}" for number in range(first, first + 200)],
                "file": [f"{folder}/{number:04d}.wav" for number in range(first, first + 200)],
                "x": (rng.normal(size=200) + offset).round(3).astype(str),
            }
        )
        for folder, first, offset in (("train", 0, 0.0), ("test", 200, shift))
    ]
    return PooledRows(parts[0], parts[1], ("id",))


def test_names_of_files_tell_nothing() -> None:
    """Folders called train and test are no difference; without other columns there is no result."""
    train, test = np.arange(200), np.arange(200, 400)
    found = adversarial_auc(_pool(0.0), ("file", "x"), test, train)
    assert found is not None
    assert abs(found[0] - 0.5) < 0.1
    assert adversarial_auc(_pool(0.0), ("file",), test, train) is None


def test_a_shift_is_found_in_its_column() -> None:
    """The column that differs is named."""
    found = adversarial_auc(_pool(3.0), ("file", "x"), np.arange(200, 400), np.arange(200))
    assert found is not None
    assert found[0] > 0.9
    assert found[1] == "x"
