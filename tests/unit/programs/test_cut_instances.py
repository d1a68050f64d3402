"""Instances are cut into development, validation, folds and test."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import CompetitionError
from comind.programs.program_runs import Instance
from comind.programs.program_split import cut_instances

_HERE = Path("problem")


def _instances(sizes: dict[str, int], part: str = "") -> list[Instance]:
    return [
        Instance(f"{case}-{part}-{number:02d}", case, part, {"n": number})
        for case, size in sizes.items()
        for number in range(size)
    ]


_SIZES = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 30), min_size=1)


@given(sizes=_SIZES.filter(lambda sizes: sum(sizes.values()) >= 4), seed=st.integers(0, 99))
def test_each_instance_is_in_one_part(sizes: dict[str, int], seed: int) -> None:
    """Instances without parts are dealt, each to one part; the same seed deals the same."""
    instances = _instances(sizes)
    found = cut_instances(instances, seed, _HERE)
    ids = [each.id for part in found.values() for each in part]
    assert sorted(ids) == sorted(each.id for each in instances)
    assert {"development", "validation", "test"} <= set(found)
    assert all(found.values())
    assert found == cut_instances(instances, seed, _HERE)


@given(sizes=st.dictionaries(st.sampled_from("abcde"), st.integers(8, 30), min_size=1))
def test_each_part_has_all_cases(sizes: dict[str, int]) -> None:
    """A case with enough instances has some in each of development, validation and test."""
    found = cut_instances(_instances(sizes), 1, _HERE)
    for part in ("development", "test"):
        assert {each.case for each in found[part]} == set(sizes)
    if min(sizes.values()) >= 12:
        for part in set(found) - {"development", "test"}:  # validation, and folds where there are some
            assert {each.case for each in found[part]} == set(sizes)


def test_seeds_deal_differently() -> None:
    """Another seed deals instances to other parts."""
    instances = _instances({"a": 20, "b": 20})
    assert cut_instances(instances, 1, _HERE) != cut_instances(instances, 2, _HERE)


def test_parts_that_a_problem_names_stay() -> None:
    """Instances with parts of their own stay there; sealed ones are dealt to validation and folds."""
    parts = {"development": 4, "sealed": 9, "test": 5}
    instances = [each for part, size in parts.items() for each in _instances({"a": size}, part)]
    found = cut_instances(instances, 1, _HERE)
    assert {name: len(part) for name, part in found.items()} == {
        "development": 4,
        "test": 5,
        "validation": 3,
        "fold-1": 3,
        "fold-2": 3,
    }
    sealed = Counter(each.part for name in ("validation", "fold-1", "fold-2") for each in found[name])
    assert sealed == {"sealed": 9}


def test_few_sealed_instances_are_all_for_validation() -> None:
    """Where folds would have fewer than three instances, there are none."""
    parts = {"development": 1, "sealed": 8, "test": 1}
    instances = [each for part, size in parts.items() for each in _instances({"a": size}, part)]
    found = cut_instances(instances, 1, _HERE)
    assert set(found) == {"development", "validation", "test"}
    assert len(found["validation"]) == 8


def test_test_instances_of_cobench_are_sealed() -> None:
    """CO-Bench's test instances are the test; its development instances are all that agents are for."""
    instances = _instances({"a": 6, "b": 6}, "public") + _instances({"a": 10, "b": 10, "c": 3}, "test")
    found = cut_instances(instances, 1, _HERE)
    assert {each.part for each in found["test"]} == {"test"}
    assert len(found["test"]) == 23
    assert len(found["development"]) == 6
    assert {each.case for each in found["development"]} == {"a", "b"}
    assert {each.case for each in found["validation"]} == {"a", "b"}


def test_test_instances_alone_are_dealt() -> None:
    """Where CO-Bench names no development instances, all instances are dealt."""
    found = cut_instances(_instances({"a": 12}, "test"), 1, _HERE)
    assert {name: len(part) for name, part in found.items()} == {
        "development": 3,
        "test": 3,
        "validation": 6,
    }


@pytest.mark.parametrize(
    ("instances", "reason"),
    [
        (_instances({"a": 3}), "3 instances; at least 4 are needed"),
        (_instances({"a": 4}, "train"), "an instance is of the part 'train'"),
        (_instances({"a": 4}, "development"), "no instance is of the part sealed"),
        (_instances({"a": 4}, "sealed"), "no instance is of the part development"),
        (_instances({"a": 4}, "public"), "an instance is of the part 'public'"),
        (
            _instances({"a": 1}, "public") + _instances({"a": 3}, "test"),
            "no instance is of the part sealed",
        ),
        (_instances({"a": 4}) + _instances({"a": 4}, "sealed"), "an instance is of the part ''"),
    ],
)
def test_parts_are_checked(instances: list[Instance], reason: str) -> None:
    """Too few instances, unknown parts and empty ones are named."""
    with pytest.raises(CompetitionError, match=reason):
        cut_instances(instances, 1, _HERE)
