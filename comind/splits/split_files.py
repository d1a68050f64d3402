"""Write the files of a split: the public part without the held-out answers, and the sealed part."""

import stat
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from comind.competitions.competition_folder import check_public_folder
from comind.competitions.data import CompetitionData
from comind.competitions.data_warnings import data_warnings
from comind.competitions.row_file_list import ROW_FILES, write_row_files
from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.splits.grouping import row_groups
from comind.splits.leakage import remove_held_out
from comind.splits.split_folder import Split, SplitFolder
from comind.splits.split_plan import SplitPlan, forget_plan, plan_split, split_keys, take_plan
from comind.system.failpoints import failpoint
from comind.system.files import copy_plain_tree, hash_tree, level_times, write_atomically
from comind.system.temporary_folders import STAGED, staging_folder
from comind.tables.csv_tables import write_table
from comind.tables.mapped_table import take_rows

Checks = Callable[[CompetitionData, Path], None]
"""Writes what was checked of a competition's tables into a new folder."""


def make_split(
    competition: Competition, splits: Path, *, seed: int, checks: Checks | None = None
) -> SplitFolder:
    """Return the split of `competition` below the folder `splits`; plan and write it on the first call.

    A plan that was kept for it is used.

    Raises:
        CompetitionError: the competition's files contradict each other or its description.
    """
    data = CompetitionData.read(competition)
    made = find_split(data, seed, splits)
    if made is None:
        plan = take_plan(data, seed, splits) or plan_split(data, seed)
        made = write_split(plan, splits, checks=checks)
    forget_plan(data, seed, splits)
    return made


def find_split(data: CompetitionData, seed: int, splits: Path) -> SplitFolder | None:
    """Return the complete split of these tables and seed below the folder `splits`, if there is one."""
    return _existing(splits, split_keys(data, seed))


def write_split(
    plan: SplitPlan, splits: Path, *, scratch: Path | None = None, checks: Checks | None = None
) -> SplitFolder:
    """Write a planned split atomically below the folder `splits`, unless it exists.

    It is staged in `scratch`, on the same disk, or below `splits`, and renamed; what a killed call has
    staged there is removed by the next. Without `checks`, the split has no such folder; an existing
    split is left as it is.

    Raises:
        CompetitionError: the competition's files contradict each other or its description.
    """

    def write(staged: SplitFolder) -> None:
        _write(plan, staged)
        if checks is not None:
            checks(plan.data, staged.checks)

    return place_split(splits, plan.key, write, scratch)


def place_split(
    splits: Path, key: str, write: Callable[[SplitFolder], None], scratch: Path | None = None
) -> SplitFolder:
    """Return the split `key` below the folder `splits`; an incomplete one is staged by `write` first."""
    if (made := _existing(splits, [key])) is not None:
        return made
    folder = SplitFolder(splits / key)
    splits.mkdir(parents=True, exist_ok=True)
    with staging_folder(scratch or splits, STAGED) as place:  # its labels go even after a kill
        staged = SplitFolder(place)
        write(staged)
        staged.root.chmod(0o755)
        try:
            staged.root.rename(folder.root)
        except OSError:
            if not folder.metadata.is_file():
                raise
            _complete(folder, staged)
    failpoint("split-written")
    return folder


def _existing(splits: Path, keys: Iterable[str]) -> SplitFolder | None:
    """Return the first complete split of these names."""
    return next((each for key in keys if (each := SplitFolder(splits / key)).is_complete), None)


def _complete(folder: SplitFolder, staged: SplitFolder) -> None:
    """Move missing parts into place.

    None is missing if another process has written the same split; both are in a clone without data.
    """
    for part, made in ((folder.public, staged.public), (folder.sealed, staged.sealed)):
        try:
            made.rename(part)
        except OSError:
            if not part.is_dir():
                raise


