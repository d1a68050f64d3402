"""Define entries of a knowledge base, and read bases: YAML files of entries, and model cards."""

import hashlib
import re
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from comind.domain.value import Name, Text, Value
from comind.errors import ServiceError, UsageError
from comind.knowledge.text_files import read_text_file

BUILTIN = "builtin"
NO_KNOWLEDGE = "none"
_SHIPPED = Path(__file__).with_name("methods.yaml")
_PIN = "@sha256:"
_HASH_LENGTH = 16


class Entry(Value):
    """Knowledge about a method in a few sentences; text of a built base is untrusted."""

    id: Name
    entry_type: Literal["method", "trick", "paper"] = Field(alias="kind")
    """A method or a paper is a start of a solution; a trick improves one."""
    title: Text
    text: Text
    labels: tuple[str, ...] = ()
    """Of the label tree, the most specific first."""
    source: str = ""
    published: date | None = None
    """Day from which it was public; None if unknown, which counts as later than any as-of time."""
    competition: str = ""
    """Competition that its source is about; no campaign on the same one sees it."""
    refs: tuple[str, ...] = ()


class KnowledgeBase(NamedTuple):
    """Entries in the order of their files, and one hash over all of them."""

    entries: tuple[Entry, ...]
    sha256: str

    def visible(self, as_of: datetime | None, competition: str = "") -> tuple[Entry, ...]:
        """Return the entries that were public at a moment and are not about `competition`."""
        return tuple(
            each
            for each in self.entries
            if (as_of is None or (each.published is not None and each.published < as_of.date()))
            and not (competition and each.competition == competition)
        )


_ENTRIES: TypeAdapter[tuple[Entry, ...]] = TypeAdapter(tuple[Entry, ...])


def read_base(path: Path) -> KnowledgeBase:
    """Read a base: one YAML file, or a folder of such files and of model cards (`.md`).

    A `README.md` is about the folder, and no card.

    Raises:
        UsageError: there is none, it is not a list of entries, or an id occurs twice.
    """
    files = _files_of(path) if path.is_dir() else [path]
    if not files:
        raise UsageError(
            f"{path}: has no YAML files and no model cards (.md)",
            hint="comind knowledge build makes YAML files",
        )
    entries = [entry for file in files for entry in _read_entries(file)]
    by_id = {each.id: each for each in entries}
    if len(by_id) < len(entries):
        twice = next(each.id for each in entries if by_id[each.id] is not each)
        raise UsageError(f"{path}: two entries have the id {twice!r}")
    whole = "\0".join(by_id[name].model_dump_json() for name in sorted(by_id))
    return KnowledgeBase(tuple(entries), hashlib.sha256(whole.encode()).hexdigest())


def _files_of(folder: Path) -> list[Path]:
    found = [*folder.glob("*.yaml"), *folder.glob("*.md")]
    return sorted(each for each in found if each.name != "README.md")


def _read_entries(file: Path) -> tuple[Entry, ...]:
    try:
        if file.suffix == ".md":
            return (_card(file),)
        found: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
        return _ENTRIES.validate_python(found or ())
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise UsageError(f"{file}: {error}", hint="a base is a YAML list of entries") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        part = f"the card's {place}" if file.suffix == ".md" else f"entry {place}"
        raise UsageError(f"{file}: {part}: {first['msg']}") from None


def _card(file: Path) -> Entry:
    """Return a model card as an entry without labels, whose id is the file's name."""
    title, text, day = read_text_file(file)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem).strip("-.") or "card"
    return Entry(id=name, entry_type="method", title=title, text=text, source=file.name, published=day)


def pin(name: str) -> str:
    """Return the name of a base with its content hash: `builtin@sha256:...` or `PATH@sha256:...`.

    `none`, and a name that has a hash, are unchanged; a path becomes absolute.

    Raises:
        UsageError: the base cannot be read.
    """
    if name == NO_KNOWLEDGE or _PIN in name:
        return name
    place = name if name == BUILTIN else str(Path(name).expanduser().absolute())
    return f"{place}{_PIN}{read_base(_path_of(place)).sha256[:_HASH_LENGTH]}"


def open_pinned(name: str) -> KnowledgeBase:
    """Read a base by its pinned name; the content is the one that was pinned.

    Raises:
        ServiceError: it cannot be read, or has changed since; work continues once it is restored.
    """
    place, _, expected = name.partition(_PIN)
    hint = "restore it with dvc checkout, or start a new campaign"
    try:
        base = read_base(_path_of(place))
    except UsageError as error:
        raise ServiceError(f"the knowledge base is not readable: {error}", hint=hint) from None
    if not base.sha256.startswith(expected):
        found = base.sha256[:_HASH_LENGTH]
        raise ServiceError(f"the knowledge base {place} is {found}, not {expected}", hint=hint)
    return base


def _path_of(place: str) -> Path:
    return _SHIPPED if place == BUILTIN else Path(place)
