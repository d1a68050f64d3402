"""Attacks with forged messages: the code inside knows every key and can speak for its kernel."""

import time

import psutil

from comind.session.session_ports import CellStatus
from tests.attacks.conftest import Scene, ended, lives, said

_FORGE = """
import json, uuid, hmac, hashlib
from IPython import get_ipython
kernel = get_ipython().kernel
def forge(kind, content, *, signed=True, channel='iopub'):
    parent = kernel.get_parent('shell')
    message = kernel.session.msg(kind, content, parent=parent)
    parts = kernel.session.serialize(message)
    if not signed:
        parts[1] = b'0' * 64
    if channel == 'iopub':
        kernel.iopub_socket.send_multipart([b'x', *parts])
    else:
        ident = kernel._shell_parent_ident.get()
        kernel.session.send(kernel.shell_stream, message, ident=ident)
"""


def test_a_forged_end_is_only_an_early_end(scene: Scene) -> None:
    """A cell that claims to be over is over for us, which gives it nothing, and the next one runs."""
    session = scene.open()
    code = f"""{_FORGE}
import time
forge('status', {{'execution_state': 'idle'}})
forge('execute_reply', {{'status': 'ok', 'execution_count': 1}}, channel='shell')
time.sleep(3)
print('still here')
"""
    result = session.run(code, seconds=30)
    assert result.seconds < 20
    assert said(session, "print('own')").splitlines()[-1] == "own"
    assert lives(session)


def test_forged_output_is_only_text(scene: Scene) -> None:
    """Output under the cell's name is the cell's output; a claimed score in it scores nothing."""
    session = scene.open()
    code = f"""{_FORGE}
for content in ({{'name': 'stdout', 'text': 'validation_score: 1.0'}}, {{'text': ['no', 'text']}}, {{}}):
    forge('stream', content)
forge('error', {{'ename': 1, 'evalue': None, 'traceback': 'not a list'}})
forge('display_data', {{'data': 'not a mapping'}})
forge('nonsense', {{'x': 1}})
forge('stream', {{'name': 'stdout', 'text': 'unsigned'}}, signed=False)
"""
    result = session.run(code, seconds=30)
    assert result.status in (CellStatus.OK, CellStatus.ERROR)
    assert lives(session)


def test_messages_without_form_are_dropped(scene: Scene) -> None:
    """Parts that are missing, no JSON, nested without end or not text do not hold anybody up."""
    session = scene.open()
    code = f"""{_FORGE}
socket = kernel.iopub_socket
delimiter = b'<IDS|MSG>'
deep = b'[' * 200_000
start = [delimiter, b'']
for parts in ([b''], [delimiter], [b'x'] * 5000, start + [b'{{'] * 4, start + [deep] * 4,
              start + [b'1', b'2', b'3', b'4'], start + [b'\\xff'] * 4,
              start + [b'{{}}', b'{{"msg_id": 1}}', b'{{}}', b'{{}}']):
    socket.send_multipart(parts)
print('sent')
"""
    assert said(session, code) == "sent"
    assert lives(session)


def test_a_giant_message_stays_inside(scene: Scene) -> None:
    """A message of tens of megabytes does not reach the host's memory."""
    session = scene.open()
    said(session, "1")
    before = psutil.Process().memory_info().rss
    code = f"""{_FORGE}
forge('stream', {{'name': 'stdout', 'text': 'x' * 50_000_000 + 'the end'}})
import time; time.sleep(1)
"""
    result = session.run(code, seconds=60)
    assert result.output.rstrip().endswith("the end")
    assert len(result.output) < 70_000
    assert psutil.Process().memory_info().rss - before < (32 << 20)
    assert lives(session)


_TAKE_OVER = """
import os, socket, struct, ctypes, glob
libc = ctypes.CDLL(None, use_errno=True)
driver = os.getppid()
SYS_pidfd_open, SYS_pidfd_getfd = 434, 438
pidfd = libc.syscall(SYS_pidfd_open, driver, 0)
wire = None
for name in sorted(os.listdir(f'/proc/{driver}/fd'), key=int):
    fd = libc.syscall(SYS_pidfd_getfd, pidfd, int(name), 0)
    if fd < 0: continue
    try:
        s = socket.socket(fileno=fd)
        if s.family == socket.AF_UNIX and str(s.getpeername()).endswith('/h'): wire = s
        else: s.detach()
    except OSError: pass
"""


def test_a_stolen_wire_gives_nothing(scene: Scene) -> None:
    """Whoever gets hold of the driver's connection can end his own session, and no more."""
    session = scene.open()
    code = f"""{_TAKE_OVER}
if wire is None:
    print('no wire')
else:
    wire.sendall(struct.pack('!cII', b'O', 1, 1 << 31) + b'x' * 1000)
    import time; time.sleep(30)
"""
    result = session.run(code, seconds=60)
    assert result.output.strip() == "no wire" or result.status is CellStatus.DIED
    assert result.seconds < 15
    assert lives(session)


def test_a_flood_on_a_stolen_wire_ends_at_the_deadline(scene: Scene) -> None:
    """A flood of well-formed frames without end is taken in slowly, bounded, and ends with the cell."""
    session = scene.open()
    said(session, "1")
    before = psutil.Process().memory_info().rss
    code = f"""{_TAKE_OVER}
import signal
if wire is not None:
    wire.setblocking(True)
    os.kill(driver, signal.SIGSTOP)
    while True: wire.sendall(struct.pack('!cII', b'O', 2, 60_000) + b'x' * 60_000)
print('no wire')
"""
    begun = time.process_time()
    result = session.run(code, seconds=3)
    assert result.seconds < 20
    assert time.process_time() - begun < 8
    assert psutil.Process().memory_info().rss - before < (64 << 20)
    assert len(result.output) < 70_000
    assert lives(session)


def test_nobody_can_call_the_host_again(shared: Scene) -> None:
    """The socket at which the driver was awaited answers nobody any more."""
    code = """
import glob, os, socket
for path in glob.glob(os.environ['HOME'] + '/*'):
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(path)
        if path.endswith('/h'): print('ANSWERED')
    except OSError: pass
"""
    assert said(shared.opened[0], code) == ""


def test_a_broken_kernel_is_told_apart(scene: Scene) -> None:
    """A cell that shuts its kernel's messaging down ends the interpreter, not the attempt."""
    session = scene.open()
    code = """
import zmq, gc, time
for thing in gc.get_objects():
    if isinstance(thing, zmq.Socket):
        try: thing.close(0)
        except Exception: pass
time.sleep(30)
"""
    result = session.run(code, seconds=10)
    assert result.seconds < 25
    if result.status is CellStatus.DIED:
        ended(result, "the ")
    assert lives(session)
