"""A competition as its solvers see it."""

from comind.domain.value import Value

__all__ = ["Problem"]


class Problem(Value):
    """Everything that may be told to a model about a competition and its split; no label is in it."""

    competition: str
    title: str
    description: str
    metric: str
    maximize: bool
    id_columns: tuple[str, ...]
    label_columns: tuple[str, ...]
    target_columns: tuple[str, ...]
    train_rows: int
    validation_rows: int
    test_rows: int
    preview: str
    """What the files look like: names, sizes, columns, a few values."""

    @property
    def folder(self) -> str:
        """Where an attempt finds the data, below its working directory."""
        return f"input/{self.competition}"
