"""Attacks on files of the host: by path, by link, over /proc, by mounts, and through the inputs."""

from pathlib import Path

from tests.attacks.conftest import SECRET, Scene, lives, said

_HOME = Path.home()

_TRY = """
def attempt(action):
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return 'DONE'
"""


def test_labels_are_not_at_their_path(shared: Scene) -> None:
    """The exact path, with every parent and every detour that resolves on the host, is not there."""
    code = f"""
import os
path = {str(shared.labels)!r}
parts = path.split('/')
tried = [path, '/proc/1/root' + path, '/proc/self/root' + path, '../' * 30 + path[1:], '/.' + path]
tried += ['/'.join(parts[:n]) + '/..' * (n - 1) + path for n in range(2, len(parts))]
print([p for p in tried if os.path.exists(p)])
"""
    assert said(shared.opened[0], code) == "[]"


def test_nothing_of_the_host_is_found_by_searching(shared: Scene) -> None:
    """A walk over all that can be seen finds neither labels nor the project nor anybody's home."""
    code = f"""
import os
found = []
for folder, folders, names in os.walk('/'):
    if folder.startswith(('/proc', '/usr/share', '/usr/lib/python')): folders.clear()
    if {{'validation_answers.csv', '.bash_history', 'id_rsa'}} & set(names): found.append(folder)
print(found, os.listdir({str(_HOME)!r}) if os.path.exists({str(_HOME)!r}) else 'no home')
"""
    printed = said(shared.opened[0], code)
    assert printed.startswith("[] ")
    assert ".ssh" not in printed
    assert ".bash_history" not in printed


def test_links_lead_nowhere(shared: Scene) -> None:
    """A symbolic link to labels dangles inside, and a hard link cannot be made across mounts."""
    code = f"""{_TRY}
import os
os.symlink({str(shared.labels)!r}, 'symbolic')
print(os.path.exists('symbolic'))
print(attempt(lambda: os.link({str(shared.labels)!r}, 'hard')))
print(attempt(lambda: os.link('input/demo/train.csv', 'input-link')))
print(attempt(lambda: os.link('/etc/shadow', 'shadow')))
"""
    answers = said(shared.opened[0], code).split()
    assert answers[0] == "False"
    assert "DONE" not in answers


def test_proc_shows_only_the_sandbox(shared: Scene) -> None:
    """Roots, working directories and open files of every visible process lead to nothing of the host."""
    code = f"""
import os, glob
leaks = []
for folder in glob.glob('/proc/[0-9]*'):
    for what in ('root', 'cwd'):
        try:
            if os.path.exists(folder + '/' + what + {str(shared.labels)!r}): leaks.append(folder)
        except OSError: pass
    for fd in glob.glob(folder + '/fd/*'):
        try:
            target = os.readlink(fd)
        except OSError: continue
        if {str(shared.folder)!r} in target or 'log' in target.split('/')[-1]: leaks.append(target)
print(leaks)
"""
    assert said(shared.opened[0], code) == "[]"


def test_no_descriptor_of_ours_is_open(shared: Scene) -> None:
    """The kernel and its parent hold no file, folder or socket that we had open."""
    code = """
import os
kinds = set()
for fd in os.listdir('/proc/self/fd'):
    try: kinds.add(os.readlink('/proc/self/fd/' + fd).split(':')[0].split('[')[0])
    except OSError: pass
own = ('/dev', '/proc', '/workspace', '/usr')
print(sorted(kind for kind in kinds if kind.startswith('/') and not kind.startswith(own)))
"""
    assert said(shared.opened[0], code) == "[]"


def test_mounts_cannot_be_changed(shared: Scene) -> None:
    """Mounting, unmounting, remounting, a new root and a new user namespace are refused."""
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, *arguments):
    return getattr(libc, name)(*arguments)
MS_BIND, MS_REMOUNT = 4096, 32
print(tried('mount', b'/usr', b'/tmp', None, MS_BIND, None),
      tried('mount', None, b'/workspace/input/demo', None, MS_REMOUNT | MS_BIND, None),
      tried('umount2', b'/workspace/input/demo', 2),
      tried('chroot', b'/tmp'),
      tried('unshare', 0x00020000))
"""
    assert set(said(shared.opened[0], code).split()) == {"-1"}


def test_a_user_namespace_gives_no_rights(shared: Scene) -> None:
    """A fresh user namespace, where one can be had, gives nothing of the host that was not there."""
    code = f"""
