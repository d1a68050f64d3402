"""Attacks over the network: only listeners of our own are aimed at, never an outside address."""

import os
import socket
from pathlib import Path

from tests.attacks.conftest import Listener, Scene, said

_TRY = """
import socket
def reached(family, address):
    s = socket.socket(family)
    s.settimeout(2)
    try:
        s.connect(address)
        return 'REACHED'
    except OSError as error:
        return 'no'
    finally:
        s.close()
"""


def test_a_listener_on_the_loopback_is_not_reached(shared: Scene) -> None:
    """Neither version of the protocol reaches a port that is open on the host."""
    with socket.socket() as four, socket.socket(socket.AF_INET6) as six:
        listeners = []
        for listening, host in ((four, "127.0.0.1"), (six, "::1")):
            listening.bind((host, 0))
            listening.listen()
            listeners.append(Listener(listening))
        code = f"""{_TRY}
print(reached(socket.AF_INET, ('127.0.0.1', {four.getsockname()[1]})),
      reached(socket.AF_INET6, ('::1', {six.getsockname()[1]})))
"""
        assert said(shared.opened[0], code) == "no no"
        assert [listener.visits for listener in listeners] == [0, 0]


def test_sockets_of_the_host_are_not_reached(shared: Scene, tmp_path: Path) -> None:
    """A socket file of the host, the container engine's among them, and abstract names are not there."""
    name = f"\0comind-{os.getpid()}-{tmp_path.name}"
    with socket.socket(socket.AF_UNIX) as file, socket.socket(socket.AF_UNIX) as abstract:
        file.bind(str(tmp_path / "s"))
        abstract.bind(name)
        listeners = []
        for listening in (file, abstract):
            listening.listen()
            listeners.append(Listener(listening))
        code = f"""{_TRY}
for address in ({str(tmp_path / "s")!r}, {name!r}, '/var/run/docker.sock', '/run/docker.sock',
                '/run/containerd/containerd.sock', '/run/dbus/system_bus_socket'):
    print(reached(socket.AF_UNIX, address))
"""
        assert set(said(shared.opened[0], code).split()) == {"no"}
        assert [listener.visits for listener in listeners] == [0, 0]


def test_only_the_loopback_is_there(shared: Scene) -> None:
    """There is no interface but an own loopback, no route, and no name can be looked up."""
    code = """
import socket
print([name for _, name in socket.if_nameindex()], len(open('/proc/net/route').read().splitlines()))
try: print(socket.getaddrinfo('host.invalid', 80))
except OSError: print('no names')
"""
    assert said(shared.opened[0], code) == "['lo'] 1\nno names"


def test_raw_sockets_are_refused(shared: Scene) -> None:
    """Nothing can be sent past the protocols."""
    code = """
import socket
for kind in ((socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_INET, socket.SOCK_RAW, 1)):
    try: socket.socket(*kind); print('OPEN')
    except OSError: print('no')
"""
    assert said(shared.opened[0], code) == "no\nno"
