"""Nodes fetch large inputs from an S3-compatible store, and from the driver when it fails."""

import contextlib
import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.domain.environment import FetchedInputs
from comind.errors import UsageError
from comind.nodes.bandwidth import Bandwidth
from comind.nodes.certificate import create_certificate
from comind.nodes.driver_link import DriverLink
from comind.nodes.driver_server import DriverServer
from comind.nodes.input_store import S3InputStore
from comind.nodes.messages import OpenSession
from comind.nodes.remote_session import Nodes, RemoteSession, SessionRequest
from comind.session.session_ports import CellStatus, Input
from tests.doubles.bucket import Bucket
from tests.doubles.session_hosts import LOST_SECONDS, HostThreads
from tests.examples import examples

if TYPE_CHECKING:
    from comind.nodes.placement import Placement

_SECRET = "the-secret-key"
_CELL = "import hashlib; print(hashlib.sha256(open('input/demo/big.bin', 'rb').read()).hexdigest())"
_BIG = random.Random(0).randbytes(3 << 20)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A running store, with credentials in the driver's environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "the-key-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", _SECRET)
    with Bucket() as running:
        yield running


class _Driver:
    """A driver with a store, whose sessions have one large and one small input."""

    def __init__(self, folder: Path, bucket: Bucket) -> None:
        self.folder, self.data = folder, folder / "data"
        self.data.mkdir()
        (self.data / "big.bin").write_bytes(_BIG)
        (self.data / "small.csv").write_text("a,b\n1,2\n")
        self.store = S3InputStore("s3://inputs/comind", bucket.endpoint)
        self.server = DriverServer(
            create_certificate(folder / "tls"), address="127.0.0.1", store=self.store
        )
        self.fetched: list[FetchedInputs | None] = []
        self.hosts: list[HostThreads] = []

    def run(self, node: str, cell: str = _CELL, **more: frozenset[str]) -> tuple[str, int]:
        """Run a cell on a node with a cache of its own; return its output and the driver's bytes."""
        hosts = HostThreads(self.folder / node)
        self.hosts.append(hosts)
        nodes = Nodes(self.server, hosts, self.folder / "staging", lost_seconds=LOST_SECONDS)
        opening = OpenSession(sandbox="bubblewrap", own_code=False, env={})
        given = (Input(self.data, "input/demo"),)
        request = SessionRequest(f"c/{node}/1", opening, given, self.folder / node / "work", **more)
        with contextlib.closing(RemoteSession(nodes, request, seconds=60)) as session:
            self.fetched.append(session.fetched)
            result = session.run(cell, seconds=30)
            assert result.status is CellStatus.OK, result.error
            sent = session.link.sent_bytes
        hosts.join()
        return result.output.strip(), sent

    @property
    def failures(self) -> list[str]:
        """Why inputs did not come from the store, of each session."""
        return [each.store_failure for each in self.fetched if each is not None]


@pytest.fixture
def driver(tmp_path: Path, bucket: Bucket) -> Iterator[_Driver]:
    """A running driver."""
    made = _Driver(tmp_path, bucket)
    with made.server:
        yield made


def _hash() -> str:
    return hashlib.sha256(_BIG).hexdigest()


def test_a_large_input_is_uploaded_once_and_fetched_from_the_store(
    driver: _Driver, bucket: Bucket
) -> None:
    """The driver sends it to the store for the first node; small files go directly."""
    for node in ("node-a", "node-b"):
        output, sent = driver.run(node)
        assert output == _hash()
        assert sent < len(_BIG)
    assert list(bucket.objects.values()) == [_BIG]
    assert (bucket.count("PUT"), bucket.count("GET")) == (1, 2)
    assert driver.failures == ["", ""]
    assert all(each and each.size > len(_BIG) for each in driver.fetched)


def test_an_object_that_the_store_has_is_not_uploaded_again(
    driver: _Driver, bucket: Bucket, tmp_path: Path
) -> None:
    """A later campaign asks the store; the hash is the key."""
    driver.run("node-a")
    later = S3InputStore("s3://inputs/comind", bucket.endpoint)
    assert later.presigned_url(_hash(), tmp_path / "data" / "big.bin")
    assert bucket.count("PUT") == 1


def test_inputs_with_labels_never_reach_the_store(driver: _Driver, bucket: Bucket) -> None:
    """What a node may not keep comes from the driver alone."""
    output, sent = driver.run("node-a", uncached=frozenset({"input/demo"}))
    assert output == _hash()
    assert sent >= len(_BIG)
    assert bucket.requests == []


class _StoppedError(Exception):
    """Nothing is started."""


class _NoHosts:
    """A server and a placement in one, which keep the link and start nothing."""

    store = None

    def __init__(self) -> None:
        self.links: list[DriverLink] = []

    def add(self, link: DriverLink, name: str) -> None:
        del name
        self.links.append(link)

    def remove(self, *_: object) -> None:
        pass

    def start(self, _place: object) -> None:
        raise _StoppedError


_FILES = st.dictionaries(st.sampled_from("abc"), st.binary(min_size=1, max_size=1), min_size=1)


