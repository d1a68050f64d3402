"""Attacks on objects of the system's kernel that no namespace isolates, and on limits by user."""

import errno
import os
import platform

import pytest

from comind.session.system_calls import NEWEST
from tests.attacks.conftest import Scene, lives, said
from tests.doubles.keyrings import MACHINE, READ_SESSION_KEYRING, in_a_login

_DENIED = MACHINE.denied()
_NEW_USER, _NO_RANDOM_ADDRESSES = 0x10000000, 0x0040000
_UPDATE = 2  # KEYCTL_UPDATE

_CALLS = """
import ctypes, os, resource
libc = ctypes.CDLL(None, use_errno=True)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
def call(number, *arguments):
    '''The error of a call in a child of its own, 0 for none; -n: the child was killed by signal n.'''
    child = os.fork()
    if child == 0:
        failed = libc.syscall(number, *(ctypes.c_long(each) for each in arguments)) == -1
        os._exit(ctypes.get_errno() if failed else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def test_calls_are_denied_one_by_one(shared: Scene) -> None:
    """Each call of the table fails with its error, none of them kills, and the session goes on."""
    code = f"{_CALLS}\nprint({{name: call(n, *[0] * 6) for name, (n, _) in {_DENIED!r}.items()}})"
    errors = {name: error for name, (_, error) in _DENIED.items()}
    assert said(shared.opened[0], code) == str(errors)
    assert lives(shared.opened[0])


def test_calls_are_denied_by_their_arguments(shared: Scene) -> None:
    """Families of sockets that no namespace isolates, namespaces and personalities are refused."""
    socket, pair = MACHINE.sockets
    tried = {
        "vsock": (socket, 40, 1, 0),
        "crypto": (socket, 38, 5, 0),
        "packet": (socket, 17, 3, 0),
        "pair": (pair, 30, 1, 0, 0),
        "namespace": (MACHINE.clone, _NEW_USER | 17, 0, 0, 0, 0),
        "personality": (MACHINE.personality, _NO_RANDOM_ADDRESSES),
        "newer": (NEWEST + 1,),
        "x32": (0x40000000 | 39,),
        "unix": (socket, 1, 1, 0),
        "own personality": (MACHINE.personality, 0xFFFFFFFF),
    }
    expected = dict.fromkeys(tried, errno.ENOSYS)
    expected |= dict.fromkeys(("vsock", "crypto", "packet", "pair"), errno.EAFNOSUPPORT)
    expected |= dict.fromkeys(("namespace", "personality"), errno.EPERM)
    expected |= dict.fromkeys(("unix", "own personality"), 0)
    code = f"{_CALLS}\nprint({{name: call(*how) for name, how in {tried!r}.items()}})"
    assert said(shared.opened[0], code) == str(expected)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86_64")
def test_calls_of_32_bit_programs_do_not_exist(shared: Scene) -> None:
    """The kernel's second table of calls, by interrupt 128, goes around no filter."""
    code = """
import ctypes, mmap, os
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex('b814000000cd80c3'))  # eax = 20 (getpid); int 0x80; return
child = os.fork()
if child == 0:
    got = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
    os._exit(-got if got < 0 else 0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    # A kernel without 32-bit programs kills with SIGSEGV.
    assert said(shared.opened[0], code) in (str(errno.ENOSYS), "-11")


_KEYS = f"""{READ_SESSION_KEYRING}
for key in found:
    if libc.syscall({MACHINE.keyctl}, {_UPDATE}, key, b'overwritten', 11) == 0: print('OVERWRITTEN')
for place in range(-5, 0):  # keyrings of thread, process, session and user, and the user's session
    if libc.syscall({_DENIED["add_key"][0]}, b'user', b'left', b'labels', 6, place) >= 0: print('LEFT')
if libc.syscall({_DENIED["request_key"][0]}, b'user', b'planted', None, -3) >= 0: print('FOUND')
try: print(*(line for line in open('/proc/keys') if 'planted' in line), sep='', end='')
except OSError: pass
"""


def test_keys_of_a_login_are_not_reached(scene: Scene) -> None:
    """A key in its session keyring is neither read, found nor overwritten, and none is left there."""
    opened = [scene.open(f"attempt-{number:03}") for number in range(2)]
    assert in_a_login(lambda: [said(session, _KEYS) for session in opened]) == ["", ""]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give each sandbox a user of its own")
def test_limits_by_user_are_not_shared(scene: Scene) -> None:
    """Of two live sandboxes each has a user id of its own, so what one uses up the other still has."""
    first, second = scene.open("attempt-000"), scene.open("attempt-001")
    code = """
import ctypes, os
libc, made = ctypes.CDLL(None), 0
while made < 100_000 and libc.inotify_init() >= 0: made += 1
print(os.getuid(), made)
"""
    user, made = said(first, code).split()
    other, made_by_other = said(second, code).split()
    assert len({user, other, str(os.getuid())}) == 3
    assert made == made_by_other
