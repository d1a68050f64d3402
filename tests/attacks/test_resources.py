"""Attacks on memory, processes, disk, inodes and logs; the heaviest only under `torture`."""

import threading
import time
from pathlib import Path

import psutil
import pytest

from comind.session.quota import Quota
from comind.session.session_ports import CellStatus
from comind.system.supervisor import remove_tree
from tests.attacks.conftest import Scene, ended, lives, said

_SMALL = Quota(disk_bytes=200 << 20, files=3_000)


def test_memory_of_one_process_is_bounded(scene: Scene) -> None:
    """A process that takes more than it may gets an error, and keeps its variables."""
    session = scene.open(memory_bytes=2 << 30)
    result = session.run("kept = 1; bytearray(3 << 30)", seconds=60)
    assert result.status is CellStatus.ERROR
    assert "MemoryError" in result.error
    assert said(session, "print(kept)") == "1"


def test_memory_of_all_processes_is_bounded(scene: Scene) -> None:
    """Many processes that are each within bounds cannot have more than their session together."""
    session = scene.open(memory_bytes=1 << 30)
    code = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        block = bytearray(400 << 20)
        time.sleep(90)
        os._exit(0)
killed, until = 0, time.monotonic() + 40
while killed < 3 and time.monotonic() < until:
    killed += os.waitpid(-1, os.WNOHANG) != (0, 0)
    time.sleep(0.1)
print(killed)
"""
    result = session.run(code, seconds=60)
    if result.status is CellStatus.OK:
        assert int(result.output) >= 3
    else:
        ended(result, "out of memory")
    session.run("import os; os.kill(-1, 9)", seconds=10)
    assert lives(session)


def test_a_kernel_without_memory_is_told_so(scene: Scene) -> None:
    """Where the system ends the interpreter for want of memory, the reason is named as such."""
    session = scene.open(memory_bytes=1 << 30)
    code = """
for folder in ('/dev/shm', '/tmp'):
    with open(folder + '/big', 'wb') as file:
        try:
            while True: file.write(b'x' * (1 << 20))
        except OSError: pass
"""
    result = session.run(code, seconds=60)
    ended(result, "out of memory")
    assert result.seconds < 30
    assert lives(session)


def test_processes_are_bounded(scene: Scene) -> None:
    """A fork bomb ends at its bound; the host and the session go on."""
    session = scene.open()
    code = """
import os, time
made = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(60); os._exit(0)
        made += 1
except OSError: pass
print(made < 2000)
"""
    assert said(session, code, seconds=120) == "True"
    session.run("import os; os.kill(-1, 9)", seconds=10)
    assert lives(session)


def test_threads_are_bounded(scene: Scene) -> None:
    """So do threads."""
    session = scene.open()
    code = """
import threading, time
made = 0
try:
    while made < 5000:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start(); made += 1
except (RuntimeError, MemoryError): pass
print(made < 2000)
"""
    assert said(session, code, seconds=120) == "True"


def test_disk_is_bounded(scene: Scene) -> None:
    """Files, in the working directory or at home, end the interpreter when they are too many bytes."""
    session = scene.open(quota=_SMALL)
    for folder in (".", "os.environ['HOME']"):
        place = repr(folder) if folder == "." else folder
        code = f"""
import os, time
for number in range(100):
    open({place} + f'/{{number}}', 'wb').write(b'x' * (20 << 20))
    time.sleep(0.05)
time.sleep(50)
"""
        result = session.run(code, seconds=60)
        ended(result, "of disk")
        assert result.seconds < 50
        said(session, "import os; [os.remove(n) for n in os.listdir('.') if n.isdigit()]; 0")
    assert lives(session)


def test_inodes_are_bounded(scene: Scene) -> None:
    """Empty files and folders without number end the interpreter, too."""
    session = scene.open(quota=_SMALL)
    code = """
import os, time
os.mkdir('many')
for number in range(20_000):
    os.mkdir(f'many/{number}')
    time.sleep(0.0002)
time.sleep(50)  # a busy machine looks later
"""
    ended(session.run(code, seconds=60), "files and folders")
    assert session.run("import shutil; shutil.rmtree('many')", seconds=60).status is CellStatus.OK
    assert lives(session)


def test_a_bottomless_folder_breaks_nobody(scene: Scene) -> None:
    """Folders in folders end the interpreter; restart, quota and clean-up do not stumble over them."""
    session = scene.open()
    code = """
import os, time
for place in ('.', os.environ['HOME']):
    os.chdir(place)
    for _ in range(1500):
        os.mkdir('d' * 100); os.chdir('d' * 100)
time.sleep(50)
"""
    ended(session.run(code, seconds=60), "nested")
    assert lives(session)
    session.close()
    remove_tree(str(session.workspace))
    assert not session.workspace.exists()


def test_one_file_is_bounded(scene: Scene) -> None:
    """A single file cannot become larger than its limit, however it is made."""
    code = """
