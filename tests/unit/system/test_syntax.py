"""Programs are parsed in many threads at once."""

import ast
import gc
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from comind.system.syntax import parse_python

_CODE = "x = [" + ", ".join(f"f({number}, [g(1), {{2: 3}}])" for number in range(300)) + "]\n"
_PRODUCT = Path(__file__).parents[3]


@pytest.fixture
def busy_collector() -> Iterator[None]:
    """Run the garbage collector all the time, and switch threads in it."""

    def hand_over(_phase: str, _info: dict[str, int]) -> None:
        time.sleep(0)

    before = gc.get_threshold()
    gc.callbacks.append(hand_over)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(hand_over)


def _deep(levels: int, parse: Callable[[str], ast.Module]) -> ast.Module:
    return parse(_CODE) if levels == 0 else _deep(levels - 1, parse)


def test_threads_parse_at_once(busy_collector: None) -> None:
    """Threads that parse programs of different depth get their trees, whenever they are interrupted."""
    together = threading.Barrier(4)

    def many(levels: int) -> int:
        together.wait()
        return sum(len(_deep(levels, parse_python).body) for _ in range(5))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(many, (0, 10, 20, 30))) == [5, 5, 5, 5]


def test_nobody_else_calls_the_parser() -> None:
    """All parsing goes through the one lock."""
    sources = [path for part in ("comind", "tasks", "flows") for path in (_PRODUCT / part).rglob("*.py")]
    inside = ("session/inside", "recordings", "communities", "system/syntax.py")  # or in a sandbox
    found = [
        path
        for path in sources
        if not any(each in path.as_posix() for each in inside) and "ast.parse(" in path.read_text()
    ]
    assert found == []
