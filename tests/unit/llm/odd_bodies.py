"""Bodies that servers send in place of what the OpenAI protocols ask for."""

import json
from collections.abc import Iterator
from typing import Any

from comind.llm.model_ports import Usage
from tests.doubles.completions import chat_body, embeddings_body, responses_body
from tests.unit.llm.samples import STOP

USAGE = Usage(prompt_tokens=20, completion_tokens=9, cached_tokens=4)
TOOL = {"id": "1", "type": "function", "index": 0, "function": {"name": "f", "arguments": "{}"}}
ODD: tuple[Any, ...] = (None, "text", 17, [], {}, True)
PARTS = [
    {"type": "text", "text": STOP[:4]},
    {"type": "image"},
    "word",
    {"type": "text", "text": STOP[4:]},
]


def _changes(good: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a good body with other fields that both protocols have."""
    for name in ("model", "usage"):
        yield f"no {name}", {key: value for key, value in good.items() if key != name}
        for other in ODD:
            yield f"{name} {json.dumps(other)}", good | {name: other}
    yield "error null", good | {"error": None}
    yield "error {}", good | {"error": {}}
    yield "further fields", good | {"x_groq": {"id": 1}, "timings": [1.5]}
    yield "long model", good | {"model": "m\n" * 300}
    counts = good["usage"]
    for name, old in counts.items():
        for other in (
            None,
            "9",
            9.0,
            9.5,
            True,
            -1,
            [],
            {"cached_tokens": "4"},
            {"reasoning_tokens": 3.0},
        ):
            if other != old:
                yield f"usage, {name} {json.dumps(other)}", good | {"usage": counts | {name: other}}


def chat_bodies() -> Iterator[tuple[str, Any]]:
    good = chat_body(STOP, USAGE)
    yield "good", good
    yield from _changes(good)
    names = {"input_tokens": 20, "output_tokens": 9}
    yield "usage by the other names", good | {"usage": names}
    reasoned = {"completion_tokens_details": {"reasoning_tokens": 3}}
    yield "usage with reasoning", good | {"usage": good["usage"] | reasoned}
    yield "usage without details", good | {"usage": {"prompt_tokens": 20, "completion_tokens": 9}}
    for choices in (*ODD, [None], ["text"], [[]], [{}], [{"message": None}]):
        yield f"choices {json.dumps(choices)}", good | {"choices": choices}
    yield "no choices", {key: value for key, value in good.items() if key != "choices"}
    (choice,) = good["choices"]
    second = choice | {"index": 1, "message": {"content": "no"}}
    yield "two choices", good | {"choices": [choice, second]}
    yield "text of a completion", good | {"choices": [{"text": STOP, "finish_reason": "stop"}]}
    yield "a delta", good | {"choices": [{"delta": choice["message"], "finish_reason": "stop"}]}
    for finish in ("", "eos", "length", "content_filter", "tool_calls", "x\n" * 300, *ODD):
        said = json.dumps(finish)[:20]
        yield f"finish_reason {said}", good | {"choices": [choice | {"finish_reason": finish}]}
    yield "no finish_reason", good | {"choices": [{"message": choice["message"]}]}
    for name, message in _messages():
        yield name, good | {"choices": [choice | {"message": message}]}


def _messages() -> Iterator[tuple[str, Any]]:
    """Yield odd messages of a chat."""
    for content in (
        None,
        "",
        7,
        True,
        {},
        {"text": "a"},
        [],
        [None],
        ["a"],
        [{"text": None}],
        [{"text": 7}],
    ):
        yield f"content {json.dumps(content)}", {"role": "assistant", "content": content}
    yield "content in parts", {"role": "assistant", "content": PARTS}
    yield "no role", {"content": STOP}
    yield "no content", {"role": "assistant"}
    yield "message as text", STOP
    yield "message as list", [STOP]
    for name in ("reasoning_content", "reasoning"):
        for value in ("hm", "", None, ["hm"], {"text": "hm"}):
            yield f"{name} {json.dumps(value)}", {"content": STOP, name: value}
    for refusal in ("I will not.", "", None, ["no"], {"text": "no"}, 7):
        yield f"refusal {json.dumps(refusal)}", {"content": None, "refusal": refusal}
    for calls in ([TOOL], [], None, {}, "f", [7], {"name": "f"}):
        yield f"tool_calls {json.dumps(calls)[:20]}", {"content": None, "tool_calls": calls}
    yield "function_call", {"content": None, "function_call": {"name": "f"}}
    yield "thinking in the text", {"content": f"<think>hm</think>\n{STOP}"}


def responses_bodies() -> Iterator[tuple[str, Any]]:
    good = responses_body(STOP, USAGE)
    yield "good", good
    yield from _changes(good)
    yield "usage by the other names", good | {"usage": {"prompt_tokens": 20, "completion_tokens": 9}}
    for status in ("", "incomplete", "failed", "in_progress", *ODD):
        yield f"status {json.dumps(status)}", good | {"status": status}
    for details in (None, "text", {}, {"reason": None}, {"reason": "content_filter"}, {"reason": "odd"}):
        cut = {"status": "incomplete", "incomplete_details": details}
        yield f"incomplete, details {json.dumps(details)}", good | cut
    yield "failed with an error", good | {"status": "failed", "error": {"message": "lost"}}
    yield "no output", {key: value for key, value in good.items() if key != "output"}
    (message,) = good["output"]
    part = message["content"][0]
    outputs: dict[str, Any] = {
        "null": None,
        "[]": [],
        "{}": {},
        "text": STOP,
        "[null]": [None],
        "[text]": [STOP],
        "[[]]": [[]],
        "[{}]": [{}],
        "without type": [{"role": "assistant", "content": message["content"]}],
        "type null": [message | {"type": None}],
        "type odd": [message | {"type": "odd"}],
        "reasoning first": [{"type": "reasoning", "summary": []}, message],
        "reasoning with text": [{"type": "reasoning", "content": [part]}, message],
        "reasoning alone": [{"type": "reasoning", "summary": []}],
        "two messages": [message, message],
        "call of a function": [{"type": "function_call", "name": "f", "arguments": "{}"}],
        "call of an odd tool": [{"type": "odd_call"}],
        "call and message": [{"type": "web_search_call"}, message],
        "content null": [message | {"content": None}],
        "content text": [message | {"content": STOP}],
        "content []": [message | {"content": []}],
        "content {}": [message | {"content": {}}],
        "content [null]": [message | {"content": [None, "a", part]}],
        "part without type": [message | {"content": [{"text": STOP}]}],
        "part of type text": [message | {"content": [{"type": "text", "text": STOP}]}],
        "part of odd type": [message | {"content": [{"type": "odd", "text": "a"}, part]}],
        "part text null": [message | {"content": [part | {"text": None}]}],
        "part text 7": [message | {"content": [part | {"text": 7}]}],
        "part text a list": [message | {"content": [part | {"text": ["a"]}]}],
        "two parts": [message | {"content": [part, part]}],
        "refusal": [message | {"content": [{"type": "refusal", "refusal": "I will not."}]}],
        "refusal and text": [message | {"content": [part, {"type": "refusal", "refusal": "no"}]}],
        "refusal null": [message | {"content": [{"type": "refusal", "refusal": None}, part]}],
        "refusal a list": [message | {"content": [{"type": "refusal", "refusal": ["no"]}]}],
    }
    for name, output in outputs.items():
        yield f"output {name}", good | {"output": output}
    yield "body of a chat", chat_body(STOP, USAGE)
    yield "half a character", responses_body("a\ud83d", USAGE)


def embeddings_bodies() -> Iterator[tuple[str, Any]]:
    """Yield odd embeddings of two texts."""
    good = embeddings_body([[1.0, 0.0], [0.0, 1.0]], Usage(prompt_tokens=5))
    found: dict[str, Any] = {
        "good": good,
        "data null": good | {"data": None},
        "data empty": good | {"data": []},
        "data of numbers": good | {"data": [1, 2]},
        "no index": good | {"data": [{"embedding": [1.0]}, {"embedding": [2.0]}]},
        "index as text": good
        | {"data": [{"index": "1", "embedding": [1]}, {"index": 0, "embedding": [2]}]},
        "index null": good | {"data": [{"index": None, "embedding": [1]}]},
        "reversed": good | {"data": good["data"][::-1]},
        "base64": good | {"data": [{"index": 0, "embedding": "AACAPwAAAEA="}]},
        "embedding null": good | {"data": [{"index": 0, "embedding": None}]},
        "no usage": good | {"usage": None},
        "usage as text": good | {"usage": "5"},
        "usage as list": good | {"usage": [5]},
        "prompt_tokens as text": good | {"usage": {"prompt_tokens": "5"}},
        "prompt_tokens true": good | {"usage": {"prompt_tokens": True}},
        "prompt_tokens -1": good | {"usage": {"prompt_tokens": -1}},
        "error": {"error": {"message": "lost"}},
    }
    yield from found.items()
