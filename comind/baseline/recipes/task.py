"""What a program is told of its competition."""

from dataclasses import dataclass

__all__ = ["Task"]


@dataclass(frozen=True)
class Task:
    """What is to be predicted from which files, and how it is judged."""

    folder: str
    id_columns: list[str]
    train_id_columns: list[str]  # the same columns in train.csv, where they may have other names
    label_columns: list[str]
    target_columns: list[str]
    answer_kind: str
    metric: str
    seed: int
    positive_class: str = ""  # the class that counts as 1, where the labels are two other words
