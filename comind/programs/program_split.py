"""Split the instances of a problem: development for agents, sealed ones for validation, folds and test.

public/     description.md, solver.py, development.json, limits.json, problem/ and runner/, by which
            `runner.evaluate` scores a program on the development instances
sealed/     validation.json, fold-1.json, fold-2.json and test.json, and problem/ with the scorer
"""

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from comind.domain.competition import NORMALISED_SCORE, Competition, SplitRule
from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError
from comind.programs.problem_files import (
    copied_scorer,
    copy_scorer,
    description_of,
    first_program,
)
from comind.programs.program_runs import RUNNER, Instance, read_instances, write_runner
from comind.session.session_ports import Sandbox
from comind.splits.split_files import place_split
from comind.splits.split_folder import Split, SplitFolder
from comind.system.failpoints import failpoint
from comind.system.files import hash_tree, write_atomically
from comind.system.plurals import quantity

DEVELOPMENT, VALIDATION, TEST = "development", "validation", "test"

_SEALED, _PUBLIC = "sealed", "public"
_FOLDS = 2
_LEAST = 4  # instances, if the platform cuts them
_LEAST_FOLD = 3  # instances of a further fold
_VERSION = 1


def make_program_split(
    competition: Competition,
    splits: Path,
    *,
    seed: int,
    sandbox: Sandbox,
    test_feedback: bool = False,
) -> SplitFolder:
    """Return the split of a competition's instances below the folder `splits`; write it on first use.

    With `test_feedback` validation has the test instances: agents are scored on what is reported.

    Raises:
        CompetitionError: the problem's code fails, or it has too few instances.
        SandboxError: the sandbox cannot be started.
    """
    parts = cut_instances(read_instances(sandbox, competition.folder), seed, competition.folder)
    if test_feedback:
        parts = {DEVELOPMENT: parts[DEVELOPMENT], VALIDATION: parts[TEST], TEST: parts[TEST]}
    described = [
        _VERSION,
        competition.model_dump_json(exclude={"folder"}),
        [first_program(competition.folder), description_of(competition.folder)],
        {name: [asdict(each) for each in found] for name, found in parts.items()},
        _scorer_hash(competition.folder),
    ]
    key = f"{competition.id}-{hashlib.sha256(json.dumps(described).encode()).hexdigest()[:12]}"
    write = partial(_write, competition, parts, key, seed, test_feedback)
    folder = place_split(splits, key, write)
    failpoint("split-written")
    return folder


def fold_name(number: int) -> str:
    """Return the part of the further sealed instances of this number, counted from 1."""
    return f"fold-{number}"


def read_part(file: Path) -> tuple[Instance, ...]:
    """Return the instances of a part."""
    return tuple(Instance(**each) for each in json.loads(file.read_text(encoding="utf-8")))


def cut_instances(
    instances: Sequence[Instance], seed: int, where: Path
) -> dict[str, tuple[Instance, ...]]:
    """Return the instances of each part; those without a part of their own are cut by the seed.

    Each part has all cases, as far as there are enough instances of them.

    Raises:
        CompetitionError: there are too few, or a part is unknown or empty.
    """
    given = {each.part for each in instances}
    if given <= {"", TEST} and given != {""}:
        instances = [Instance(**{**asdict(each), "part": ""}) for each in instances]
        given = {""}
    if given == {""}:
        if len(instances) < _LEAST:
            raise CompetitionError(
                f"{where}: {quantity(len(instances), 'instance')}; at least {_LEAST} are needed"
            )
        found = _dealt(instances, (DEVELOPMENT, _SEALED, TEST, _SEALED), seed)
    elif given == {_PUBLIC, TEST}:
        public = [each for each in instances if each.part == _PUBLIC]
        found = {**_dealt(public, (DEVELOPMENT, _SEALED), seed), TEST: _of(instances, TEST)}
    else:
        if unknown := sorted(given - {DEVELOPMENT, _SEALED, TEST}):
            hint = f"the parts are {DEVELOPMENT}, {_SEALED} and {TEST}; or name none at all"
            raise CompetitionError(f"{where}: an instance is of the part {unknown[0]!r}", hint=hint)
        found = {name: _of(instances, name) for name in (DEVELOPMENT, _SEALED, TEST)}
    if empty := [name for name in (DEVELOPMENT, _SEALED, TEST) if not found.get(name)]:
        raise CompetitionError(f"{where}: no instance is of the part {empty[0]}")
    sealed = found.pop(_SEALED)
    names = [VALIDATION, *(fold_name(number + 1) for number in range(_FOLDS))]
    if len(sealed) < _LEAST_FOLD * len(names):
        names = names[:1]
    return found | _dealt(sealed, names, seed)


