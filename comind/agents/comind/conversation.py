"""The conversation of an attempt: it grows at its end alone, and is compacted at stated limits.

What was sent once stays as it was, so that a server finds it in its cache. Only when the steps no
longer fit are the older ones put into a line each, many at once, and then the rest stands still again.
"""

from itertools import accumulate
from typing import NamedTuple

from comind.llm.base import Message
from comind.llm.templates import Templates
from comind.llm.tokens import count_tokens

__all__ = ["Conversation", "Turn"]

_LEAST_TOKENS = 1_000
# Of the room, after compaction; half of it in all, so that several steps pass until the next one.
_KEPT = 0.2  # for the newest steps, word for word; the last one stays whatever its size
_DIGEST = 0.15  # for what became of the others
_CODE = 0.15  # for the best cell
_MARGIN = 0.9  # counts are near, not exact
_FORM_TOKENS = 300  # what the client says about the form of a reply

_TEMPLATES = Templates("comind.agents.comind")


class Turn(NamedTuple):
    """One step of the conversation."""

    reply: str
    feedback: str
    line: str
    """The step in one line: goal, score or error, files."""
    best_code: str = ""
    """The cell, where it scored better than all before."""

    @property
    def tokens(self) -> int:
        """Tokens of reply and answer."""
        return count_tokens(self.reply) + count_tokens(self.feedback)


class Conversation:
    """What has been said in an attempt, as it is sent."""

    def __init__(
        self,
        opening: tuple[Message, ...],
        *,
        context_tokens: int,
        reply_tokens: int,
        most_tokens: int,
    ) -> None:
        """Begin with what never changes.

        Args:
            opening: the rules and the task.
            context_tokens: of the model, for prompt and reply together.
            reply_tokens: the longest reply that is asked for.
            most_tokens: of all steps together, where the model can read more.
        """
        self.opening = opening
        begun = sum(count_tokens(message.content) for message in opening)
        left = _MARGIN * context_tokens - reply_tokens - begun - _FORM_TOKENS
        self.room = int(max(_LEAST_TOKENS, min(most_tokens, left)))
        """Tokens of all steps together at which they are compacted."""
        self._turns: list[Turn] = []
        self._lines: list[str] = []
        self._left_out = 0
        self._best_code = ""
        self._digest: tuple[Message, ...] = ()

    def add(self, turn: Turn) -> None:
        """Add a step at the end; where there is no more room, put older ones into a line each."""
        self._turns.append(turn)
        used = sum(each.tokens for each in self._turns)
        used += sum(count_tokens(message.content) for message in self._digest)
        if used > self.room and len(self._turns) > 1:
            self._compact()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation."""
        said = [
            message
            for turn in self._turns
            for message in (
                Message(role="assistant", content=turn.reply),
                Message(role="user", content=turn.feedback),
            )
            if message.content
        ]
        return (*self.opening, *self._digest, *said)

    def _compact(self) -> None:
        sizes = accumulate(turn.tokens for turn in reversed(self._turns))
        kept = max(1, sum(size <= _KEPT * self.room for size in sizes))
        past, self._turns = self._turns[:-kept], self._turns[-kept:]
        self._append_lines([turn.line for turn in past])
        codes = [turn.best_code for turn in past if turn.best_code]
        self._best_code = codes[-1] if codes else self._best_code
        content = _TEMPLATES.render(
            "coding_digest",
            steps="\n".join(self._lines),
            left_out=self._left_out,
            code=self._best_code,
            code_tokens=int(_CODE * self.room),
        )
        self._digest = (Message(role="user", content=content),)

    def _append_lines(self, lines: list[str]) -> None:
        """Add lines at the end; where they are too many, leave out the older ones, many at once."""
        self._lines += lines
        sizes = [count_tokens(line) for line in self._lines]
        most = int(_DIGEST * self.room)
        if sum(sizes) > most:
            kept = max(1, sum(size <= most // 2 for size in accumulate(reversed(sizes))))
            self._left_out += len(self._lines) - kept
            self._lines = self._lines[-kept:]
