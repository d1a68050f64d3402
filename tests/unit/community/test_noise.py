"""Images, progress bars and logs are stripped; prose and code are kept."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.community.noise import strip_noise
from comind.community.notebook_source import sanitize_source
from comind.community.sanitize import sanitize_prose

_PNG = "iVBORw0KGgo" + "A1b+" * 100


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("See ![the loss](https://x.example/a.png) here", "See [picture: the loss] here"),
        ("![](attachment:1.png)", "[picture]"),
        ('a <img src="x.png"\n width=3> b', "a [picture] b"),
        (f"a data:image/png;base64,{_PNG} b", "a [picture] b"),
        (f"a {_PNG} b", "a [picture] b"),
        ("a\n 45%|####      | 9/20 [00:01<00:02]\nb", "a\nb"),
        ("a\r 10%|█         | 1/9\r 99%|█████████ | 9/9\rb", "a\nb"),
        ("a\n100/100 [==============================] - 3s\nb", "a\nb"),
        ("Epoch 1\nEpoch 2\nwas enough", "Epoch 1\nEpoch 2\nwas enough"),
        (
            "Epoch 1\nEpoch 2\nEpoch 3\nEpoch 4: 0.1\nend",
            "Epoch 1\n[2 lines of a log]\nEpoch 4: 0.1\nend",
        ),
        (
            "[0]\ttrain-rmse:9.1\n" * 30 + "fine",
            "[0]\ttrain-rmse:9.1\n[28 lines of a log]\n[0]\ttrain-rmse:9.1\nfine",
        ),
    ],
)
def test_noise_of_a_text(text: str, left: str) -> None:
    """Each kind of noise is stripped from prose; short logs stay, long ones keep their ends."""
    assert strip_noise(text) == left


def test_a_program_stays_a_program() -> None:
    """Code loses only image data; its comments lose bars, images and logs."""
    source = (
        f'LOGO = "data:image/png;base64,{_PNG}"\n'
        'BAR = " 45%|####  | 9/20"\n'
        'EPOCHS = """\nEpoch 1\nEpoch 2\nEpoch 3\nEpoch 4\n"""\n'
        "# ![a plot](plot.png)\n#  45%|####      | 9/20\n" + "# Epoch 3\n" * 9 + "x = 1 <img > 2\n"
    )
    left = sanitize_source(source)
    assert left.splitlines()[:2] == ['LOGO = "[picture]"', 'BAR = " 45%|####  | 9/20"']
    assert left.endswith(
        '"""\n# [picture: a plot]\n# Epoch 3\n# [7 lines of a log]\n# Epoch 3\nx = 1 <img > 2\n'
    )


@given(
    st.lists(st.sampled_from(["x = 1", "# epoch 3", "#  9%|#  |", "y = '''<img >'''", ""]), max_size=12)
)
def test_programs_do_the_same(lines: list[str]) -> None:
    """A program without images keeps its syntax tree."""
    source = "\n".join(lines)
    assert ast.dump(ast.parse(sanitize_source(source))) == ast.dump(ast.parse(source))


def test_pictures_take_no_room_of_the_words() -> None:
    """A text is truncated after its images are stripped."""
    picture = "data:image/png;base64," + "A" * 500
    assert sanitize_prose(f"{picture} the words", 100) == "[picture] the words"
