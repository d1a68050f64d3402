"""A program is the source of a recipe and its modules, or an error."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from comind.baseline.bundle import RECIPES, bundle

_OF = "from comind.baseline.recipes."


def _modules(folder: Path, **sources: str) -> Path:
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    return folder


def test_a_program_needs_nothing_of_ours(tmp_path: Path) -> None:
    """Modules are placed before those that import them, and the program runs without comind."""
    folder = _modules(
        tmp_path,
        base='"""Base."""\n\n__all__ = ["ONE"]\n\nONE = 1  # a constant\n',
        middle=f'"""Middle."""\n\n{_OF}base import ONE\n\n\ndef two() -> int:\n    return ONE + ONE\n',
        top='"""Top: it adds.\n\nSlowly.\n"""\n\n'
        f"{_OF}base import ONE\n{_OF}middle import (\n    two,\n)\n\n\n"
        'def main() -> None:\n    """Print three."""\n    print(ONE + two())\n',
    )
    code = bundle("top", "main()\n", folder)
    assert code == (
        "# Top: it adds.\n#\n# Slowly.\n\n\n"
        "# Base.\nONE = 1  # a constant\n\n\n"
        "# Middle.\ndef two() -> int:\n    return ONE + ONE\n\n\n"
        'def main() -> None:\n    """Print three."""\n    print(ONE + two())\n\n\n'
        "main()\n"
    )
    command = [sys.executable, "-I", "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "3\n"


def test_imports_stand_once_at_the_top(tmp_path: Path) -> None:
    """Imports of several modules are merged, the standard library first."""
    folder = _modules(
        tmp_path,
        base='"""Base."""\n\nimport math\n\nimport numpy as np\nfrom scipy import fft\n\n'
        "ONE = np.pi + math.e + len(fft.__all__)\n",
        top='"""Top."""\n\nimport math\n\nimport numpy as np\nfrom scipy import fft, stats\n\n'
        f"{_OF}base import ONE\n\nTWO = ONE * np.pi + len(stats.__all__)\n",
    )
    tree = ast.parse(bundle("top", "print(TWO)\n", folder))
    assert [ast.unparse(each) for each in tree.body] == [
        "import math",
        "import numpy as np",
        "from scipy import fft, stats",
        "ONE = np.pi + math.e + len(fft.__all__)",
        "TWO = ONE * np.pi + len(stats.__all__)",
        "print(TWO)",
    ]


def test_what_the_ending_does_not_need_is_left_out(tmp_path: Path) -> None:
    """Definitions are dropped by name, with their imports; local variables need nothing."""
    folder = _modules(
        tmp_path,
        other='"""Other."""\n\nimport torch\n\nNET = torch.nn\n',
        base='"""Base."""\n\nimport math\n\nimport pandas as pd\nimport torch\n\n'
        "# Kept.\nONE = math.e\n\n# Dropped.\nTWO = torch.nn\n\n\n"
        'def kept(x: "pd.Series[int]") -> float:\n    TWO = ONE\n    return TWO\n',
        top=f'"""Top."""\n\n{_OF}base import TWO, kept\n{_OF}other import NET\n\n\n'
        "def main() -> float:\n    return kept(1)\n\n\n"
        "def other() -> None:\n    print(TWO, NET)\n",
    )
    assert bundle("top", "main()\n", folder) == (
        "# Top.\nimport math\nimport pandas as pd\n\n\n"
        "# Base.\n# Kept.\nONE = math.e\n\n\n"
        'def kept(x: "pd.Series[int]") -> float:\n    TWO = ONE\n    return TWO\n\n\n'
        "def main() -> float:\n    return kept(1)\n\n\n"
        "main()\n"
    )


@pytest.mark.parametrize(
    ("base", "top"),
    [
        ("def work() -> None: ...", "def work() -> None: ..."),
        ("SIZE = 3", "SIZE: int = 4"),
        ("SIZE = 3", "class SIZE: ..."),
        ("import numpy as np", "import torch as np"),
        ("from scipy import fft", "from torch import fft"),
        ("import numpy as np", "def np() -> None: ..."),
        ("task = 1", ""),
    ],
    ids=["functions", "constants", "class", "modules", "names", "module and function", "the ending"],
)
def test_a_name_stands_for_one_thing(tmp_path: Path, base: str, top: str) -> None:
    """Modules that define one name differently are refused."""
    folder = _modules(tmp_path, base=f"{base}\nUSED = 1\n", top=f"{_OF}base import USED\n{top}\n")
    with pytest.raises(ValueError, match="is defined twice"):
        bundle("top", "task = USED\n", folder)


@pytest.mark.parametrize(
    "source",
    [
        "import comind.errors",
        "from comind.domain.problem import Problem",
        "from . import other",
        "def main() -> None:\n    import comind.errors",
        "def main() -> None:\n    from comind.baseline.recipes.base import USED",
        f"{_OF}base import USED as OTHER",
    ],
)
def test_nothing_of_ours_stays(tmp_path: Path, source: str) -> None:
    """Imports of comind that cannot be dropped are refused, also within functions."""
    folder = _modules(tmp_path, base="USED = 1\n", top=source)
    with pytest.raises(ValueError, match="programs run without comind and cannot"):
        bundle("top", "", folder)


@pytest.mark.parametrize("source", ["print(1)", "if True:\n    A = 1", "A, B = 1, 2", "A = 1\n'text'"])
def test_importing_a_module_does_nothing(tmp_path: Path, source: str) -> None:
    """A module imports, defines and assigns; one that does more is refused."""
    with pytest.raises(ValueError, match="no import and no definition"):
        bundle("top", "", _modules(tmp_path, top=source))


def test_an_ending_is_python() -> None:
    """A program with a syntax error is refused."""
    with pytest.raises(SyntaxError):
        bundle("constant", "main(", RECIPES)


def test_a_program_may_contain_what_it_shares_with_us(tmp_path: Path) -> None:
    """The module that matches files to rows is copied as recipes are; others of ours are refused."""
    source = (
        "from comind.competitions.row_files import part_of\n\n\n"
        "def main() -> None:\n    print(part_of('train/1'))\n"
    )
    command = [sys.executable, "-I", "-c", bundle("top", "main()\n", _modules(tmp_path, top=source))]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "train\n"