import os
def made(action):
    try: action(); return 'MADE'
    except OSError: return 'refused'
def grown():
    with open('sparse', 'wb') as f: f.truncate(1 << 40)
print(made(grown))
"""
    assert said(scene.open(), code) == "refused"


def test_temporary_files_are_bounded(shared: Scene) -> None:
    """The folders in memory have a size."""
    code = """
import os, shutil
for folder in ('/tmp', '/dev/shm'):
    print(shutil.disk_usage(folder).total <= 1 << 30)
"""
    assert said(shared.opened[0], code) == "True\nTrue"


def test_floods_are_cut_and_the_last_line_is_kept(shared: Scene) -> None:
    """A hundred megabytes in one line, in descriptors and in overwritten lines leave the last line."""
    session = shared.opened[0]
    before = psutil.Process().memory_info().rss
    for flood in (
        "print('x' * 100_000_000)",
        "import os\nfor _ in range(500): os.write(1, b'y' * 65536)",
        "for n in range(100_000): print(n, end='\\r')",
        "import os\nprint(os.urandom(1 << 20).decode('latin1')); os.write(1, os.urandom(1 << 20))",
        "print('\\x1b]0;never closed \\x1b[31m \\ud800')",
        "import subprocess; _ = subprocess.run(['head', '-c', '30000000', '/dev/zero'])",
    ):
        result = session.run(f"{flood}\nprint('\\nthe last line')", seconds=60)
        assert result.status is CellStatus.OK, result.error
        assert result.output.endswith("the last line\n"), flood
        assert len(result.output) < 61_000
    assert psutil.Process().memory_info().rss - before < (64 << 20)


def test_displays_are_bounded(shared: Scene) -> None:
    """Pictures are not taken over, and a display of any size is cut."""
    code = """
from IPython.display import display, Image, HTML
for _ in range(20): display(Image(data=b'x' * 1_000_000, format='png'))
class Long:
    def __repr__(self): return 'r' * 50_000_000
Long()
"""
    result = shared.opened[0].run(code, seconds=60)
    assert result.status is CellStatus.OK
    assert len(result.output) < 61_000


def test_a_traceback_is_bounded(shared: Scene) -> None:
    """An error of any length is cut, beginning and end."""
    result = shared.opened[0].run("raise ValueError('x' * 5_000_000)", seconds=60)
    assert result.status is CellStatus.ERROR
    assert len(result.error) < 20_000


def test_the_log_is_bounded(scene: Scene) -> None:
    """What is printed past all capture, to descriptors of the driver, does not fill the host's disk."""
    session = scene.open()
    code = """
import os, subprocess, time
driver = os.getppid()
try: out = os.open(f'/proc/{driver}/fd/1', os.O_WRONLY)
except OSError: out = None
for _ in range(2000 if out else 0): os.write(out, b'z' * 65536)
print('done')
"""
    assert said(session, code, seconds=120) == "done"
    session.close()
    log = scene.folder / "runs" / "attempt-000" / "session.log"
    assert not log.exists() or log.stat().st_size < (2 << 20)


# --- bombs at length ------------------------------------------------------------------------------


@pytest.mark.torture
def test_gigabytes_of_output(scene: Scene) -> None:
    """Two gigabytes through streams and descriptors cost the host neither memory nor the last line."""
    session = scene.open()
    said(session, "1")
    before = psutil.Process().memory_info().rss
    code = """
import os
for _ in range(1000): print('x' * 1_000_000)
for _ in range(16_000): os.write(1, b'y' * 65536)
print('\\nthe last line')
"""
    result = session.run(code, seconds=600)
    assert result.output.endswith("the last line\n")
    assert psutil.Process().memory_info().rss - before < (64 << 20)


@pytest.mark.torture
def test_a_forest_of_fork_bombs(scene: Scene) -> None:
    """Bombs whose children fork on leave the host responsive, and end with their session."""
    session = scene.open()
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    slow: list[float] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(0.1):
            begun = time.monotonic()
            list(Path("/proc").iterdir())
            slow.append(time.monotonic() - begun)

    watcher = threading.Thread(target=look)
    watcher.start()
    result = session.run(bomb, seconds=10)
    assert result.status in (CellStatus.DIED, CellStatus.TIMEOUT)
    session.close()
    stop.set()
    watcher.join()
    assert max(slow) < 5
    assert lives(scene.open("attempt-001"))


@pytest.mark.torture
def test_twenty_deaths_in_a_row(scene: Scene) -> None:
    """A session that dies at every cell starts again at every cell, and leaves nothing behind."""
    session = scene.open()
    for number in range(20):
        assert session.run(f"import os; os._exit({number + 1})", seconds=60).status is CellStatus.DIED
    assert lives(session)
