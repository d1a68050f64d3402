"""What ordinary programs need still works where attacks on the system's kernel are refused."""

import pytest

from tests.attacks.conftest import Scene, said

_NEEDED: dict[str, str] = {
    "threads and queues": """
import multiprocessing, queue, threading
from concurrent.futures import ThreadPoolExecutor
assert list(ThreadPoolExecutor(3).map(abs, [-1, -2])) == [1, 2]
for method in ('fork', 'spawn', 'forkserver'):
    with multiprocessing.get_context(method).Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
""",
    "shared memory": """
import mmap, os, tempfile
from multiprocessing import Lock, Value, shared_memory
with Lock(): Value('d', 1.0)
block = shared_memory.SharedMemory(create=True, size=4096); block.close(); block.unlink()
os.close(os.memfd_create('x'))
with tempfile.TemporaryFile() as file: file.truncate(4096); mmap.mmap(file.fileno(), 4096).close()
""",
    "processes": """
import faulthandler, os, signal, subprocess, sys, tempfile
assert subprocess.run(['/bin/sh', '-c', 'echo $((6*7)) | cat'], capture_output=True).stdout == b'42\\n'
os.close(os.pidfd_open(os.getpid()))
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.nice(1); signal.setitimer(signal.ITIMER_REAL, 0)
with tempfile.TemporaryFile() as file: faulthandler.dump_traceback(file)
""",
    "sockets": """
import asyncio, select, socket
socket.if_nameindex(); socket.getaddrinfo('127.0.0.1', 80)
socket.socket(socket.AF_INET6).close()
for family, address in ((socket.AF_INET, ('127.0.0.1', 0)), (socket.AF_UNIX, '\\0x')):
    with socket.socket(family) as a, socket.socket(family) as b:
        a.bind(address); a.listen(); b.connect(a.getsockname()); a.accept()[0].close()
select.epoll().close(); socket.socketpair()
import threading
worker = threading.Thread(target=asyncio.run, args=(asyncio.sleep(0),)); worker.start(); worker.join()
""",
    "libraries": """
import joblib, lightgbm, numpy, pandas
from torch.utils.data import DataLoader
assert (numpy.ones((300, 300)) @ numpy.ones((300, 300))).sum() == 300 ** 3
assert joblib.Parallel(2)(joblib.delayed(abs)(n) for n in (-1, -2)) == [1, 2]
data = numpy.arange(200.0).reshape(-1, 1)
lightgbm.train({'verbose': -1, 'num_threads': 2}, lightgbm.Dataset(data, (data > 99)[:, 0]), 2)
pandas.DataFrame({'a': [1]}).to_parquet('a.parquet')
assert len(pandas.read_parquet('a.parquet')) == 1
assert len(list(DataLoader(list(range(8)), num_workers=2))) == 8
""",
}


@pytest.mark.parametrize("code", _NEEDED.values(), ids=_NEEDED)
def test_what_programs_need_still_works(shared: Scene, code: str) -> None:
    """Threads, processes, memory, sockets and the numerical libraries do without what is denied."""
    assert said(shared.opened[0], f"{code}\nprint('done')", seconds=180).endswith("done")
