"""Competition folders that are refused: how each is broken, and the line that says so.

Data for the tests and for docs/bad-input.md.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.unit.competitions.folders import Break, describe, in_turn, raw, text, write

__all__ = ["BAD_ANSWERS", "BAD_FOLDERS", "BadFolder"]


@dataclass(frozen=True)
class BadFolder:
    """A way to break the small competition, and what is said of it; `{folder}` is where it lies."""

    name: str
    wrong: str
    breaks: Break
    line: str
    hint: str = ""
    """A part of the second line, which says how to mend it."""


def _remove(name: str) -> Break:
    return lambda folder: (folder / name).unlink()


def _train(*labels: str, header: str = "id,x,label", **described: Any) -> Break:
    """Write 40 training rows with these labels in turn, under another description."""

    def change(folder: Path) -> None:
        describe(**described)(folder)
        rows = [f"{row},{row / 2},{labels[row % len(labels)]}" for row in range(40)]
        write(folder, "train.csv", [header, *rows])

    return change


def _linked(folder: Path) -> None:
    (folder / "public" / "train.csv").rename(folder / "train.csv")
    (folder / "public" / "train.csv").symlink_to(folder / "train.csv")


def _target(name: str) -> Break:
    """Ask for another target column, and have it in the sample."""
    asked = [f"{row},0" for row in range(40, 50)]
    sample = raw("public/sample_submission.csv", "\n".join([f"id,{name}", *asked]) + "\n")
    return in_turn(describe(target_columns=[name]), sample)


def _images(*, missing: bool = False, content: bytes = b"") -> Break:
    """Name an image in each row of train.csv and test.csv; all are there but perhaps the last."""

    def change(folder: Path) -> None:
        (folder / "public" / "images").mkdir()
        for row in range(50):
            (folder / "public" / "images" / f"{row}.dat").write_bytes(b"pixels")
        rows = [f"{row},images/{row}.dat,{'yes' if row % 4 else 'no'}" for row in range(40)]
        write(folder, "train.csv", ["id,x,label", *rows])
        write(folder, "test.csv", ["id,x", *[f"{row},images/{row}.dat" for row in range(40, 50)]])
        if missing:
            (folder / "public" / "images" / "39.dat").unlink()

    return change


_RANDOM = {"kind": "random"}
_NUMBERS: dict[str, Any] = {"metric": "rmse", "split": _RANDOM}

_LABEL = "{folder}: public/train.csv: column 'label': "

BAD_FOLDERS: tuple[BadFolder, ...] = (
    # --- files ---
    BadFolder(
        "no description",
        "competition.yaml is missing",
        _remove("competition.yaml"),
        "{folder}: has no competition.yaml",
    ),
    BadFolder(
        "no public folder",
        "there is nothing but a description",
        lambda folder: (folder / "public").rename(folder / "data"),
        "{folder}: has no folder public/",
    ),
    BadFolder(
        "no train file",
        "train.csv is missing",
        _remove("public/train.csv"),
        "{folder}: public/train.csv is missing",
    ),
    BadFolder(
        "no test file",
        "test.csv is missing",
        _remove("public/test.csv"),
        "{folder}: public/test.csv is missing",
    ),
    BadFolder(
        "no sample",
        "sample_submission.csv is missing",
        _remove("public/sample_submission.csv"),
        "{folder}: public/sample_submission.csv is missing",
    ),
    BadFolder(
        "link in public",
        "a file in public/ is a symbolic link",
        lambda folder: (folder / "public" / "more.csv").symlink_to("/etc/passwd"),
        "{folder}: public/more.csv is a symbolic link",
        "put the file itself there",
    ),
    BadFolder(
        "linked train file",
        "train.csv is a symbolic link",
        _linked,
        "{folder}: public/train.csv is a symbolic link",
        "put the file itself there",
    ),
    BadFolder(
        "pipe in public",
        "a file in public/ is a named pipe",
        lambda folder: os.mkfifo(folder / "public" / "images"),
        "{folder}: public/images is neither a file nor a folder",
        "remove it",
    ),
    BadFolder(
        "validation file in the way",
        "public/ has a validation.csv of its own",
        raw("public/validation.csv", "id\n1\n"),
        "{folder}: public/validation.csv is reserved for a file of the split",
        "give the file another name",
    ),
    BadFolder(
        "file name with a line break",
        "the name of a broken side file would break the line",
        raw("public/a\nb\u202e.png", b"no image"),
        "{folder}: public/a\\nb\\u202e.png cannot be read (cannot identify image file)",
        "repair or remove the file",
    ),
    # --- competition.yaml ---
    BadFolder(
        "broken YAML",
        "a bracket is never closed",
        raw("competition.yaml", "a: [b\nc: d"),
        "{folder}/competition.yaml, line 2: is not YAML (expected ',' or ']', but got ':')",
    ),
    BadFolder(
        "key given twice",
        "competition.yaml has two metrics",
        raw("competition.yaml", "metric: accuracy\nmetric: rmse\n"),
        "{folder}/competition.yaml, line 2: is not YAML (the key 'metric' is there twice)",
    ),
    BadFolder(
        "program in YAML",
        "competition.yaml asks for a Python object",
        raw("competition.yaml", "id: !!python/object/apply:os.getcwd []"),
        "{folder}/competition.yaml, line 1: is not YAML (could not determine a constructor for the tag"
        " 'tag:yaml.org,2002:python/object/apply:os.getcwd')",
    ),
    BadFolder(
        "deep YAML",
        "ten thousand brackets",
        raw("competition.yaml", "id: " + "[" * 10_000),
        "{folder}/competition.yaml: is not YAML (a value that makes no sense)",
    ),
    BadFolder(
        "impossible date",
        "the deadline is the 99th of May",
        raw("competition.yaml", "deadline: 2024-05-99"),
        "{folder}/competition.yaml: is not YAML (a value that makes no sense)",
    ),
    BadFolder(
        "deadline in words",
        "the deadline is no date",
        describe(deadline="in spring"),
        "{folder}/competition.yaml: deadline 'in spring' is no ISO 8601 time"
        " such as 2023-04-01T23:59:00Z",
    ),
    BadFolder(
        "YAML with control characters",
        "competition.yaml holds a NUL",
        raw("competition.yaml", "id: \0"),
        "{folder}/competition.yaml: is not YAML (a character that it cannot hold)",
    ),
    BadFolder(
        "YAML in another encoding",
        "competition.yaml is Latin-1",
        raw("competition.yaml", "title: caf\xe9\n".encode("latin1")),
        "{folder}/competition.yaml: is not UTF-8 text",
    ),
    BadFolder(
        "YAML without keys",
        "competition.yaml is a list",
        raw("competition.yaml", "- id\n- title\n"),
        "{folder}/competition.yaml: is not a mapping",
        "such as metric: accuracy",
    ),
    BadFolder(
        "empty YAML",
        "competition.yaml is empty",
        raw("competition.yaml", ""),
        "{folder}/competition.yaml: is not a mapping",
        "such as metric: accuracy",
    ),
    BadFolder(
        "unknown key",
        "a key is misspelt",
        describe(metrik="accuracy"),
        "{folder}/competition.yaml: unknown key 'metrik'",
        "known keys: deadline, files, id, id_columns",
    ),
    BadFolder(
        "missing key",
        "no id columns are named, and the tables do not show them",
        in_turn(describe(id_columns=None), text("sample_submission.csv", "id,label", "key,label")),
        "{folder}/public: sample_submission.csv does not ask for the rows of test.csv: they have no "
        "column in common",
        "add id_columns to competition.yaml",
    ),
    BadFolder(
        "text in place of a list",
        "id_columns is one word",
        describe(id_columns="id"),
        "{folder}/competition.yaml: id_columns: is not a list",
        "write a list of names, such as [id] or [first, second]",
    ),
    BadFolder(
        "number in place of text",
        "the title is a number",
        describe(title=2024),
        "{folder}/competition.yaml: title: is not text",
        "put it in quotation marks",
    ),
    BadFolder(
        "no targets",
        "target_columns is an empty list",
        describe(target_columns=[]),
        "{folder}/competition.yaml: target_columns: is an empty list",
        "write a list of names",
    ),
    BadFolder(
        "id that leads elsewhere",
        "the id is a path",
        describe(id="../../evil"),
        "{folder}/competition.yaml: id: '../../evil' is not a name: letters, digits, dot, dash and"
        " underscore, starting with a letter or digit, at most 120",
    ),
    BadFolder(
        "id with a line break",
        "the id has two lines",
        describe(id="a\nb"),
        "{folder}/competition.yaml: id: 'a\\nb' is not a name: letters, digits, dot, dash and"
        " underscore, starting with a letter or digit, at most 120",
    ),
    BadFolder(
        "unknown metric",
        "the metric does not exist",
        describe(metric="niceness"),
        "{folder}: unknown metric 'niceness'",
        "known metrics: accuracy, average-precision",
    ),
    BadFolder(
        "column in two roles",
        "a column is an id and a label",
        describe(label_columns=["label", "id"]),
        "{folder}/competition.yaml: the column 'id' is there twice in id_columns and label_columns",
    ),
    BadFolder(
        "ids of another number",
        "train_id_columns has more names than id_columns",
        describe(train_id_columns=["id", "x"]),
        "{folder}/competition.yaml: train_id_columns must name as many columns as id_columns",
    ),
    # --- the split ---
    BadFolder(
        "split without keys",
        "the split is one word",
        describe(split="random"),
        "{folder}/competition.yaml: split: is not a mapping",
        "such as kind: random",
    ),
    BadFolder(
        "unknown split",
        "there is no such kind of split",
        describe(split={"kind": "odd"}),
        "{folder}/competition.yaml: split.kind: Input should be 'random', 'stratified', 'group' or"
        " 'time'",
    ),
    BadFolder(
        "unknown key of the split",
        "a key of the split is misspelt",
        describe(split={"kind": "random", "colum": "x"}),
        "{folder}/competition.yaml: split.colum: is not a known key",
    ),
    BadFolder(
        "split without a column",
        "a group split names no column",
        describe(split={"kind": "group"}),
        "{folder}/competition.yaml: split: a group split requires 'column'",
    ),
    BadFolder(
        "split by a column and columns",
        "a split by twins names a column beside its columns",
        describe(split={"kind": "group", "by": "twins", "columns": ["x"], "column": "id"}),
        "{folder}/competition.yaml: split: 'by: twins' uses 'columns'; 'column' is not allowed",
    ),
    BadFolder(
        "split column missing",
        "the split's column is not there",
        describe(split={"kind": "group", "column": "zone"}),
        "{folder}: the split's column 'zone' is not in train.csv",
    ),
    BadFolder(
        "split by no time",
        "the column of a time split holds words",
        describe(split={"kind": "time", "column": "label"}),
        "{folder}: the split's column 'label' holds no time: 'yes'",
    ),
    BadFolder(
        "split by one time",
        "all rows have the same time",
        in_turn(
            _train("yes", "no", header="id,then,label", split={"kind": "time", "column": "day"}),
            raw(
                "public/train.csv",
                "id,day,label\n" + "".join(f"{i},2024-01-01,{'ab'[i % 2]}\n" for i in range(40)),
            ),
            text("test.csv", "id,x", "id,day"),
        ),
        "{folder}: the split's column 'day': no rows are left before the ones held back",
    ),
    BadFolder(
        "one group",
        "all rows belong to one group",
        in_turn(
            describe(split={"kind": "group", "column": "x"}),
            raw(
                "public/train.csv", "id,x,label\n" + "".join(f"{i},7,{'ab'[i % 2]}\n" for i in range(40))
            ),
        ),
        "{folder}: the split's column 'x' has one group only",
    ),
    BadFolder(
        "each row its class",
        "no class of a stratified split has two rows",
        in_turn(
            describe(split={"kind": "stratified", "column": "x"}),
        ),
        "{folder}: the split's column 'x' has no class with two rows; it cannot be stratified",
    ),
    # --- reading the tables ---
    BadFolder(
        "empty file",
        "train.csv has no bytes",
        raw("public/train.csv", b""),
        "{folder}/public/train.csv: is empty",
    ),
    BadFolder(
        "binary file",
        "test.csv holds NUL bytes",
        raw("public/test.csv", b"\x00\x01\x02"),
        "{folder}/public/test.csv: is not text but binary data",
    ),
    BadFolder(
        "Latin-1",
        "train.csv is not UTF-8",
        raw("public/train.csv", b"id,x,label\n1,\xe9,yes\n"),
        "{folder}/public/train.csv: is not UTF-8 text (byte 13)",
        "iconv -f cp1252 -t utf-8",
    ),
    BadFolder(
        "UTF-16",
        "train.csv was saved as Unicode by a spreadsheet",
        raw("public/train.csv", "id,x,label\n1,2,yes\n".encode("utf-16")),
        "{folder}/public/train.csv: is not UTF-8 text (byte 0)",
        "iconv -f utf-16 -t utf-8",
    ),
    BadFolder(
        "unclosed quotation mark",
        "a cell of train.csv never ends",
        text("train.csv", "3,1.5,", '3,"1.5,'),
        "{folder}/public/train.csv: line 5 has 2 cells, but the header 3",
        "close them",
    ),
    BadFolder(
        "rows too long",
        "a row has more cells than the header",
        text("train.csv", "3,1.5,no", "3,1,5,no"),
        "{folder}/public/train.csv: line 5 has 4 cells, but the header 3",
        "put quotation marks around a cell with a comma",
    ),
    BadFolder(
        "rows too short",
        "the file was cut off in its last row",
        text("train.csv", "39,19.5,no", "39,19"),
        "{folder}/public/train.csv: line 41 has 2 cells, but the header 3",
    ),
    BadFolder(
        "semicolons",
        "a spreadsheet wrote semicolons",
        raw("public/test.csv", "id;x\n40;1,5\n"),
        "{folder}/public/test.csv: its cells are separated by ';'",
        "save it again with commas",
    ),
    BadFolder(
        "column twice",
        "two columns have one name",
        text("test.csv", "id,x", "id,id"),
        "{folder}/public/test.csv: the column 'id' appears twice",
    ),
    BadFolder(
        "column without a name",
        "the index was written, too",
        raw("public/test.csv", ",id,x\n0,40,1\n"),
        "{folder}/public/test.csv: a column in the header has no name",
    ),
    # --- columns ---
    BadFolder(
        "label column missing",
        "train.csv lacks the label",
        describe(label_columns=["y"]),
        "{folder}: public/train.csv has no column 'y'",
        "its columns are id, x, label",
    ),
    BadFolder(
        "id column missing",
        "train.csv lacks the id",
        text("train.csv", "id,x", "key,x"),
        "{folder}: public/train.csv has no column 'id'",
        "its columns are key, x, label",
    ),
    BadFolder(
        "id column missing in test",
        "test.csv lacks the id",
        text("test.csv", "id,x", "key,x"),
        "{folder}: public/test.csv has no column 'id'",
        "its columns are key, x",
    ),
    BadFolder(
        "label left in test",
        "test.csv shows the answers",
        raw("public/test.csv", "id,x,label\n40,1,yes\n"),
        "{folder}: public/test.csv shows the label column 'label'",
        "take it out of test.csv, or out of label_columns",
    ),
    BadFolder(
        "other columns in test",
        "test.csv has a column that train.csv does not have",
        text("test.csv", "id,x", "id,z"),
        "{folder}: public/test.csv has a column 'z' that train.csv does not have",
    ),
    BadFolder(
        "column name with a line break",
        "a hostile name of a column, as it would come from a script",
        text("test.csv", "id,x", 'id,"=cmd()\n\u202e../../x"'),
        "{folder}: public/test.csv has a column '=cmd()\\n\\u202e../../x' that train.csv does not have",
    ),
    BadFolder(
        "long column name",
        "the name of a column fills pages",
        text("test.csv", "id,x", "id," + "z" * 200_000),
        "{folder}: public/test.csv has a column '" + "z" * 20,
    ),
    BadFolder(
        "target without a column",
        "the target is neither in train.csv nor a class",
        _target("answer"),
        "{folder}: the target column 'answer' is neither a column of train.csv nor a class of 'label'",
        "target_columns in competition.yaml name what a submission has beside its ids",
    ),
    BadFolder(
        "one column for all classes",
        "multiclass log loss with one target column",
        in_turn(describe(metric="multiclass-log-loss"), _target("yes")),
        "{folder}: multiclass-log-loss requires a target column for each class, not one",
        "for two classes and one column the metric is log-loss",
    ),
    BadFolder(
        "class without a column",
        "a class of train.csv is not among the target columns",
        in_turn(
            describe(metric="multiclass-log-loss", target_columns=["yes", "maybe"]),
            raw(
                "public/sample_submission.csv",
                "id,yes,maybe\n" + "".join(f"{i},1,0\n" for i in range(40, 50)),
            ),
        ),
        "{folder}: public/train.csv: the class 'no' is not a target column (30 of 40 rows)",
        "the target columns are yes, maybe",
    ),
    # --- rows ---
    BadFolder(
        "only a header",
        "train.csv has no rows",
        raw("public/train.csv", "id,x,label\n"),
        "{folder}: public/train.csv: has fewer than 4 rows",
    ),
    BadFolder(
        "nothing asked for",
        "test.csv has no rows",
        raw("public/test.csv", "id,x\n"),
        "{folder}: public/test.csv: has no rows",
    ),
    BadFolder(
        "one class",
        "every row has the same label",
        _train("yes"),
        "{folder}: public/train.csv: every row has the same 'label'; there is nothing to classify",
    ),
    BadFolder(
        "empty labels",
        "some training rows have no label",
        _train("yes", "no", "no", ""),
        "{folder}: public/train.csv: no 'label' in 10 of 40 rows",
        "leave these rows out, or name a metric that scores rows without a label",
    ),
    BadFolder(
        "words for numbers",
        "a number to predict is a word",
        _train("1.5", "2", "many", "4", **_NUMBERS),
        _LABEL + "no number in 10 of 40 rows, for instance 'many'",
        "write all cells of 'label' as plain numbers, and unknown ones as blank cells",
    ),
    BadFolder(
        "NaN to predict",
        "a number to predict is not a number",
        _train("1.5", "2", "3", "NaN", **_NUMBERS),
        _LABEL + "no number in 10 of 40 rows, for instance 'NaN'",
        "write all cells of 'label' as plain numbers, and unknown ones as blank cells",
    ),
    BadFolder(
        "infinity to predict",
        "a number to predict is infinite",
        _train("1.5", "2", "3", "inf", **_NUMBERS),
        _LABEL + "no finite number in 10 of 40 rows, for instance 'inf'",
        "the metric is rmse",
    ),
    BadFolder(
        "negative price",
        "the metric cannot work with a true value",
        _train("1.5", "2", "3", "-4", metric="rmsle", split=_RANDOM),
        _LABEL + "no number above -1 in 10 of 40 rows, for instance '-4'",
        "the metric is rmsle",
    ),
    BadFolder(
        "labels that are not 0 and 1",
        "the F1 score is of the class 1, and there are three others",
        _train("low", "middle", "high", metric="f1"),
        _LABEL + "neither 0 nor 1 in 40 of 40 rows, for instance 'low'",
        "the metric is f1",
    ),
    BadFolder(
        "truth is no probability",
        "the classes of a ranking are 1 and 2",
        _train("1", "2", metric="roc-auc"),
        _LABEL + "'1' or '2' may be the positive class",
        "positive_class",
    ),
    BadFolder(
        "duplicate ids",
        "two training rows have one id",
        text("train.csv", "\n3,", "\n2,"),
        "{folder}: public/train.csv: the id '2' (id) appears twice",
        "id_columns in competition.yaml may name several columns",
    ),
    BadFolder(
        "one id in two spellings",
        "the ids 7 and 7.0 are the same",
        text("train.csv", "\n3,", "\n7.0,"),
        "{folder}: public/train.csv: the id '7' (id) appears twice",
        "id_columns in competition.yaml may name several columns",
    ),
    BadFolder(
        "rows without an id",
        "some training rows have no id",
        text("train.csv", "\n3,", "\n,"),
        "{folder}: public/train.csv: no id (id) in 1 of 40 rows",
    ),
    BadFolder(
        "rows without an id in test",
        "some test rows have no id",
        text("test.csv", "\n43,", "\n ,"),
        "{folder}: public/test.csv: no id (id) in 1 of 10 rows",
    ),
    BadFolder(
        "duplicate ids in test",
        "two test rows have one id",
        text("test.csv", "\n43,", "\n42,"),
        "{folder}: public/test.csv: the id '42' (id) appears twice",
        "id_columns in competition.yaml may name several columns",
    ),
    # --- the sample submission ---
    BadFolder(
        "sample with other columns",
        "the sample has another target",
        text("sample_submission.csv", "id,label", "id,answer"),
        "{folder}: public/sample_submission.csv has no column 'label'",
        "its columns are id, answer",
    ),
    BadFolder(
        "sample with more columns",
        "the sample has a column that is no target",
        raw(
            "public/sample_submission.csv",
            "id,label,sure\n" + "".join(f"{i},no,1\n" for i in range(40, 50)),
        ),
        "{folder}: public/sample_submission.csv has columns id, label, sure; a submission has id, label",
    ),
    BadFolder(
        "sample without targets",
        "the sample has ids only, and is to say what the targets are",
        in_turn(
            describe(target_columns="sample_submission"),
            raw("public/sample_submission.csv", "id\n" + "".join(f"{i}\n" for i in range(40, 50))),
        ),
        "{folder}: public/sample_submission.csv has no column beside the ids",
    ),
    BadFolder(
        "sample with fewer rows",
        "the sample lacks a test row",
        text("sample_submission.csv", "43,no\n", ""),
        "{folder}: public/sample_submission.csv: does not have 10 rows, one for each row of test.csv",
    ),
    BadFolder(
        "sample with other rows",
        "the sample has an id that test.csv has not",
        text("sample_submission.csv", "43,no\n", "99,no\n"),
        "{folder}: public/sample_submission.csv: an id that is not in test.csv in 1 of 10 rows",
    ),
    # --- side files ---
    BadFolder(
        "missing side file",
        "train.csv names a file that is not there",
        _images(missing=True),
        "{folder}: public/train.csv: the file 'images/39.dat' of column 'x' is missing (1 of 40 are)",
        "names are relative to public/",
    ),
    BadFolder(
        "broken image",
        "an image is none",
        raw("public/images/1.png", b"\x89PNG broken"),
        "{folder}: public/images/1.png cannot be read (cannot identify image file)",
        "repair or remove the file",
    ),
    BadFolder(
        "broken audio",
        "an audio file ends within its header",
        raw("public/audio/1.wav", b"RIFF\x04"),
        "{folder}: public/audio/1.wav cannot be read (it ends too early)",
        "repair or remove the file",
    ),
    BadFolder(
        "unreadable side table",
        "another table with ids and labels is no table",
        raw("public/more/extra.csv", b"id,label\n1,\xe9\n"),
        "{folder}/public/more/extra.csv: is not UTF-8 text (byte 11)",
        "iconv",
    ),
)
"""What `comind solve` refuses with exit code 2."""

BAD_ANSWERS: tuple[BadFolder, ...] = (
    BadFolder(
        "id column missing in test, on grading",
        "test.csv lacks the id of a submission",
        text("test.csv", "id,x", "key,x"),
        "{folder}: public/test.csv has no column 'id'",
        "its columns are key, x",
    ),
    BadFolder(
        "no metric",
        "no metric is named",
        describe(metric=None),
        "{folder}: competition.yaml names no metric",
        "known metrics: accuracy, average-precision",
    ),
    BadFolder(
        "no answers",
        "this is no past competition",
        _remove("private/answers.csv"),
        "{folder}: has no private/answers.csv",
        "only past competitions can be graded",
    ),
    BadFolder(
        "answers without the target",
        "the answers have another column",
        raw("private/answers.csv", "id,answer\n40,yes\n"),
        "{folder}/private/answers.csv: has no column 'label'",
    ),
    BadFolder(
        "answers to other rows",
        "the answers have other ids than test.csv",
        raw("private/answers.csv", "id,label\n40,yes\n"),
        "{folder}/private/answers.csv: does not have the ids of public/test.csv, each once",
        "1 answers, 10 rows of test.csv",
    ),
    BadFolder(
        "empty answers",
        "an answer is missing",
        raw("private/answers.csv", "id,label\n" + "".join(f"{i},\n" for i in range(40, 50))),
        "{folder}/private/answers.csv: column 'label': no label in 10 of 10 rows",
        "the metric is accuracy",
    ),
    BadFolder(
        "leaderboard without scores",
        "leaderboard/private.csv has no column of scores",
        raw("leaderboard/private.csv", "rank,points\n1,0.5\n"),
        "{folder}/leaderboard/private.csv: has no column 'score'",
    ),
    BadFolder(
        "leaderboard of NaN",
        "a score on the leaderboard is no number",
        raw("leaderboard/private.csv", "rank,score\n1,nan\n"),
        "{folder}/leaderboard/private.csv: a score on it is not a finite number",
    ),
)
"""What `comind grade` refuses with exit code 2, though the submission is right."""
