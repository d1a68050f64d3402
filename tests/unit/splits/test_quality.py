"""A split records how it represents the test set, its confidence, and warnings of leakage."""

import json
from pathlib import Path

import pandas as pd
import pytest

from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.domain.competition import Competition, SplitRule
from comind.splits.quality import SplitQuality
from comind.splits.split_files import make_split
from comind.splits.split_folder import RelatedShare, Split
from comind.splits.split_plan import hashed_key, key_parts, plain_rule, plan_split, split_keys
from tests.unit.competitions.folders import competition_folder
from tests.unit.splits.planted import planted_world

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Competition:
    """A competition whose test rows are of other patients, named only in composite ids."""
    return load_competition(planted_world("groups in ids", 7).build(tmp_path_factory.mktemp("p")))


def test_a_split_says_what_it_imitates(patients: Competition, tmp_path: Path) -> None:
    """`split.json` has the rule, its reason, the confidence, and the related shares."""
    folder = make_split(patients, tmp_path, seed=0)
    split = folder.read()
    assert (split.rule.by, split.rule.column) == ("parts", "id")
    assert "0% of test rows, but 100% of train rows, are of groups of one id" in split.rule_reason
    assert split.confidence is not None
    own = split.related[0]
    assert (own.own, own.test, own.validation) == (True, 0.0, 0.0)
    assert split.warnings == ()
    assert folder.groups.is_file()


def test_a_rule_that_is_given_stands_and_is_warned_of(patients: Competition, tmp_path: Path) -> None:
    """A user's own rule is kept, with a warning that validation is easier."""
    given = patients.model_copy(update={"split": SplitRule(kind="random")})
    split = make_split(given, tmp_path, seed=0).read()
    assert split.rule == given.split
    assert split.warnings[0].startswith("validation is easier than test: ")
    assert "but 0% of test rows, are of groups of one id" in split.warnings[0]


def test_a_folder_of_all_train_rows_is_no_group(tmp_path: Path) -> None:
    """Paths such as `train/17.png` and `test/18.png` differ in a folder, which no split can imitate."""
    folder = competition_folder(tmp_path, split=None)
    for name, rows in (("train", range(60)), ("test", range(60, 80))):
        columns = {"id": rows, "file": [f"{name}/{row}.png" for row in rows]}
        table = pd.DataFrame({**columns, "label": ["no", "yes"] * (len(rows) // 2)})
        shown = table if name == "train" else table.drop(columns="label")
        shown.to_csv(folder / "public" / f"{name}.csv", index=False)
    table[["id", "label"]].to_csv(folder / "public" / "sample_submission.csv", index=False)
    split = make_split(load_competition(folder), tmp_path / "splits", seed=0).read()
    assert split.warnings == ()


def test_what_finds_the_rule_is_part_of_the_name(patients: Competition) -> None:
    """The key is computed without the search, and depends on the version of the search."""
    data = CompetitionData.read(patients)
    assert plain_rule(data)[0].kind in ("random", "stratified")
    given = CompetitionData.read(patients.model_copy(update={"split": SplitRule(kind="random")}))
    of_given = split_keys(given, 0)[0]
    key, _, *earlier = split_keys(data, 0)
    plan = plan_split(data, seed=0)
    assert plan.rule.by == "parts"
    assert plan.key == key != of_given
    assert earlier
    assert key not in {*earlier, hashed_key(data.competition, key_parts(data, 0))}
    assert of_given == hashed_key(given.competition, key_parts(given, 0))


def test_a_program_is_asked_for_by_a_plain_rule(patients: Competition) -> None:
    """For a generated evaluator the rule is a plain one, which a model can implement."""
    data = CompetitionData.read_without_metric(patients.model_copy(update={"metric": None}))
    assert plan_split(data, 0).rule.by is None


def test_a_split_of_earlier_days_is_read(patients: Competition, tmp_path: Path) -> None:
    """A `split.json` without the newer fields is read with their defaults."""
    folder = make_split(
        patients.model_copy(update={"split": SplitRule(kind="random")}), tmp_path, seed=0
    )
    values = json.loads(folder.metadata.read_text())
    for name in ("confidence", "related", "warnings"):
        del values[name]
    split = Split.model_validate(values)
    assert (split.confidence, split.related, split.warnings) == (None, (), ())


def test_a_split_with_former_names_is_read(patients: Competition, tmp_path: Path) -> None:
    """Until version 0.3, confidence was `sure`, related shares `ties` and generated `written`."""
    folder = make_split(patients, tmp_path, seed=0)
    values = json.loads(folder.metadata.read_text())
    former = {"confidence": "sure", "related": "ties", "generated": "written"}
    assert former.keys() <= values.keys()
    folder.metadata.write_text(json.dumps({former.get(name, name): values[name] for name in values}))
    assert folder.read() == Split.model_validate(values)


@pytest.mark.parametrize(
    ("test", "validation", "rows", "warned"),
    [
        (0.0, 1.0, 300, True),
        (0.5, 0.9, 300, True),
        (0.5, 0.55, 3000, False),
        (0.4, 0.6, 30, False),
        (0.9, 0.2, 300, False),
    ],
    ids=["set apart", "partly", "hardly", "few rows", "harder"],
)
def test_only_easier_validation_beyond_noise_is_warned_of(
    test: float, validation: float, rows: int, *, warned: bool
) -> None:
    """A difference is a warning if it is large, beyond noise, and in favour of validation."""
    share = RelatedShare(rows="somehow near train rows", test=test, validation=validation)
    assert bool(SplitQuality((share,), test=rows, validation=rows).warnings) == warned


def test_nothing_is_known_of_few_rows() -> None:
    """With nothing to compare, confidence is unknown and there are no warnings."""
    assert SplitQuality().confidence is None
    assert SplitQuality().warnings == ()


@pytest.mark.parametrize("times", ["year", "date"])
def test_test_rows_of_earlier_times_are_imitated(tmp_path: Path, times: str) -> None:
    """Where test rows precede train rows, the first rows of train are held out."""
    folder = competition_folder(tmp_path, split=None)
    years = pd.Series(range(1900, 2000))
    column = years if times == "year" else years.astype(str) + "-07-01"
    for name, rows in (("test", range(25)), ("train", range(25, 100))):
        labels = [("no", "yes")[row * 7 % 10 < 4] for row in rows]
        table = pd.DataFrame({"id": rows, times: column[list(rows)], "label": labels})
        shown = table if name == "train" else table.drop(columns="label")
        shown.sample(frac=1, random_state=1).to_csv(folder / "public" / f"{name}.csv", index=False)
        if name == "test":
            table[["id", "label"]].to_csv(folder / "public" / "sample_submission.csv", index=False)
    split = make_split(load_competition(folder), tmp_path / "splits", seed=0).read()
    assert (split.rule.kind, split.rule.column, split.rule.earliest) == ("time", times, True)
    assert split.warnings == ()
