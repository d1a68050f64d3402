"""Filter the system calls of sandboxed programs: kernel objects that no namespace isolates.

The filter is a seccomp program. It denies what Docker's default profile denies a container without
capabilities, and tracing; calls that are newer than its table do not exist inside. Assembled here, as
all of it is a list of comparisons: libseccomp is not on every machine, and its Python binding is
packaged only for the interpreter of some systems. A test compares the numbers with libseccomp's.
"""

import errno
import platform
import struct
from dataclasses import dataclass

NEWEST = 469  # file_setattr, of Linux 6.17; numbers of both architectures
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_PERSONALITIES = (0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
_NEW_NAMESPACES = 0x7E020000

# Numbers on x86_64 and aarch64; None where the architecture lacks the call.
_DENIED: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_settime": (227, 112),
    "clone3": (435, 435),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_kernel_syms": (177, None),
    "get_mempolicy": (239, 236),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "lsm_get_self_attr": (459, 459),
    "lsm_list_modules": (461, 461),
    "lsm_set_self_attr": (460, 460),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "query_module": (178, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "_sysctl": (156, None),
    "sysfs": (139, None),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "ustat": (136, None),
    "vhangup": (153, 58),
}
_MISSING = {
    "clone3",  # its flags are in memory, where a filter cannot look
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
}
"""Calls without which programs fall back, so that they seem to be missing in the kernel."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """An architecture that has a table; numbers are those of its calls."""

    audit: int
    """The kernel's `AUDIT_ARCH_` constant."""
    column: int
    clone: int
    keyctl: int
    personality: int
    sockets: tuple[int, int]
    """`socket` and `socketpair`."""

    def denied(self) -> dict[str, tuple[int, int]]:
        """Return number and error of each call that is denied with any arguments, by name."""
        numbers = {name: numbers[self.column] for name, numbers in _DENIED.items()}
        return {
            name: (number, errno.ENOSYS if name in _MISSING else errno.EPERM)
            for name, number in numbers.items()
            if number is not None
        }


ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, 0, clone=56, keyctl=250, personality=135, sockets=(41, 53)),
    "aarch64": Architecture(0xC00000B7, 1, clone=220, keyctl=219, personality=92, sockets=(198, 199)),
}
"""By the name that `platform.machine()` returns."""

_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06  # instructions of classic BPF
_NUMBER, _AUDIT, _FIRST_ARGUMENT = 0, 4, 16  # offsets in the kernel's `struct seccomp_data`
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000

LAUNCHER = """
import ctypes, os, sys
code = bytes.fromhex(sys.argv[1])
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('code', ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(22, 2, ctypes.byref(Program(len(code) // 8, code)), 0, 0):  # PR_SET_SECCOMP, filter
    sys.exit('no filter of system calls: ' + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[2], sys.argv[2:])
"""
"""A program for `python -I -S -c`: install a filter, given in hexadecimal, and become a program."""


def own_filter() -> bytes:
    """Return the filter for this machine; empty if its architecture has no table."""
    machine = ARCHITECTURES.get(platform.machine())
    return compile_filter(machine) if machine else b""


def compile_filter(machine: Architecture) -> bytes:
    """Return the filter as an array of the kernel's `struct sock_filter`."""
    program = [
        (_LOAD, 0, 0, _AUDIT),
        (_EQUAL, 1, 0, machine.audit),  # else a call of another architecture, as a 32-bit one
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
        (_ABOVE, 0, 1, NEWEST),  # x32's numbers are above it, too
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
    ]
    for number, error in machine.denied().values():
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | error)]
    for number in machine.sockets:
        program += _only(number, _FAMILIES, errno.EAFNOSUPPORT)
    program += _only(machine.personality, _PERSONALITIES, errno.EPERM)
    program += [
        (_EQUAL, 0, 3, machine.clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_BIT, 0, 1, _NEW_NAMESPACES),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def _only(number: int, values: tuple[int, ...], error: int) -> list[tuple[int, int, int, int]]:
    """Allow a call with these values of its first argument alone, of which the kernel reads 32 bits."""
    found = [(_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    ends = [(_RETURN, 0, 0, _ERRNO | error), (_RETURN, 0, 0, _ALLOW)]
    block = [(_LOAD, 0, 0, _FIRST_ARGUMENT), *found, *ends]
    return [(_EQUAL, 0, len(block), number), *block]
