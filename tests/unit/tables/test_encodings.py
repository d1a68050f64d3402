"""One answer to which encoding a text file has, for arrangement, checks, profile and sealing."""

import io

import pytest

from comind.tables.encodings import encoding_of

_LONG = b"a" * (1 << 20)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"", "utf-8-sig"),
        ("blå".encode(), "utf-8-sig"),
        ("blå".encode("utf-8-sig"), "utf-8-sig"),
        (_LONG[:-1] + "å".encode(), "utf-8-sig"),
        ("blå".encode("utf-16"), "utf-16"),
        ("blå, 5 €".encode("cp1252"), "cp1252"),
        (_LONG + "å".encode("cp1252"), "cp1252"),
        ("blå".encode()[:-1], "cp1252"),
        (b"bl\xe5 \x81", "latin-1"),
        (b"\x00\x01", None),
    ],
)
def test_the_encoding_of_a_text_is_told(data: bytes, encoding: str | None) -> None:
    """UTF-8, UTF-16 with a mark, else Windows-1252 or Latin-1; none of binary data."""
    assert encoding_of(io.BytesIO(data)) == encoding
    if encoding is not None and encoding != "utf-8-sig":
        data.decode(encoding)