def _write(plan: SplitPlan, folder: SplitFolder) -> None:
    data = plan.data
    competition = data.competition
    labels = [column for column in data.labels if column in data.inputs]
    if labels:  # also refused by `check_competition`; a split would publish the labels
        raise CompetitionError(
            f"{competition.folder}: public/test.csv shows the label column {labels[0]!r}"
        )
    held_out = take_rows(data.train, plan.rows)
    check_public_folder(competition)
    try:
        linked = partial(_may_be_linked, plan)
        copy_plain_tree(competition.public, folder.public, link=linked, known=data.known_hashes)
    except ValueError as error:
        raise CompetitionError(str(error)) from None
    if competition.id_parts is not None:
        write_table(data.train, folder.public / "train.csv")
        write_table(data.test, folder.public / "test.csv")
    # The folder's mode keeps other users out; files must be readable where they are mounted.
    folder.sealed.mkdir(mode=0o700)

    sealed = remove_held_out(plan, folder)
    inputs = (
        sealed.inputs(held_out[data.inputs])
        .set_axis(data.test.columns, axis="columns")
        .reset_index(drop=True)
    )
    write_table(inputs, folder.public / "validation.csv")
    ids = inputs[list(data.ids)]
    truth = data.truth(held_out) if plan.truth is None else plan.truth
    write_table(_join_columns(ids, data.sample_values(len(ids))), folder.validation_sample)
    write_table(_join_columns(ids, truth), folder.answers)
    if plan.rule.kind == "group":
        numbers, _ = pd.factorize(row_groups(held_out, plan.rule))
        write_table(pd.DataFrame({"group": numbers}), folder.groups)
    if plan.clusters is not None:
        write_table(pd.DataFrame({"cluster": plan.clusters.train}), folder.near_duplicates)
    for name, program in plan.programs.items():
        write_atomically(folder.programs / name, program)
    for name, source in data.sources.items():
        write_atomically(folder.metric_sources / name, source)
    level_times(folder.public, data.known_hashes)
    failpoint("split-staged")
    _write_metadata(plan, folder, sealed.lines)
    write_row_files(folder.public, data.ids, data.train_ids, folder.row_files / ROW_FILES)


def _may_be_linked(plan: SplitPlan, file: Path) -> bool:
    """Return whether a public file may be a hard link in the split, rather than a copy.

    In an arranged download all but tables, which a user may edit, may be, and in a fold all. Files that
    only their owner can read are copied, as sandboxes may have another user.
    """
    if plan.is_fold:
        return True
    readable = bool(file.stat().st_mode & stat.S_IROTH)
    return plan.data.is_arranged and file.suffix.lower() != ".csv" and readable


def _join_columns(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([left, right], axis="columns")


def _write_metadata(plan: SplitPlan, folder: SplitFolder, lines: Sequence[str]) -> None:
    """Write split.json; `lines` say which files showed held-out labels."""
    data = plan.data
    # Folds are made again on demand, not verified, and may have many large files.
    hashes = ["" if plan.is_fold else hash_tree(each, data.known_hashes) for each in folder.parts]
    split = Split(
        key=plan.key,
        competition=data.competition.id,
        title=data.competition.title,
        rule=plan.rule,
        rule_reason="; ".join((plan.reason, *plan.notes)),
        confidence=plan.quality.confidence,
        related=plan.quality.shares,
        warnings=(*plan.quality.warnings, *data_warnings(data), *lines),
        seed=plan.seed,
        metric=data.metric.name,
        maximize=data.metric.maximize,
        answer_kind=data.metric.answer_kind,
        metric_function=data.competition.metric_function,
        generated=bool(plan.programs),
        id_columns=data.ids,
        train_id_columns=data.train_ids,
        label_columns=data.labels,
        target_columns=data.targets,
        positive_class=data.positive_class,
        train_rows=len(data.train) - len(plan.rows) - len(plan.excluded),
        validation_rows=len(plan.rows),
        test_rows=len(data.test),
        public_sha256=hashes[0],
        sealed_sha256=hashes[1],
    )
    write_atomically(folder.metadata, split.model_dump_json(indent=2) + "\n")