@examples(20)
@given(st.lists(st.tuples(st.booleans(), _FILES), min_size=1, max_size=4), _FILES)
def test_a_store_may_hold_what_nodes_may_keep_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory,
    inputs: list[tuple[bool, dict[str, bytes]]],
    workspace: dict[str, bytes],
) -> None:
    """Whatever files inputs have: only contents of inputs without labels may go to a store."""
    root, hosts = tmp_path_factory.mktemp("driver"), _NoHosts()
    files = {f"input-{number}": files for number, (_, files) in enumerate(inputs)}
    for name, contents in {**files, "workspace": workspace}.items():
        (root / name).mkdir()
        for file, content in contents.items():
            (root / name / file).write_bytes(content)
    secret = frozenset(f"input-{number}" for number, (labels, _) in enumerate(inputs) if labels)
    nodes = Nodes(cast("DriverServer", hosts), cast("Placement", hosts), root / "staging")
    opening = OpenSession(sandbox="bubblewrap", own_code=False, env={})
    given_inputs = tuple(Input(root / name, name) for name in files)
    request = SessionRequest("c/1/1", opening, given_inputs, root / "workspace", uncached=secret)
    with pytest.raises(_StoppedError):
        RemoteSession(nodes, request)
    open_contents = [each for name in files if name not in secret for each in files[name].values()]
    assert hosts.links[0].shared == {hashlib.sha256(each).hexdigest() for each in open_contents}


def test_the_drivers_bandwidth_is_limited_and_shown(driver: _Driver) -> None:
    """Three megabytes at two a second take a second and a half."""
    driver.server._outgoing = Bandwidth(2)
    driver.run("node-a", uncached=frozenset({"input/demo"}))
    [fetched] = driver.fetched
    assert fetched is not None
    assert fetched.size > len(_BIG)
    assert fetched.seconds >= 1.4


@pytest.mark.parametrize("status", [403, 503])
def test_a_store_that_refuses_costs_nothing_but_the_drivers_link(
    driver: _Driver, bucket: Bucket, status: int
) -> None:
    """The driver sends what the store does not, and the reason is reported."""
    bucket.get_status = status
    output, sent = driver.run("node-a")
    assert (output, sent >= len(_BIG)) == (_hash(), True)
    assert driver.failures == [f"HTTP {status}"]


def test_a_store_that_is_down_is_asked_once(driver: _Driver, bucket: Bucket) -> None:
    """The other inputs of the session come from the driver in one request."""
    for number in range(5):
        (driver.data / f"{number}.bin").write_bytes(bytes([number]) * (1 << 20))
    bucket.get_status = 503
    _, sent = driver.run("node-a")
    assert bucket.count("GET") == 1
    assert sent >= len(_BIG) + 5 * (1 << 20)


def test_a_store_that_nodes_cannot_reach_is_left_out(driver: _Driver, bucket: Bucket) -> None:
    """The driver may reach it where its nodes do not."""
    url = driver.store.presigned_url
    driver.store.presigned_url = lambda *each: (url(*each) or "").replace(str(bucket.port), "9")  # type: ignore[method-assign]
    output, sent = driver.run("node-a")
    assert (output, sent >= len(_BIG)) == (_hash(), True)
    assert "Connection refused" in driver.failures[0]


def test_the_driver_retries_a_transfer_that_is_cut_off(driver: _Driver, bucket: Bucket) -> None:
    """Half of an object is not used."""
    bucket.cut = True
    output, sent = driver.run("node-a")
    assert (output, sent >= len(_BIG)) == (_hash(), True)
    assert driver.failures[0]


def test_a_damaged_object_is_not_used(driver: _Driver, bucket: Bucket) -> None:
    """A content with another hash is fetched from the driver."""
    driver.run("node-a")
    for path in bucket.objects:
        bucket.objects[path] = bytes(len(_BIG))
    output, sent = driver.run("node-b")
    assert (output, sent >= len(_BIG)) == (_hash(), True)
    assert driver.failures == ["", "a file arrived damaged"]


def test_a_store_that_takes_no_uploads_is_left_out_for_a_minute(driver: _Driver, bucket: Bucket) -> None:
    """The driver sends the inputs itself, and does not ask again for every object."""
    bucket.put_status = 403
    for node in ("node-a", "node-b"):
        output, _ = driver.run(node)
        assert output == _hash()
    assert bucket.count("PUT") == 1
    assert "403" in driver.failures[0]


def test_a_node_gets_urls_and_no_credentials(driver: _Driver, bucket: Bucket) -> None:
    """A presigned URL names the key's id and expires; the secret is nowhere in requests."""
    output, _ = driver.run("node-a", "import os; print(sorted(os.environ))")
    assert "AWS" not in output
    [query] = [path for method, path in bucket.requests if method == "GET"]
    assert "X-Amz-Expires=3600" in query
    assert all(_SECRET not in path for _, path in bucket.requests)
    assert all(_SECRET not in order.model_dump_json() for each in driver.hosts for order in each.orders)


def test_a_bucket_is_checked_before_it_is_used(bucket: Bucket) -> None:
    """`comind doctor` has one line for one that answers and one that does not."""
    bucket.objects["/inputs"] = b""
    assert S3InputStore("s3://inputs", bucket.endpoint).check() == "the bucket inputs answers"
    with pytest.raises(UsageError, match=r"^the bucket other cannot be used: ClientError: .*404"):
        S3InputStore("s3://other", bucket.endpoint).check()


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("inputs", "nodes.store: 'inputs' is no address such as s3://bucket/prefix"),
        ("https://host/x", "nodes.store: 'https://host/x' is no address such as s3://bucket/prefix"),
    ],
)
def test_a_wrong_address_is_one_line(address: str, line: str) -> None:
    """It is refused before anything runs."""
    with pytest.raises(UsageError) as error:
        S3InputStore(address)
    assert str(error.value) == line


def test_missing_credentials_are_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The line names the variables to set."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError, match=r"^nodes\.store: no credentials$") as error:
        S3InputStore("s3://inputs")
    assert "AWS_ACCESS_KEY_ID" in error.value.hint
