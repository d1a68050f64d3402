"""Suggest the known word that a misspelled one was meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean X?", to end an error's message; empty where no known word is similar.

    The dashes of options make none of them similar.
    """
    bare = {each.strip("-"): each for each in known}
    nearest = get_close_matches(word.strip("-"), bare, n=1)
    return f"; did you mean {bare[nearest[0]]}?" if nearest else ""
