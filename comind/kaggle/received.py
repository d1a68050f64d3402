"""What an answer says of the file that it brings."""

import base64
import binascii
from urllib.parse import unquote, urlsplit

import requests

from comind.kaggle.wire import last_part

__all__ = ["md5_sent", "name_sent"]


def name_sent(response: requests.Response, asked: str | None) -> str:
    """Return the name of what came: a file may be sent as a zip of itself."""
    if response.request.method == "GET":
        named = last_part(unquote(urlsplit(response.url).path))
        if named:
            return named
    return last_part(asked) if asked else "all.zip"


def md5_sent(response: requests.Response) -> str | None:
    """Return the checksum that the sender names, in hexadecimal."""
    hashes = response.headers.get("x-goog-hash", "").replace(" ", "").split(",")
    named = next((each[4:] for each in hashes if each.startswith("md5=")), None)
    given = named or response.headers.get("Content-MD5")
    if response.headers.get("Content-Encoding") or not given:
        return None
    try:
        return base64.b64decode(given, validate=True).hex()
    except (binascii.Error, ValueError):
        return None
