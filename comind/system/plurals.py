"""Write a count with its noun, in the singular for one."""


def quantity(count: float, noun: str) -> str:
    """Return "1 fold" or "2,000 folds"; `noun` is a singular whose plural takes an s."""
    return f"{count:,.12g} {noun}{'s' * (count != 1)}"
