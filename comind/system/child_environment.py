"""Select the environment variables of programs that we start, by an allow-list: no key is passed on."""

import os
from fnmatch import fnmatchcase

_ALWAYS = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
)
NETWORK = ("*_proxy", "*_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables by which a program reaches other machines."""
SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""Keeps modules of the working directory out of a Python program, where a project may have our names."""


def child_environment(*patterns: str) -> dict[str, str]:
    """Return our variables that every program gets, and those whose names match one of `patterns`."""
    wanted = (*_ALWAYS, *patterns)
    return {
        name: value
        for name, value in os.environ.items()
        if any(fnmatchcase(name, pattern) for pattern in wanted)
    }
