"""Images beside the text of messages: how they are encoded, sent, counted and refused."""

import base64
import hashlib
import struct
import zlib
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from comind.domain.image import Image
from comind.errors import ModelBusyError, ModelRefusedError
from comind.llm.context_window import keep_images, prompt_tokens, truncate_messages
from comind.llm.exchange import ask, request_for
from comind.llm.images import encode_image, read_image
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.openai_model import OpenAIModel
from comind.llm.settings import ModelSettings
from comind.llm.tokens import count_tokens
from tests.doubles.endpoint import Endpoint
from tests.doubles.faults import status
from tests.unit.llm.samples import PROMPT, STOP, Verdict


def _file(picture: Pillow.Image, form: str = "PNG") -> bytes:
    file = BytesIO()
    picture.save(file, form)
    return file.getvalue()


def _claiming(side: int) -> bytes:
    """Return a small PNG file that claims to have a square of so many pixels."""
    head = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = (head, b"IDAT" + zlib.compress(bytes(99)))
    framed = (struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


def _image(caption: str, width: int = 600, height: int = 300) -> Image:
    return encode_image(Pillow.new("RGB", (width, height), "red"), caption)


PLOT, SHEET = _image("plot.png"), _image("Pictures of train.csv.", 700, 700)
SEEN = PROMPT.model_copy(
    update={
        "messages": (
            PROMPT.messages[0],
            Message(role="user", content="Look at them.", images=(SHEET,)),
            Message(role="user", content="Is it stuck?", images=(PLOT,)),
        )
    }
)

BARE = SEEN.model_copy(
    update={"messages": tuple(each.model_copy(update={"images": ()}) for each in SEEN.messages)}
)


def _model(server: Endpoint, **settings: Any) -> OpenAIModel:
    found = ModelSettings(**settings)
    return OpenAIModel("test-model", base_url=server.url, api_key=None, settings=found)


def _url(image: Image) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(image.data).decode()}"


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_any_picture_is_a_small_jpeg(mode: str) -> None:
    """Pictures of every mode are scaled down to 768 pixels; the hash is that of the bytes."""
    found = encode_image(Pillow.new(mode, (1_600, 400)), "a picture")
    assert (found.width, found.height) == (768, 192)
    assert found.sha256 == hashlib.sha256(found.data).hexdigest()
    with Pillow.open(BytesIO(found.data)) as shown:
        assert (shown.format, shown.mode, shown.size) == ("JPEG", "RGB", (768, 192))


def test_deep_pixels_are_spread_and_transparent_ones_are_white() -> None:
    """16 bits are shown over their range, and a plot without a background on white."""
    deep = Pillow.fromarray(np.linspace(1_000, 1_200, 4_000).reshape(40, 100).astype(np.uint16))
    with Pillow.open(BytesIO(encode_image(deep, "").data)) as shown:
        low, high = shown.convert("L").getextrema()
    assert (low, high) == (pytest.approx(0, abs=4), pytest.approx(255, abs=4))
    with Pillow.open(BytesIO(read_image(_file(Pillow.new("RGBA", (9, 9))), "").data)) as shown:
        assert shown.getpixel((4, 4)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is neither a PNG nor a JPEG file"),
        (b"<svg></svg>", "is neither a PNG nor a JPEG file"),
        (_file(Pillow.new("L", (9, 9)), "GIF"), "is neither a PNG nor a JPEG file"),
        (_file(Pillow.effect_noise((99, 99), 9))[:900], "cannot be decoded"),
        (_file(Pillow.effect_noise((99, 99), 9), "JPEG")[:900], "cannot be decoded"),
        (_file(Pillow.new("1", (6_000, 6_000))), "has more than 32 million pixels"),
        (_claiming(40_000), "has more than 32 million pixels"),
    ],
    ids=["empty", "vector", "other format", "half a PNG", "half a JPEG", "large", "bomb"],
)
def test_an_untrusted_file_is_refused_in_a_line(content: bytes, reason: str) -> None:
    """What is no picture, is broken, or would fill the memory has a reason, and is not decoded."""
    with pytest.raises(ValueError, match=reason) as caught:
        read_image(content, "plot.png")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("protocol", ["chat", "responses"])
