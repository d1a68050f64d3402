"""The filter of system calls denies its table, on each architecture, and nothing else."""

import ctypes
import ctypes.util
import errno
import struct

import pytest

from comind.session.system_calls import ARCHITECTURES, NEWEST, Architecture, compile_filter

_EACH = pytest.mark.parametrize("machine", ARCHITECTURES.values(), ids=ARCHITECTURES)


def _error(program: bytes, audit: int, number: int, first: int = 0) -> int:
    """Interpret the filter as the kernel does; return the error of a call, 0 if it is allowed."""
    data = struct.pack("<IIQ6Q", number, audit, 0, first, 0, 0, 0, 0, 0)
    instructions = list(struct.iter_unpack("<HBBI", program))
    value, place = 0, 0
    while True:
        code, if_true, if_false, operand = instructions[place]
        place += 1
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
        elif code == 0x06:
            assert operand & 0xFFFF0000 in (0x7FFF0000, 0x00050000)
            return int(operand & 0xFFFF)
        else:
            true = {0x15: value == operand, 0x25: value > operand, 0x45: bool(value & operand)}[code]
            place += if_true if true else if_false


@_EACH
def test_each_number_is_denied_or_allowed(machine: Architecture) -> None:
    """The calls of the table fail with their error, newer ones do not exist, all others pass."""
    program, denied = compile_filter(machine), dict(machine.denied().values())
    for number in range(NEWEST + 1):
        first = 1 if number in machine.sockets else 0
        assert _error(program, machine.audit, number, first) == denied.get(number, 0)
    for number in (NEWEST + 1, 600, 0x40000000, 0x40000001, 0xFFFFFFFF):
        assert _error(program, machine.audit, number) == errno.ENOSYS
    for other in (0x40000003, 0x40000028, 0):  # 32-bit programs of both architectures, and none
        assert _error(program, other, 1) == errno.ENOSYS


@_EACH
def test_some_calls_are_denied_by_their_arguments(machine: Architecture) -> None:
    """Sockets have four families, personalities five values, and clone makes no namespaces."""
    program = compile_filter(machine)

    def allowed(number: int, firsts: range) -> list[int]:
        return [first for first in firsts if not _error(program, machine.audit, number, first)]

    for number in machine.sockets:
        assert allowed(number, range(50)) == [1, 2, 10, 16]
    assert allowed(machine.personality, range(100)) == [0, 8]
    bits = [1 << bit for bit in range(32) if _error(program, machine.audit, machine.clone, 1 << bit)]
    assert sum(bits) == 0x7E020000
    assert not _error(program, machine.audit, machine.clone, 0x003D0F00)  # of a thread


@_EACH
def test_numbers_are_those_of_the_system(machine: Architecture) -> None:
    """Numbers are as in libseccomp, where it is installed and knows the call."""
    library = ctypes.util.find_library("seccomp")
    if library is None:
        pytest.skip("libseccomp is not installed")
    resolve = ctypes.CDLL(library).seccomp_syscall_resolve_name_arch
    checked = {name: number for name, (number, _) in machine.denied().items()}
    checked |= {"clone": machine.clone, "personality": machine.personality, "keyctl": machine.keyctl}
    checked |= dict(zip(("socket", "socketpair"), machine.sockets, strict=True))
    known = {name: resolve(machine.audit, name.encode()) for name in checked}
    assert {name: number for name, number in known.items() if number >= 0}.items() <= checked.items()
