"""Each sandbox of a machine has a user id of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from comind.system.leases import Users
from comind.system.supervised import Inherited, start_supervised

_LEASE = """
import sys
from pathlib import Path
from comind.system.leases import Users
users = Users(Path(sys.argv[1]))
print(*(users.lease()[0] for _ in range(20)), flush=True)
sys.stdin.read()
"""


@contextmanager
def _holder(folder: Path) -> Iterator[list[str]]:
    """Yield the ids that a process of its own has leased, until it is killed."""
    argv = [sys.executable, "-c", _LEASE, str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()
        process.kill()


def test_no_id_is_leased_twice(tmp_path: Path) -> None:
    """Ids of concurrent processes differ, and belong to no account; those of a killed one are free."""
    with _holder(tmp_path) as first, _holder(tmp_path) as second:
        assert len({*first, *second}) == 40
        assert not {*first, *second} & {
            line.split(":")[2] for line in Path("/etc/passwd").read_text().splitlines()
        }
    ids = sorted(map(int, first))
    users = Users(tmp_path, ids)
    leased = [users.lease() for _ in ids]
    assert sorted(lease[0] for lease in leased if lease) == ids
    assert users.lease(ids[0]) is None


def test_an_id_is_leased_until_its_last_holder_ends(tmp_path: Path) -> None:
    """A supervisor keeps the lease of its program after we have closed our descriptor or are gone."""
    users, others = Users(tmp_path), Users(tmp_path)
    leased = users.lease()
    assert leased is not None
    child = start_supervised(["/bin/sleep", "60"], env={}, inherited=Inherited(held=(leased[1],)))
    os.close(leased[1])
    found = others.lease(leased[0])
    assert found is not None
    assert found[0] != leased[0]
    child.stop()
    again = others.lease(leased[0])
    assert again is not None
    assert again[0] == leased[0]
