"""Keep the messages of requests to models, each once by its hash, in a file beside a work's log.

The file is for people: a replay reads it only to explain why it diverges. A message of a conversation
of thirty steps is in one line, however often it was sent; an image is a line of its text. A killed
process can leave an incomplete last line, which readers skip.
"""

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from comind.domain.value import one_line
from comind.llm.model_ports import Message

_MOST_CHARACTERS = 400_000  # of one message: about 100,000 tokens
_ID_LENGTH = 16
_LINE_LENGTH = 160


def messages_file(log: Path) -> Path:
    """Return the path of the messages of the work that has this log."""
    return log.with_name("messages.jsonl")


class MessageStore:
    """Appends messages to a work's file. Thread-safe; one process writes at a time, as in the log."""

    def __init__(self, path: Path) -> None:
        """Open the store; the file is read, and created, with the first message."""
        self._path = path
        self._lock = threading.Lock()
        self._known: set[str] | None = None

    def keep(self, messages: Iterable[Message]) -> tuple[str, ...]:
        """Write the messages that the file lacks; return the ids of all, in order.

        A message of more than 400,000 characters is written without its middle.
        """
        by_id = [(_id_of(each), each) for each in map(_in_words, messages)]
        with self._lock:
            if self._known is None:
                self._known = set(read_messages(self._path))
            new = {name: each for name, each in by_id if name not in self._known}
            if new:
                self._append(new)
                self._known |= new.keys()
        return tuple(name for name, _ in by_id)

    def difference(self, recorded: Sequence[str], now: Sequence[str]) -> str:
        """Return where the messages of two requests differ, in a few words; both as ids.

        Empty where those of the recorded one were not kept.
        """
        kept = read_messages(self._path)
        if not recorded or not kept.keys() >= {*recorded, *now}:
            return ""
        for number, (old, new) in enumerate(zip(recorded, now, strict=False), start=1):
            if old != new:
                return f"message {number} ({kept[new].role}) {_first_line(kept[old], kept[new])}"
        if len(recorded) != len(now):
            return f"the request has {len(now)} messages instead of {len(recorded)}"
        return "its messages are the same, its settings differ"

    def _append(self, messages: Mapping[str, Message]) -> None:
        lines = [
            json.dumps({"id": name, "role": each.role, "content": _truncated(each.content)})
            for name, each in messages.items()
        ]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab+") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 1))
            cut_off = size and file.read(1) != b"\n"
            file.write("".join(["\n" * bool(cut_off), *(f"{line}\n" for line in lines)]).encode())


def read_messages(path: Path) -> dict[str, Message]:
    """Return the messages in a work's file, by id; empty without a file, as of older campaigns."""
    found: dict[str, Message] = {}
    if not path.is_file():
        return found
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                values = json.loads(line)
                found[values["id"]] = Message(role=values["role"], content=values["content"])
            except (ValueError, KeyError, TypeError):
                continue  # incomplete
    return found


def _first_line(old: Message, new: Message) -> str:
    """Return the first line in which two messages differ, as it was recorded and as it is now."""
    lines = zip_longest(old.content.splitlines(), new.content.splitlines(), fillvalue="")
    pairs = enumerate(lines, start=1)
    number, before, after = next(((n, a, b) for n, (a, b) in pairs if a != b), (1, "", ""))
    shown = [repr(one_line(each, _LINE_LENGTH)) for each in (before, after)]
    return f"differs in line {number}: recorded {shown[0]}, now {shown[1]}"


def _in_words(message: Message) -> Message:
    """Return a message with a line for each of its images."""
    lines = (
        f"\n\n[picture {each.sha256[:_ID_LENGTH]}.jpg, {each.width} x {each.height}: {each.caption}]"
        for each in message.images
    )
    return Message(role=message.role, content="".join([message.content, *lines]))


def _id_of(message: Message) -> str:
    return hashlib.sha256(f"{message.role}\n{message.content}".encode("utf-8", "replace")).hexdigest()[
        :_ID_LENGTH
    ]


def _truncated(content: str) -> str:
    left_out = len(content) - _MOST_CHARACTERS
    if left_out <= 0:
        return content
    half = _MOST_CHARACTERS // 2
    return f"{content[:half]}\n[... {left_out:,} characters left out ...]\n{content[-half:]}"
