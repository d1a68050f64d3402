"""Keep the conversation of an attempt append-only, and compact it at stated limits.

Messages that were sent do not change, so that the server's prefix cache applies. Only when the steps
exceed their token limit are older ones replaced by one line each, many at once.
"""

from itertools import accumulate
from typing import NamedTuple

from comind.campaign.work.context import ThinkContext
from comind.campaign.work.prompts import PLATFORM
from comind.domain.image import Image
from comind.domain.problem import Problem
from comind.llm.model_ports import Message
from comind.llm.templates import Templates
from comind.llm.tokens import count_image_tokens, count_tokens

_LEAST_TOKENS = 1_000
# Shares of the room after compaction; together half of it, so that compaction stays rare.
_KEPT = 0.2  # of the newest steps, verbatim; the last one is kept whatever its size
_DIGEST = 0.15  # of the lines of the others
_CODE = 0.15  # of the best cell
_MARGIN = 0.9  # token counts are approximate
_FORM_TOKENS = 300  # of the client's instructions on the format of a reply

TEMPLATES = Templates("comind.agents.comind", PLATFORM)
"""The prompts of all roles."""


def first_messages(
    system: str, user: str, problem: Problem, context: ThinkContext, **values: object
) -> tuple[Message, ...]:
    """Render the system prompt and the first user prompt of a conversation.

    The second has the sample pictures of the data, if there are any and the model takes them.
    """
    images = (problem.samples,) if problem.samples and context.takes_images else ()
    values |= {"problem": problem, "takes_images": context.takes_images}
    return (
        Message(role="system", content=TEMPLATES.render(system, **values)),
        Message(role="user", content=TEMPLATES.render(user, **values), images=images),
    )


class Turn(NamedTuple):
    """One step of the conversation."""

    reply: str
    feedback: str
    line: str
    """The step in one line: goal, score or error, files."""
    best_code: str = ""
    """The cell, if it improved on all before."""
    images: tuple[Image, ...] = ()
    """Of the feedback."""

    @property
    def tokens(self) -> int:
        """Tokens of reply and feedback."""
        return count_tokens(self.reply) + count_tokens(self.feedback) + count_image_tokens(self.images)


class Conversation:
    """The messages of an attempt."""

    def __init__(
        self,
        opening: tuple[Message, ...],
        *,
        context_tokens: int,
        reply_tokens: int,
        most_tokens: int,
    ) -> None:
        """Begin with messages that never change.

        Args:
            opening: the rules and the task.
            context_tokens: the context window, for prompt and reply together.
            reply_tokens: maximum length of a reply.
            most_tokens: maximum of all steps together, if the context window allows for more.
        """
        self.opening = opening
        begun = sum(count_tokens(each.content) + count_image_tokens(each.images) for each in opening)
        left = _MARGIN * context_tokens - reply_tokens - begun - _FORM_TOKENS
        self.room = int(max(_LEAST_TOKENS, min(most_tokens, left)))
        """Tokens of all steps together at which they are compacted."""
        self._turns: list[Turn] = []
        self._lines: list[str] = []
        self._left_out = 0
        self._best_code = ""
        self._digest: tuple[Message, ...] = ()

    def add(self, turn: Turn) -> None:
        """Append a step; compact older ones if the limit is exceeded."""
        self._turns.append(turn)
        used = sum(each.tokens for each in self._turns)
        used += sum(count_tokens(message.content) for message in self._digest)
        if used > self.room and len(self._turns) > 1:
            self._compact()

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages."""
        steps = [
            message
            for turn in self._turns
            for message in (
                Message(role="assistant", content=turn.reply),
                Message(role="user", content=turn.feedback, images=turn.images),
            )
            if message.content
        ]
        return (*self.opening, *self._digest, *steps)

    def _compact(self) -> None:
        sizes = accumulate(turn.tokens for turn in reversed(self._turns))
        kept = max(1, sum(size <= _KEPT * self.room for size in sizes))
        past, self._turns = self._turns[:-kept], self._turns[-kept:]
        self._append_lines([turn.line for turn in past])
        codes = [turn.best_code for turn in past if turn.best_code]
        self._best_code = codes[-1] if codes else self._best_code
        content = TEMPLATES.render(
            "coding_digest",
            steps="\n".join(self._lines),
            left_out=self._left_out,
            code=self._best_code,
            code_tokens=int(_CODE * self.room),
        )
        self._digest = (Message(role="user", content=content),)

    def _append_lines(self, lines: list[str]) -> None:
        """Append lines; above their limit, drop the older ones, many at once."""
        self._lines += lines
        sizes = [count_tokens(line) for line in self._lines]
        most = int(_DIGEST * self.room)
        if sum(sizes) > most:
            kept = max(1, sum(size <= most // 2 for size in accumulate(reversed(sizes))))
            self._left_out += len(self._lines) - kept
            self._lines = self._lines[-kept:]