def test_images_follow_the_text_of_their_message(protocol: str) -> None:
    """In both protocols a message with images has parts: its text, then each caption and image."""
    with Endpoint(lambda asked: STOP) as server:
        ask(_model(server, protocol=protocol), SEEN, Verdict)
        [sent] = server.requests
    text, image = ("text", "image_url") if protocol == "chat" else ("input_text", "input_image")
    urls = [_url(each) for each in (SHEET, PLOT)]
    shown = [{"url": each} for each in urls] if protocol == "chat" else urls
    assert sent.messages[0]["content"] == "You watch."
    assert sent.messages[1]["content"] == [
        {"type": text, "text": "Look at them.\n\nIs it stuck?"},
        {"type": text, "text": "Pictures of train.csv."},
        {"type": image, "image_url": shown[0]},
        {"type": text, "text": "plot.png"},
        {"type": image, "image_url": shown[1]},
    ]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (400, "Invalid content type. image_url is only supported by certain models."),
        (400, "messages[1].content must be a string"),
        (400, "test-model is not a multimodal model"),
        (404, "No endpoints found that support image input"),
        (422, "unknown variant `image_url`, expected `text` at line 1 column 73"),
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
        (400, "Unexpected item type in content."),
        (400, "Invalid type for 'messages[0].content': expected a string, but got an array instead."),
        (400, "Only 'text' content type is supported."),
        (400, "At most 0 image(s) may be provided in one prompt."),
        (415, "unsupported"),
        (422, "Validation Error"),
        (500, 'can only concatenate str (not "list") to str'),
    ],
)
def test_a_model_that_refuses_images_gets_words(code: int, message: str) -> None:
    """The refused request is sent once more with a line for each image, and so are all later ones."""
    refusing = lambda _number, asked: status(code, message) if "base64" in asked.text else None  # noqa: E731
    with Endpoint(lambda asked: STOP, refusing) as server:
        model = _model(server)
        assert model.takes_images
        for _ in range(2):
            assert ask(model, SEEN, Verdict).value == Verdict(stop=True)
        sent = [asked.messages[1]["content"] for asked in server.requests]
    assert not model.takes_images
    assert isinstance(sent[0], list)
    said = (
        "Look at them.\n\n(A picture is left out here: Pictures of train.csv.)\n\n"
        "Is it stuck?\n\n(A picture is left out here: plot.png)"
    )
    assert sent[1:] == [said, said]


@pytest.mark.parametrize(
    ("word", "code", "message"),
    [
        ('"temperature"', 400, "test-vision-model does not support temperature with images"),
        ('"max_tokens"', 404, "max_tokens: use max_completion_tokens for images"),
        ('"response_format"', 422, "response_format: image generation has none"),
    ],
)
def test_a_refusal_of_something_else_keeps_images(word: str, code: int, message: str) -> None:
    """If a request is refused without its images, too, the images stay, whatever the words."""
    refusing = lambda _number, asked: status(code, message) if word in asked.text else None  # noqa: E731
    with Endpoint(lambda asked: STOP, refusing) as server:
        model = _model(server, temperature=0.5, protocol="chat")
        assert ask(model, SEEN, Verdict).value == Verdict(stop=True)
        assert model.takes_images
        assert "base64" in server.requests[-1].text


def test_a_failure_of_one_request_keeps_images() -> None:
    """Once images were answered, a refusal of some costs that request its images, and a 500 nothing."""
    faults = [None, status(400, "Could not process image"), None, status(500, "internal error")]
    with Endpoint(lambda asked: STOP, faults) as server:
        model = _model(server)
        for _ in range(2):
            assert ask(model, SEEN, Verdict).value == Verdict(stop=True)
        with pytest.raises(ModelBusyError):
            ask(model, SEEN, Verdict)
        assert model.takes_images
        assert ["base64" in asked.text for asked in server.requests] == [True, True, False, True]


@pytest.mark.parametrize(
    "message",
    [
        "At most 1 image(s) may be provided in one prompt.",
        "test-model supports up to 1 image per request",
    ],
)
def test_a_limit_of_images_is_kept(message: str) -> None:
    """A refusal that names the most images of a request lowers their number; the newest is sent."""
    refusing = lambda _number, asked: (  # noqa: E731
        status(400, message) if asked.text.count("base64") > 1 else None
    )
    with Endpoint(lambda asked: STOP, refusing) as server:
        model = _model(server)
        for _ in range(2):
            ask(model, SEEN, Verdict)
        assert [asked.text.count("base64") for asked in server.requests] == [2, 1, 1]
        assert _url(PLOT) in server.requests[-1].text
        assert model.takes_images


def test_a_body_that_is_too_large_loses_its_images() -> None:
    """HTTP 413 limits bytes: the request is sent without images, and no context window is learnt."""
    refusing = lambda _number, asked: status(413) if "base64" in asked.text else None  # noqa: E731
    with Endpoint(lambda asked: STOP, refusing) as server:
        model = _model(server)
        before = model.context_tokens
        assert ask(model, SEEN, Verdict).value == Verdict(stop=True)
        assert len(server.requests) == 2
        assert (model.context_tokens, model.takes_images) == (before, True)