import ctypes, os
if os.fork() == 0:
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.unshare(0x10000000 | 0x00020000)
    shown = libc.mount(b'none', b'/proc/sys', b'sysfs', 0, None)
    print('LEAK' if os.path.exists({str(shared.labels)!r}) else 'none', flush=True)
    try:
        open('/workspace/input/demo/train.csv', 'a').write('x')
        print('WROTE', flush=True)
    except OSError: pass
    os._exit(0)
_ = os.wait()
"""
    assert said(shared.opened[0], code) == "none"


def test_inputs_of_the_next_attempt_stay(scene: Scene) -> None:
    """Whatever an attempt does to its inputs, others see them whole."""
    first, second = scene.open("attempt-000"), scene.open("attempt-001")
    code = f"""{_TRY}
import os, mmap
name = 'input/demo/train.csv'
def mapped():
    fd = os.open(name, os.O_RDONLY)
    m = mmap.mmap(fd, 0, prot=mmap.PROT_READ | mmap.PROT_WRITE, flags=mmap.MAP_SHARED)
    m[0] = 65
print(attempt(lambda: open(name, 'w').write('poison')),
      attempt(lambda: os.rename(name, 'input/demo/other.csv')),
      attempt(lambda: os.truncate(name, 0)),
      attempt(lambda: os.chmod(name, 0o777)),
      attempt(lambda: os.utime(name)),
      attempt(lambda: open('/proc/self/fd/%d' % os.open(name, os.O_RDONLY), 'w')),
      attempt(mapped))
"""
    assert "DONE" not in said(first, code)
    assert (scene.public / "train.csv").read_text() == "a,b\n1,2\n"
    assert said(second, "print(open('input/demo/train.csv').read())") == "a,b\n1,2"


def test_caches_of_the_next_attempt_stay(scene: Scene) -> None:
    """Home, temporary files and the interpreter's libraries carry nothing over to the next attempt."""
    first, second = scene.open("attempt-000"), scene.open("attempt-001")
    code = f"""{_TRY}
import os, sys, sysconfig, json
site = sysconfig.get_paths()['purelib']
home = os.environ['HOME']
print(attempt(lambda: open(site + '/poison.pth', 'w')),
      attempt(lambda: open(json.__file__, 'a')),
      attempt(lambda: open(sys.executable, 'ab')))
for folder in (home, '/tmp', '/dev/shm'):
    open(folder + '/poison.py', 'w').write('evil = 1')
os.makedirs(home + '/.local/lib/python3.11/site-packages', exist_ok=True)
open(home + '/.local/lib/python3.11/site-packages/usercustomize.py', 'w').write('evil = 1')
"""
    assert "DONE" not in said(first, code)
    look = """
import os
print([p for f in (os.environ['HOME'], '/tmp', '/dev/shm') for p in os.listdir(f) if 'poison' in p])
"""
    assert said(second, look) == "[]"


def test_inputs_in_a_planted_place_are_gone_after_a_restart(scene: Scene) -> None:
    """A folder that was put where the inputs are mounted is under the mount again at the next start."""
    session = scene.open()
    code = """
import os
os.rename('input', 'elsewhere')
os.makedirs('input/demo')
open('input/demo/train.csv', 'w').write('poison')
os._exit(1)
"""
    session.run(code, seconds=30)
    assert said(session, "print(open('input/demo/train.csv').read())") == "a,b\n1,2"


def test_a_neighbours_folder_is_not_there(scene: Scene) -> None:
    """An attempt sees neither another attempt's working directory nor what links in it point to."""
    first, second = scene.open("attempt-000"), scene.open("attempt-001")
    said(first, "open('mine.txt', 'w').write('mine')")
    path = first.workspace / "mine.txt"
    said(second, f"import os; os.symlink({str(path)!r}, 'theirs')")
    assert said(second, "import os; print(os.path.exists('theirs'))") == "False"


def test_modules_in_the_folder_do_not_break_the_next_start(scene: Scene) -> None:
    """Files named like modules of the kernel's start cannot run in it or keep it from starting."""
    session = scene.open()
    names = ["zmq", "ipykernel", "json", "random", "site", "sitecustomize", "socket", "driver"]
    said(session, f"for n in {names!r}: open(n + '.py', 'w').write('raise SystemExit(9)')")
    session.run("import os; os._exit(1)", seconds=30)
    assert lives(session)
    assert SECRET not in said(session, "import os; print(os.listdir('.'))")
