"""Streams that servers send in place of what the OpenAI protocols ask for."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.doubles.completions import as_stream, chat_body, responses_body
from tests.unit.llm.odd_bodies import ODD, PARTS, TOOL, USAGE
from tests.unit.llm.samples import STOP

_CHOICES: dict[str, Any] = {
    "choices null": None,
    "choices text": "a",
    "choices {}": {},
    "choices [null]": [None],
    "choices [text]": ["a"],
    "no delta": [{"index": 0, "finish_reason": None}],
    "delta null": [{"index": 0, "delta": None}],
    "delta text": [{"index": 0, "delta": "a"}],
    "delta list": [{"index": 0, "delta": ["a"]}],
    "no index": [{"delta": {"content": ""}}],
    "index null": [{"index": None, "delta": {"content": ""}}],
    "index text": [{"index": "0", "delta": {"content": "a"}}],
    "second choice": [{"index": 1, "delta": {"content": "a"}, "finish_reason": "length"}],
    "message in place of a delta": [{"index": 0, "message": {"content": "a"}}],
    "text in place of a delta": [{"index": 0, "text": "a"}],
}


def _events(*events: object, end: str = "data: [DONE]\n\n") -> str:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + end


def _piece(finish: object = None, /, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def chat_streams() -> Iterator[tuple[str, str | bytes]]:
    counts = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 9}}
    yield from _whole_streams(chat_body(STOP, USAGE))
    text, end = _piece(content=STOP), _piece("stop")
    for name, choices in _CHOICES.items():
        yield name, _events(text, {"choices": choices}, end, counts)
        yield f"{name}, first", _events({"choices": choices}, text, end, counts)
        yield f"{name}, alone", _events({"choices": choices}, counts)
    yield "no choices", _events(text, {"id": "c"}, end, counts)
    yield "no choices at all", _events({"id": "c"}, counts)
    for content in (None, "", 7, 0, True, {}, {"text": "a"}, [], [None], ["a"], [{"text": 7}], PARTS):
        yield f"content {json.dumps(content)}", _events(text, _piece(content=content), end, counts)
    yield "content in parts alone", _events(_piece(content=PARTS), _piece(content=PARTS), end, counts)
    for finish in ("", "eos", "length", "content_filter", ["stop"], "x\n" * 300, *ODD):
        yield f"finish_reason {json.dumps(finish)[:20]}", _events(text, _piece(finish), counts)
    yield "no finish_reason, no [DONE]", _events(text, counts, end="")
    yield "finish_reason, no [DONE]", _events(text, end, counts, end="")
    yield "finish_reason twice", _events(_piece("length", content=STOP), end, counts)
    for name in ("reasoning_content", "reasoning"):
        for value in ("hm", "", None, ["hm"], {"text": "hm"}):
            yield f"{name} {json.dumps(value)}", _events(_piece(**{name: value}), text, end, counts)
    yield "refusal", _events(_piece(refusal="I "), _piece(refusal="will not."), end, counts)
    yield "refusal in parts", _events(_piece(refusal=PARTS), end, counts)
    for calls in ([TOOL], [], None, {}, "f", [7], {"name": "f"}):
        yield f"tool_calls {json.dumps(calls)[:20]}", _events(_piece(tool_calls=calls), end, counts)
    yield (
        "two calls of a tool",
        _events(_piece(tool_calls=[TOOL]), _piece(tool_calls=[TOOL]), end, counts),
    )
    yield "function_call", _events(_piece(function_call={"name": "f"}), end, counts)
    yield "thinking in the text", _events(_piece(content=f"<think>hm</think>{STOP}"), end, counts)
    half, other = _piece(content="\ud83d"), _piece(content="\ude00")
    yield "halves of a character", _events(half, other, end, counts)
    yield "half a character", _events(text, half, end, counts)
    one, two = (
        {"prompt_tokens": 20, "completion_tokens": 1},
        {"prompt_tokens": 20, "completion_tokens": 9},
    )
    yield "usage in every event", _events(text | {"usage": one}, end | {"usage": two})
    yield "usage null at the end", _events(text | {"usage": two}, end | {"usage": None})
    for usage in ODD[1:]:
        yield f"usage {json.dumps(usage)}", _events(text, end | {"usage": usage})
    yield "model in the last event", _events(text, end, counts | {"model": "late"})
    yield "two models", _events(text | {"model": "one"}, end | {"model": "two"}, counts)
    yield "model a list", _events(text | {"model": ["one"]}, end, counts)
    yield "error in the middle", _events(text, {"error": {"message": "lost"}}, end)
    yield "error at the end", _events(text, end, {"error": {"message": "lost"}})
    yield "error after [DONE]", _events(text, end, counts) + _events({"error": {"message": "lost"}})
    yield "error null", _events(text | {"error": None}, end | {"error": {}}, counts)
    yield "type error", _events(text, {"type": "error", "message": "lost"}, end)
    yield "null in the middle", _events(text, None, end, counts)
    yield "list in the middle", _events(text, [1], end, counts)
    yield "whole body as an event", _events(chat_body(STOP, USAGE))
    yield "events after [DONE]", _events(text, end, counts) + _events(text, end)
    yield "usage after [DONE]", _events(text, end) + _events(counts)


def _whole_streams(body: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield a good stream written in odd ways."""
    good = as_stream(body, counted=True)
    lines: dict[str, Callable[[bytes], bytes]] = {
        "good": lambda sent: sent,
        "CRLF": lambda sent: sent.replace(b"\n", b"\r\n"),
        "CR": lambda sent: sent.replace(b"\n", b"\r"),
        "comments": lambda sent: b": wait\n\n" + sent.replace(b"\n\n", b"\n\n: wait\n\n"),
        "comments within events": lambda sent: sent.replace(b"data:", b": wait\ndata:"),
        "named events": lambda sent: sent.replace(b"data:", b"event: message\nid: 7\nretry: 5\ndata:"),
        "ids and comments": lambda sent: sent.replace(b"data:", b": wait\n\nid: 7\ndata:"),
        "events without data": lambda sent: (
            b"retry: 5\n\n" + sent.replace(b"data:", b"event: ping\n\ndata:")
        ),
        "empty data": lambda sent: sent.replace(b"data:", b"data:\n\ndata:"),
        "thread events": lambda sent: sent.replace(b"data:", b"event: thread.message\ndata:"),
        "no space after data": lambda sent: sent.replace(b"data: ", b"data:"),
        "further spaces": lambda sent: sent.replace(b"data: ", b"data:   ").replace(b"\n\n", b"  \n\n"),
        "three blank lines": lambda sent: sent.replace(b"\n\n", b"\n\n\n\n"),
        "blank lines before": lambda sent: b"\n\n \n" + sent,
        "indented": lambda sent: sent.replace(b"data:", b" data:"),
        "no [DONE]": lambda sent: sent.replace(b"data: [DONE]\n\n", b""),
        "no blank line after the last": lambda sent: sent.removesuffix(b"\n\n"),
        "one line end after the last": lambda sent: sent.removesuffix(b"\n"),
        "[DONE] with more": lambda sent: sent.replace(b"[DONE]", b"[DONE] bye"),
        "no [DONE], no last blank line": lambda sent: sent.replace(b"data: [DONE]\n\n", b"").rstrip(
            b"\n"
        ),
        "single line ends": lambda sent: sent.replace(b"\n\n", b"\n"),
        "garbage lines": lambda sent: sent.replace(b"data:", b"garbage\ndata:"),
        "byte order mark": lambda sent: b"\xef\xbb\xbf" + sent,
        "no UTF-8": lambda sent: sent.replace(b"stop", b"st\xffp"),
        "no UTF-8 in a comment": lambda sent: sent.replace(b"data:", b": \xff\ndata:"),
        "separators in text": lambda sent: sent.replace(b"true", "\u2028\u0085\x0b".encode()),
        "half": lambda sent: sent[: len(sent) // 2],
        "all but the last ten": lambda sent: sent[:-40],
        "event cut": lambda sent: sent[: sent.rindex(b"}", 0, len(sent) - 60)],
        "lines of data": lambda _sent: as_stream(body, counted=True, over_lines=True),
        "uncounted": lambda _sent: as_stream(body, counted=False),
    }
    for name, change in lines.items():
        yield name, change(good)


def responses_streams() -> Iterator[tuple[str, str | bytes]]:
    good = responses_body(STOP, USAGE)
    yield from _whole_streams(good)
    created = {"type": "response.created", "response": good | {"status": "in_progress", "output": []}}
    delta = {"type": "response.output_text.delta", "delta": STOP}
    done = {"type": "response.completed", "response": good}
    yield "completed alone", _events(done, end="")
    yield "with [DONE]", _events(created, delta, done)
    yield "completed twice", _events(done, done | {"response": responses_body("{}", USAGE)})
    yield "incomplete", _events(delta, {"type": "response.incomplete", "response": good}, end="")
    cut = good | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    yield "incomplete, status", _events(delta, {"type": "response.incomplete", "response": cut}, end="")
    lost = good | {"status": "failed", "error": {"message": "lost"}}
    yield "failed", _events(delta, {"type": "response.failed", "response": lost}, end="")
    yield (
        "failed, no error",
        _events({"type": "response.failed", "response": good | {"status": "failed"}}),
    )
    yield "no end", _events(created, delta, end="")
    yield "no end, [DONE]", _events(created, delta)
    for other in ODD[:5]:
        said = json.dumps(other)
        yield f"response {said}", _events(delta, done | {"response": other})
        yield f"response {said}, then good", _events(done | {"response": other}, done)
        yield f"response good, then {said}", _events(done, done | {"response": other})
        yield f"type {said}", _events({"type": other}, done)
        yield f"type {said} alone", _events(done | {"type": other})
        yield f"error {said}", _events({"type": "response.created", "error": other}, done)
    yield "type odd", _events({"type": "response.odd", "response": []}, done)
    yield "no type", _events({"response": good})
    yield "error in the middle", _events(delta, {"type": "error", "message": "lost"}, done)
    yield "error at the end", _events(done, {"type": "error", "error": {"message": "lost"}})
    yield "error after [DONE]", _events(done) + _events({"error": "lost"})
    yield "null in the middle", _events(delta, None, done)
    yield "list in the middle", _events(delta, [1], done)
    yield (
        "events named by their types",
        "".join(
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in (created, delta, done)
        ),
    )
    yield "output in events alone", _events(created, delta, done | {"response": good | {"output": []}})
    yield "events of a chat", as_stream(chat_body(STOP, USAGE), counted=True)
    yield "whole body as an event", _events(good)
