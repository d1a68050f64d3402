# Which side file belongs to which row: the one that a column names, most likely the id.
from pathlib import Path


def side_files(endings):
    """Return a path (or None) for each row of train, validation and test."""
    found = [path for path in sorted(Path(FOLDER).rglob("*")) if path.suffix.lower() in endings]
    by_name = {key: path for path in found for key in (path.stem, path.name)}
    by_name |= {path.relative_to(FOLDER).as_posix(): path for path in found}

    def paths(rows, column):
        return [by_name.get(cell) for cell in rows[column].astype(str)]

    shared = [column for column in test.columns if column in validation.columns]
    column = max(shared, key=lambda name: sum(path is not None for path in paths(test, name)))
    own = column if column in train.columns else TRAIN_IDS[IDS.index(column)]
    return paths(train, own), paths(validation, column), paths(test, column)
