"""Infer the encoding of a text file."""

import codecs
from typing import IO

_CHUNK = 1 << 20
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UNDEFINED = {0x81, 0x8D, 0x8F, 0x90, 0x9D}  # bytes that Windows-1252 does not define


def encoding_of(file: IO[bytes]) -> str | None:
    """Return the encoding of an open file from its beginning on; None for binary data.

    UTF-8 (`utf-8-sig` also without a mark), UTF-16 with a mark, else Windows-1252, or Latin-1 where that
    does not define all bytes. The file is read to its end, or to what decides.
    """
    file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    utf8, undefined, first = True, False, True
    while chunk := file.read(_CHUNK):
        if first and chunk.startswith(_UTF16_MARKS):
            return "utf-16"
        if first and b"\0" in chunk:
            return None
        first = False
        if utf8:
            utf8 = _decodes(decoder, chunk)
        undefined = undefined or not _UNDEFINED.isdisjoint(chunk)
    if utf8 and _decodes(decoder, b"", final=True):
        return "utf-8-sig"
    return "latin-1" if undefined else "cp1252"


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        return False
    return True