def test_a_refusal_of_text_says_nothing_about_images() -> None:
    """A refusal of a request without images is not taken for one of images, whatever its words."""
    with Endpoint(lambda asked: STOP, [status(400, "no image of this container")]) as server:
        model = _model(server)
        with pytest.raises(ModelRefusedError):
            ask(model, PROMPT, Verdict)
        assert model.takes_images


@pytest.mark.parametrize("settings", [{"images": False}, {"context_tokens": 8_192}], ids=str)
def test_images_are_not_sent_where_they_are_off_or_have_no_room(settings: dict[str, Any]) -> None:
    """The setting `images` decides; without it a context window of less than 16,384 tokens ends them."""
    with Endpoint(lambda asked: STOP) as server:
        model = _model(server, **settings)
        assert not model.takes_images
        ask(model, SEEN, Verdict)
        assert "base64" not in server.requests[0].text
        assert _model(server, images=True, context_tokens=8_192).takes_images
    assert model.bound(SEEN).prompt_tokens < 1_000


def _bounds(name: str, **settings: Any) -> int:
    """Return how many tokens the images raise the bound of a prompt."""
    model = OpenAIModel(name, base_url=None, api_key=None, settings=ModelSettings(**settings))
    return model.bound(SEEN).prompt_tokens - model.bound(BARE).prompt_tokens


def test_images_count() -> None:
    """A prompt has 170 tokens for each tile of 512 pixels; more are reserved."""
    captions = sum(count_tokens(each.caption) for each in (PLOT, SHEET))
    assert prompt_tokens(SEEN.messages) - prompt_tokens(BARE.messages) == 2 * 85 + 6 * 170 + captions
    letters = len(PLOT.caption) + len(SHEET.caption)
    assert _bounds("any") == 2 * 3_072 + letters
    assert _bounds("gpt-4o-mini-2024-07-18") == 2 * 2_833 + 6 * 5_667 + letters
    with Endpoint(lambda asked: STOP) as server:
        reply = _model(server).complete(request_for(SEEN, Verdict))
    assert reply.exact
    assert reply.usage.prompt_tokens > 2 * 765


def test_images_do_not_exceed_the_context_window() -> None:
    """Where the context window is known, images reserve no more than fits into it."""
    assert _bounds("gpt-4o-mini", context_tokens=16_384) < 16_384


@pytest.mark.parametrize("opening", [0, 1])
def test_a_conversation_keeps_its_newest_images(opening: int) -> None:
    """The image of its beginning and the last four to six stay; older ones go three at once."""
    turns = [
        each
        for n in range(20)
        for each in (
            Message(role="assistant", content="Draw."),
            Message(role="user", content="", images=(_image(f"{n}.png"),)),
        )
    ]
    first = Message(role="user", content="Look.", images=(SHEET,) * opening)
    kept = []
    for n in range(20):
        sent = keep_images((first, *turns[: 2 * n + 2]), 7)
        images = [image.caption for message in sent for image in message.images]
        assert images[:opening] == [SHEET.caption] * opening
        kept.append(n + 1 - len(images[opening:]))
        assert images[opening:] == [f"{each}.png" for each in range(kept[-1], n + 1)]
    assert max(n + 1 - dropped for n, dropped in enumerate(kept)) == 7 - opening
    assert len({*kept}) == 6
    assert "(A picture is left out here: 0.png)" in sent[2].content


def test_images_are_cut_before_text() -> None:
    """A prompt that is too long loses its images first; its text stays, if it fits."""
    text = prompt_tokens(SEEN.messages) - 700
    cut = truncate_messages(SEEN.messages, text)
    assert not any(message.images for message in cut)
    assert [message.content.partition("\n")[0] for message in cut] == [
        message.content for message in SEEN.messages
    ]


def test_a_request_is_known_by_the_hashes_of_its_images() -> None:
    """Requests without images hash as before there were any; images count by hash and caption."""
    plain = ModelRequest(role="coder", messages=(Message(role="user", content="Look."),))
    assert plain.fingerprint() == "2ce38361d91e7336ae42700d77822314f971198ba20347fbc134c08126e31573"
    prints = {
        plain.model_copy(
            update={"messages": (Message(role="user", content="Look.", images=images),)}
        ).fingerprint()
        for images in ((), (PLOT,), (SHEET,), (PLOT.model_copy(update={"caption": "b.png"}),))
    }
    assert len(prints) == 4
    logged = Image.model_validate_json(PLOT.model_dump_json())
    assert (logged.sha256, logged.data) == (PLOT.sha256, b"")
