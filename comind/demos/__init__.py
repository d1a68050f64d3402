"""Small competitions made from scikit-learn's datasets, for use offline.

`competitions/<demo>/` has the description, `communities/<demo>/` a community folder with notebooks and
discussions written for the demo. `recordings/<demo>/` has a language model's replies to a whole
campaign, which can be replayed without an API key.
"""

from pathlib import Path

_COMPETITIONS = Path(__file__).parent / "competitions"


def demo_names() -> list[str]:
    """Return the names of the built-in competitions; nothing is imported to make one."""
    return sorted(path.name for path in _COMPETITIONS.iterdir() if path.is_dir())
