"""Ids that are composed of columns, constants and targets become a column of both tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.competitions.competition_folder import load_competition
from comind.competitions.download.composed_ids import add_composed_ids
from comind.competitions.download.plain_download import arrange_download
from comind.splits.checked_plan import check_competition
from tests.examples import examples

_TARGETS = ("any", "left", "right")


def _panel(days: int = 6, shops: int = 5) -> pd.DataFrame:
    dates = pd.date_range("2024-01-05", periods=days).strftime("%Y-%m-%d")
    index = pd.MultiIndex.from_product([[f"S_{each}" for each in range(shops)], range(4), dates])
    table = index.to_frame(index=False).set_axis(["shop", "item", "day"], axis="columns")
    return table.assign(sold=np.arange(len(table)) % 7)


def _write(folder: Path, train: pd.DataFrame, test: pd.DataFrame | None, sample: pd.DataFrame) -> Path:
    folder.mkdir(exist_ok=True)
    tables = {"train": train, "test": test, "sample_submission": sample}
    for name, table in tables.items():
        if table is not None:
            table.to_csv(folder / f"{name}.csv", index=False)
    (folder / "description.md").write_text("# Evaluation\n\nThe metric is log loss.\n")
    return folder


@pytest.mark.parametrize(
    ("form", "found"),
    [
        ("{shop}_{item}_{day}", "<shop>_<item>_<day>"),
        ("{day}/{shop}/{item}", "<day>/<shop>/<item>"),
        ("{shop}_{item}_{day}_validation", "<shop>_<item>_<day>_validation"),
        ("sales-{item}-{shop}-{compact}", "sales-<item>-<shop>-<day>"),
        ("{shop}d{day}i{item}", "<shop>d<day>i<item>"),
    ],
)
def test_an_id_is_composed_of_columns_in_any_order(tmp_path: Path, form: str, found: str) -> None:
    """Columns, separators and constants are found, whatever cells hold; rows may have any order."""
    table = _panel()
    test = table[table["day"] > "2024-01-08"].drop(columns="sold")
    train = table[table["day"] <= "2024-01-08"]
    ids = [form.format(**row, compact=row["day"].replace("-", "")) for row in test.to_dict("records")]
    sample = pd.DataFrame({"key": ids, "sold": 0}).sample(frac=1, random_state=1)
    folder = _write(tmp_path / "in", train, test, sample)
    [finding] = add_composed_ids(folder)
    assert finding.text == f"key is {found} of test.csv"
    assert pd.read_csv(folder / "test.csv")["key"].tolist() == ids
    assert pd.read_csv(folder / "train.csv")["key"].is_unique


@examples(20)
@given(
    order=st.permutations(["a", "b", "c"]),
    separator=st.sampled_from(["_", "-", " ", "|", "x-"]),
    end=st.sampled_from(["", "_test", ".png"]),
    seed=st.integers(0, 999),
)
def test_composed_ids_are_those_of_their_rows(
    tmp_path_factory: pytest.TempPathFactory, order: list[str], separator: str, end: str, seed: int
) -> None:
    """Columns of equal values are told apart by the ids of all rows."""
    draw = np.random.default_rng(seed)
    table = pd.DataFrame({name: draw.permutation(30) for name in "abc"})
    ids = table[order].astype(str).agg(separator.join, axis="columns") + end
    folder = tmp_path_factory.mktemp("ids")
    sample = pd.DataFrame({"key": draw.permutation(ids), "y": 0})
    _write(folder, table.assign(y=1), table, sample)
    assert add_composed_ids(folder)
    assert pd.read_csv(folder / "test.csv")["key"].tolist() == ids.tolist()


def test_ids_of_no_row_are_left(tmp_path: Path) -> None:
    """One id that no row of test.csv gives leaves the tables as they are."""
    table = _panel()
    ids = [*(f"{row.shop}_{row.item}_{row.day}" for row in table.itertuples())][:-1]
    sample = pd.DataFrame({"key": [*ids, "S_9_9_2024-01-01"], "sold": 0})
    folder = _write(tmp_path / "in", table, table.drop(columns="sold"), sample)
    assert add_composed_ids(folder) == []
    assert list(pd.read_csv(folder / "test.csv")) == ["shop", "item", "day"]


def _several_targets(rows: int) -> pd.DataFrame:
    table = pd.DataFrame({"id": [f"r{row * 7 % rows}" for row in range(rows)], "a": range(rows)})
    for place, name in enumerate(_TARGETS):
        table[name] = np.arange(rows) // (place + 2) % 2
    return table


@pytest.mark.parametrize("name", ["id", "ID", "row_target"])
@pytest.mark.parametrize("form", ["{id}_{target}", "{target}:{id}"])
def test_a_row_is_asked_for_once_a_target(tmp_path: Path, name: str, form: str) -> None:
    """Train and test rows have a row for each target, with its label; rows of an id stay together."""
    table = _several_targets(90)
    test = table[60:].drop(columns=[*_TARGETS])
    asked = [form.format(id=each, target=target) for each in test["id"] for target in _TARGETS]
    source = _write(tmp_path / "in", table[:60], test, pd.DataFrame({name: asked, "score": 0.5}))
    layout = arrange_download(source, tmp_path / "download")
    competition = load_competition(layout.folder)
    plan = check_competition(competition)
    train = plan.data.train
    assert (len(train), len(plan.data.test)) == (180, 90)
    assert "with a row for each of the targets any, left, right" in "\n".join(layout.lines())
    base = "id" if name == "row_target" else f"{competition.id_columns[0]}_base"
    known = table.set_index("id")
    assert [int(known.loc[row[base], row["variable"]]) for row in train.to_dict("records")] == [
        int(label) for label in train["score"]
    ]
    held_out = set(train[base].iloc[list(plan.rows)])
    assert held_out.isdisjoint(train[base].drop(train.index[list(plan.rows)]))


def test_ids_of_both_tables_name_a_row_and_a_target(tmp_path: Path) -> None:
    """Row and target become columns, so that the rows of one id are held out together."""
    table = _several_targets(90).melt(["id"], [*_TARGETS], "variable", "score")
    table["id"] = table["id"] + "_" + table.pop("variable")
    kept = table["id"].str.extract(r"r(\d+)")[0].astype(int) < 60
    sample = table[~kept].assign(score=0.5)
    source = _write(tmp_path / "in", table[kept].sample(frac=1, random_state=1), None, sample)
    competition = load_competition(arrange_download(source, tmp_path / "download").folder)
    plan = check_competition(competition)
    train = plan.data.train
    assert list(train.columns) == ["id", "id_base", "variable", "score"]
    held_out = set(train["id_base"].iloc[list(plan.rows)])
    assert held_out.isdisjoint(train["id_base"].drop(train.index[list(plan.rows)]))


def test_numbers_after_an_id_are_no_targets(tmp_path: Path) -> None:
    """A position such as `seq_12` may be one of many: the tables are left."""
    ids = [f"s{row}_{place}" for row in range(20) for place in range(3)]
    train = pd.DataFrame({"id": ids, "y": np.arange(60) % 2})
    sample = train.assign(id=train["id"].str.replace("s", "t"), y=0)
    layout = arrange_download(_write(tmp_path / "in", train, None, sample), tmp_path / "download")
    assert list(pd.read_csv(layout.folder / "public" / "train.csv")) == ["id", "y"]


@pytest.mark.parametrize("has_test", [False, True], ids=["no test table", "a test table of ids"])
def test_ids_that_join_rows_of_another_table_are_parted(has_test: bool, tmp_path: Path) -> None:
    """Both of a pair become columns, by which the table's features can be joined."""
    items = [f"i{row}" for row in range(20)]
    pairs = [f"{one}-{other}" for one in items for other in items if one != other]
    draw = np.random.default_rng(0).permutation(pairs)
    train = pd.DataFrame({"pair": draw[:200], "y": np.arange(200) % 2})
    test = pd.DataFrame({"pair": draw[200:]})
    source = _write(tmp_path / "in", train, test if has_test else None, test.assign(y=0.5))
    pd.DataFrame({"item": items, "weight": range(20)}).to_csv(source / "items.csv", index=False)
    layout = arrange_download(source, tmp_path / "download")
    assert "pair joins 2 ids of items.csv: they are pair_1, pair_2" in "\n".join(layout.lines())
    for name, rows in (("train", draw[:200]), ("test", draw[200:])):
        table = pd.read_csv(layout.folder / "public" / f"{name}.csv")
        assert (table["pair_1"] + "-" + table["pair_2"]).tolist() == list(rows) == table["pair"].tolist()


@pytest.mark.parametrize("column", ["variable", "score"])
def test_targets_of_ids_are_left_where_their_columns_have_names_that_are_taken(
    tmp_path: Path, column: str
) -> None:
    """A column of train.csv with the name that the targets or values would get is not overwritten."""
    table = _several_targets(30).assign(**{column: 1})
    test = table[20:].drop(columns=[*_TARGETS, column])
    asked = [f"{each}_{target}" for each in test["id"] for target in _TARGETS]
    folder = _write(tmp_path / "in", table[:20], test, pd.DataFrame({"key": asked, "score": 0.5}))
    assert add_composed_ids(folder) == []