def _of(instances: Iterable[Instance], part: str) -> tuple[Instance, ...]:
    return tuple(each for each in instances if each.part == part)


def _dealt(
    instances: Iterable[Instance], parts: Sequence[str], seed: int
) -> dict[str, tuple[Instance, ...]]:
    """Deal the instances of each case to the parts in turn, in an order by the seed."""
    cases: dict[str, list[Instance]] = defaultdict(list)
    for each in instances:
        cases[each.case].append(each)
    found: dict[str, list[Instance]] = {name: [] for name in parts}
    turn = 0
    for case in sorted(cases):
        order = random.Random(f"{seed} {case}")  # noqa: S311 - a seeded shuffle
        for each in order.sample(cases[case], len(cases[case])):
            found[parts[turn % len(parts)]].append(each)
            turn += 1
    return {name: tuple(sorted(each, key=lambda one: one.id)) for name, each in found.items()}


def _scorer_hash(problem: Path) -> str:
    with copied_scorer(problem) as copied:
        return hash_tree(copied)


def _write(
    competition: Competition,
    parts: Mapping[str, Sequence[Instance]],
    key: str,
    seed: int,
    test_feedback: bool,
    folder: SplitFolder,
) -> None:
    problem, limits = competition.folder, competition.program
    assert limits is not None, "its submissions are programs"
    folder.sealed.mkdir(parents=True)
    folder.sealed.chmod(0o700)
    for name, instances in parts.items():
        public = name == DEVELOPMENT
        text = json.dumps([asdict(each) for each in instances])
        write_atomically((folder.public if public else folder.sealed) / f"{name}.json", text)
    for place, is_public in ((folder.public, True), (folder.sealed, False)):
        copy_scorer(problem, place / "problem", public=is_public)
    write_runner(folder.public / RUNNER)
    write_atomically(folder.public / "description.md", description_of(problem))
    if program := first_program(problem):
        write_atomically(folder.public / "solver.py", program)
    write_atomically(folder.public / "limits.json", limits.model_dump_json())
    write_atomically(folder.facts, _facts(parts, program))
    split = Split(
        key=key,
        competition=competition.id,
        title=competition.title,
        rule=SplitRule(kind="random"),
        rule_reason="validation has the test instances, to reproduce a benchmark"
        if test_feedback
        else "instances of all cases in each part",
        warnings=("validation and test instances are the same ones",) if test_feedback else (),
        seed=seed,
        metric=NORMALISED_SCORE,
        maximize=True,
        answer_kind=AnswerKind.NUMBER,
        generated=False,
        id_columns=competition.id_columns,
        train_id_columns=competition.id_columns,
        label_columns=competition.label_columns,
        target_columns=competition.label_columns,
        train_rows=len(parts[DEVELOPMENT]),
        validation_rows=len(parts[VALIDATION]),
        test_rows=len(parts[TEST]),
        program=limits,
        public_sha256=hash_tree(folder.public),
        sealed_sha256=hash_tree(folder.sealed),
    )
    write_atomically(folder.metadata, split.model_dump_json(indent=2) + "\n")


def _facts(parts: Mapping[str, Sequence[Instance]], program: str) -> str:
    """Return what agents are told of the instances: cases, fields, and the program to improve."""
    cases = sorted({each.case for found in parts.values() for each in found})
    lines = []
    for case in cases:
        counts = (
            f"{sum(each.case == case for each in parts[name])} {name}"
            for name in (DEVELOPMENT, VALIDATION, TEST)
        )
        lines.append(f"- instances of {case or 'the problem'}: {', '.join(counts)}")
    first = parts[DEVELOPMENT][0]
    lines += ["", f"The fields of the development instance {first.id}, which `solve` gets by name:", ""]
    lines += [f"- {name}: {_described(value)}" for name, value in first.instance.items()]
    if first.withheld:
        lines += ["", f"Only the scorer gets: {', '.join(first.withheld)}."]
    if program:
        lines += ["", "The program to improve, solver.py:", "", "```python", program.strip(), "```"]
    return "\n".join(lines) + "\n"


def _described(value: object) -> str:
    """Return type and size of a value, with its beginning."""
    shown = json.dumps(value)
    beginning = shown if len(shown) <= 60 else f"{shown[:60]} ..."  # noqa: PLR2004 - characters
    size = f"{len(value)} items, " if isinstance(value, list | dict) else ""
    return f"{type(value).__name__}, {size}{beginning}"
