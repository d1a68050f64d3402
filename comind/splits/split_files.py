"""Write the files of a split: the public part without the held-out answers, and the sealed part."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from comind.competitions.competition_folder import check_public_folder
from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.splits.groups import row_groups
from comind.splits.leakage import remove_held_out
from comind.splits.quality import SplitQuality
from comind.splits.split_folder import Split, SplitFolder
from comind.splits.split_plan import SplitPlan
from comind.system.failpoints import failpoint
from comind.system.files import copy_plain_tree, hash_tree, level_times, write_atomically
from comind.system.temporary_folders import STAGED, staging_folder
from comind.tables.csv_tables import write_table
from comind.tables.mapped_table import take_rows

Checks = Callable[[SplitPlan, Path], None]
"""Writes what was checked of a competition's tables into a new folder."""


def make_split(
    competition: Competition, splits: Path, *, seed: int, checks: Checks | None = None
) -> SplitFolder:
    """Return the split of `competition` below the folder `splits`; write it on the first call.

    Raises:
        CompetitionError: the competition's files contradict each other or its description.
    """
    return write_split(SplitPlan(competition, seed), splits, checks=checks)


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
    for key in plan.known_keys:
        if (made := SplitFolder(splits / key)).is_complete:
            return made
    folder = SplitFolder(splits / plan.key)
    splits.mkdir(parents=True, exist_ok=True)
    with staging_folder(scratch or splits, STAGED) as place:  # its labels go even after a kill
        staged = SplitFolder(place)
        _write(plan, staged)
        if checks is not None:
            checks(plan, staged.checks)
        staged.root.chmod(0o755)
        try:
            staged.root.rename(folder.root)
        except OSError:
            if not folder.metadata.is_file():
                raise
            _complete(folder, staged)
    failpoint("split-written")
    return folder


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
    shown = [column for column in plan.labels if column in plan.inputs]
    if shown:  # also refused by `check_competition`; a split would publish the labels
        raise CompetitionError(
            f"{plan.competition.folder}: public/test.csv shows the label column {shown[0]!r}"
        )
    positions = plan.validation_rows()
    quality = plan.quality(positions)
    plan.forget_comparison()
    held_out = take_rows(plan.train, positions)
    check_public_folder(plan.competition)
    try:
        copy_plain_tree(plan.competition.public, folder.public, link=plan.is_linked)
    except ValueError as error:
        raise CompetitionError(str(error)) from None
    if plan.competition.id_parts is not None:
        write_table(plan.train, folder.public / "train.csv")
        write_table(plan.test, folder.public / "test.csv")
    # The folder's mode keeps other users out; files must be readable where they are mounted.
    folder.sealed.mkdir(mode=0o700)

    sealed = remove_held_out(plan, positions, folder)
    inputs = (
        sealed.inputs(held_out[plan.inputs])
        .set_axis(plan.test.columns, axis="columns")
        .reset_index(drop=True)
    )
    write_table(inputs, folder.public / "validation.csv")
    ids = inputs[list(plan.ids)]
    write_table(_join_columns(ids, plan.sample_values(len(ids))), folder.validation_sample)
    write_table(_join_columns(ids, plan.answers(held_out)), folder.answers)
    rule, _ = plan.rule_with_reason
    if rule.kind == "group":
        numbers, _ = pd.factorize(row_groups(held_out, rule))
        write_table(pd.DataFrame({"group": numbers}), folder.groups)
    if plan.separates_twins and plan.separation.note and plan.file_clusters is not None:
        write_table(pd.DataFrame({"cluster": plan.file_clusters.train}), folder.near_duplicates)
    for name, program in plan.programs.items():
        write_atomically(folder.programs / name, program)
    level_times(folder.public, plan.known_hashes)
    failpoint("split-staged")
    _write_metadata(
        plan, folder, positions, (*quality.warnings, *plan.spelling_warnings, *sealed.lines), quality
    )


def _join_columns(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([left, right], axis="columns")


def _write_metadata(
    plan: SplitPlan,
    folder: SplitFolder,
    positions: list[int],
    warnings: tuple[str, ...],
    quality: SplitQuality,
) -> None:
    rule, reason = plan.rule_with_reason
    reason = "; ".join((reason, *plan.exclusion_notes))
    held_out = len(positions)
    split = Split(
        key=plan.key,
        competition=plan.competition.id,
        title=plan.competition.title,
        rule=rule,
        rule_reason=reason,
        sure=quality.confidence,
        ties=quality.shares,
        warnings=warnings,
        seed=plan.seed,
        metric=plan.metric.name,
        maximize=plan.metric.maximize,
        answer_kind=plan.metric.kind,
        written=bool(plan.programs),
        id_columns=plan.ids,
        train_id_columns=plan.train_ids,
        label_columns=plan.labels,
        target_columns=plan.targets,
        positive_class=plan.positive_class,
        train_rows=len(plan.train) - held_out - len(plan.excluded),
        validation_rows=held_out,
        test_rows=len(plan.test),
        # Folds are made again on demand, not verified, and may have many large files.
        public_sha256="" if plan.hard_links else hash_tree(folder.public, plan.known_hashes),
        sealed_sha256="" if plan.hard_links else hash_tree(folder.sealed, plan.known_hashes),
    )
    write_atomically(folder.metadata, split.model_dump_json(indent=2) + "\n")
