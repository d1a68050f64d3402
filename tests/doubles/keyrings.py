"""A login with a secret in its session keyring, as a Kerberos ticket is."""

import ctypes
import os
import platform
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from comind.session.system_calls import ARCHITECTURES

__all__ = ["MACHINE", "READ_SESSION_KEYRING", "in_a_login"]

_T = TypeVar("_T")
MACHINE = ARCHITECTURES[platform.machine()]
_SECRET = b"canary-of-the-session-keyring"
_JOIN, _READ, _SESSION = 1, 11, -3  # keyctl's operations, and the session keyring's id

READ_SESSION_KEYRING = f"""
import ctypes
libc = ctypes.CDLL(None)
ring = ctypes.create_string_buffer(4096)
size = libc.syscall({MACHINE.keyctl}, {_READ}, {_SESSION}, ring, 4096)
found = [int.from_bytes(ring.raw[i:i + 4], 'little') for i in range(0, max(size, 0), 4)]
for key in found:
    value = ctypes.create_string_buffer(4096)
    libc.syscall({MACHINE.keyctl}, {_READ}, key, value, 4096)
    print('READ', value.value)
"""
"""Code that prints the keys of its session keyring and leaves their ids in `found`."""


def in_a_login(act: Callable[[], _T]) -> _T:
    """Return what `act` returns in a session that has a key `planted`, which is unchanged then."""
    libc = ctypes.CDLL(None, use_errno=True)
    add_key = MACHINE.denied()["add_key"][0]

    def acted() -> _T:
        libc.syscall(MACHINE.keyctl, _JOIN, None)
        key = libc.syscall(add_key, b"user", b"planted", _SECRET, len(_SECRET), ctypes.c_int(_SESSION))
        if key < 0:
            pytest.skip(f"no keys can be made here: {os.strerror(ctypes.get_errno())}")
        result = act()
        value = ctypes.create_string_buffer(4096)
        size = libc.syscall(MACHINE.keyctl, _READ, ctypes.c_int(key), value, 4096)
        assert value.raw[: max(size, 0)] == _SECRET
        return result

    with ThreadPoolExecutor(1) as login:  # a keyring is a thread's, and its child processes inherit it
        return login.submit(acted).result()
