"""Small competitions made from scikit-learn's datasets, and problems for programs, for use offline.

`competitions/<demo>/` has the description, `communities/<demo>/` a community folder with notebooks and
discussions written for the demo. `recordings/<demo>/` has a language model's replies to a whole
campaign, which can be replayed without an API key. `problems/` has a folder for each problem that
programs solve (docs/programs.md).
"""

from pathlib import Path

_HERE = Path(__file__).parent


def demo_names() -> list[str]:
    """Return the names of the built-in competitions; nothing is imported to make one."""
    tables = [path.name for path in (_HERE / "competitions").iterdir() if path.is_dir()]
    return sorted([*tables, *problems()])


def problems() -> dict[str, Path]:
    """Return the folders of the problems that programs solve, by the name of their demo."""
    found = sorted((_HERE / "problems").glob("*/scorer.py"))
    return {f"demo-{file.parent.name.replace('_', '-')}": file.parent for file in found}
