"""Talk to the driver from a node: messages by WebSocket, contents by HTTP, over TLS."""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO, TypeVar

import httpx
from pydantic import TypeAdapter
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from comind.errors import SandboxError
from comind.nodes.certificate import pinning_context
from comind.nodes.messages import DRIVER_MESSAGES, DriverMessage, HostMessage
from comind.nodes.object_cache import TransferError
from comind.nodes.placement import HostOrder

_PING_SECONDS = 5.0
_MESSAGE_BYTES = 64 << 20
_RETRY_SECONDS = 1.0
_STORE_DOWN_SECONDS = 60.0
_UPLOAD_TIMEOUT = httpx.Timeout(60.0)  # the driver may upload first; what takes longer it sends itself
_URLS: TypeAdapter[list[str | None]] = TypeAdapter(list[str | None])
_TIMEOUT = httpx.Timeout(30.0)
_CHUNK = 1 << 20
_FORBIDDEN = 403

Result = TypeVar("Result")


class Connection:
    """A connection that is opened again when it breaks, until the driver refuses or is gone too long."""

    def __init__(
        self, order: HostOrder, hello: Callable[[], list[HostMessage]], *, patience: float
    ) -> None:
        """Prepare to connect.

        Args:
            order: where the driver is.
            hello: returns the messages to send first, after each connect.
            patience: seconds without a connection, after which the driver counts as gone.
        """
        self._order = order
        self._hello = hello
        self._patience = patience
        self._websocket: ClientConnection | None = None
        self._ended = ""
        self._context = pinning_context(order.certificate)

    async def send(self, message: HostMessage) -> None:
        """Send a message; without a connection, `hello` has to repeat it."""
        if self._websocket is not None:
            try:
                await self._websocket.send(message.model_dump_json())
            except ConnectionClosed:
                return

    async def end(self, reason: str) -> None:
        """Disconnect permanently; `receive` returns `reason`."""
        self._ended = reason
        if self._websocket is not None:
            await self._websocket.close()

    async def receive(self, take: Callable[[DriverMessage], None]) -> str:
        """Pass each message of the driver to `take`; return why there are no more."""
        seen = time.monotonic()
        while True:
            try:
                async with connect(
                    f"wss://{self._order.address}/session",
                    ssl=self._context,
                    additional_headers={"Authorization": f"Bearer {self._order.token}"},
                    ping_interval=_PING_SECONDS,
                    ping_timeout=_PING_SECONDS,
                    max_size=_MESSAGE_BYTES,
                    open_timeout=_PING_SECONDS,
                ) as websocket:
                    await self._exchange(websocket, take)
            except InvalidStatus as error:
                if error.response.status_code == _FORBIDDEN:
                    return "the driver has closed this session, or given its work to another node"
            except (OSError, ConnectionClosed, InvalidHandshake):
                pass  # tried again below
            finally:
                if self._websocket is not None:
                    seen, self._websocket = time.monotonic(), None
            if self._ended:
                return self._ended
            if time.monotonic() - seen > self._patience:
                return f"the driver was not reachable for {self._patience:.0f} seconds"
            await asyncio.sleep(_RETRY_SECONDS)

    async def _exchange(
        self, websocket: ClientConnection, take: Callable[[DriverMessage], None]
    ) -> None:
        self._websocket = websocket  # before the hello, so that nothing is lost between them
        for message in self._hello():
            await websocket.send(message.model_dump_json())
        async for text in websocket:
            take(DRIVER_MESSAGES.validate_json(text))


class Transfers:
    """Fetches inputs and sends files; a transfer that fails is repeated.

    Inputs that the driver has in a store come from there; when that fails, from the driver, for a while.
    """

    use_store = False
    store_failure = ""
    """Why the store was not used at last."""

    def __init__(self, order: HostOrder, *, patience: float) -> None:
        self._client = httpx.Client(
            base_url=f"https://{order.address}",
            verify=pinning_context(order.certificate),
            # asyncio's TLS may not see that an idle connection was closed while it did not read.
            headers={"Authorization": f"Bearer {order.token}", "Connection": "close"},
            timeout=_TIMEOUT,
            trust_env=False,
        )
        self._store = httpx.Client(timeout=_TIMEOUT)
        self._store_down_until = 0.0
        self._patience = patience

    def fetch(self, hashes: list[str]) -> Iterator[bytes]:
        """Yield the contents of these hashes, one after the other.

        Raises:
            TransferError: the transfer failed.
        """
        urls = self._urls(hashes)
        for stored, group in itertools.groupby(hashes, key=urls.__contains__):
            left = list(group)
            while left and stored and not self._store_is_down:
                yield from self._from_store(left[0], urls[left[0]])
                left = left[1:]
            if left:
                yield from self._from_driver(left)

    @property
    def _store_is_down(self) -> bool:
        return time.monotonic() < self._store_down_until

    def _urls(self, hashes: list[str]) -> dict[str, str]:
        """Return the URLs of those that the store has; none while it counts as down."""
        if not self.use_store or self._store_is_down:
            return {}
        try:
            response = self._client.post("/urls", json=hashes, timeout=_UPLOAD_TIMEOUT)
            found = _URLS.validate_json(response.raise_for_status().content)
            return {name: url for name, url in zip(hashes, found, strict=True) if url is not None}
        except (httpx.HTTPError, ValueError) as error:
            self._suspend_store(f"the driver names no URLs: {error or type(error).__name__}")
            return {}

    def _from_store(self, sha256: str, url: str) -> Iterator[bytes]:
        """Yield an object of the store, or of the driver if the store does not begin to send it."""
        begun = False
        try:
            with self._store.stream("GET", url) as response:
                if response.status_code == httpx.codes.OK:
                    for chunk in response.iter_raw(_CHUNK):
                        begun = True
                        yield chunk
                    return
                self._suspend_store(f"HTTP {response.status_code}")
        except httpx.HTTPError as error:
            self._suspend_store(str(error) or type(error).__name__)
            if begun:
                raise TransferError(f"the store cut a transfer off: {error}") from None
        yield from self._from_driver([sha256])

    def _suspend_store(self, reason: str) -> None:
        self.store_failure = reason
        self._store_down_until = time.monotonic() + _STORE_DOWN_SECONDS

    def _from_driver(self, hashes: list[str]) -> Iterator[bytes]:
        try:
            with self._client.stream("POST", "/objects", json=hashes) as response:
                if response.status_code != httpx.codes.OK:
                    raise TransferError(f"the driver refuses inputs ({response.status_code})")
                yield from response.iter_bytes(_CHUNK)
        except httpx.HTTPError as error:
            raise TransferError(f"inputs cannot be fetched: {error}") from None

    def send(self, sha256: str, file: BinaryIO) -> bool:
        """Send a file; False if its content is not that of the hash.

        Raises:
            SandboxError: the driver is gone, or refuses.
        """

        def attempt() -> bool:
            file.seek(0)
            chunks = iter(lambda: file.read(_CHUNK), b"")
            try:
                response = self._client.put(f"/files/{sha256}", content=chunks)
            except httpx.HTTPError as error:
                raise TransferError(f"files cannot be sent: {error}") from None
            if response.status_code == _FORBIDDEN:
                raise SandboxError("the driver has closed this session")
            if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
                raise TransferError(f"files cannot be sent ({response.status_code})")
            return response.status_code == httpx.codes.NO_CONTENT

        return self.retry(attempt)

    def retry(self, transfer: Callable[[], Result]) -> Result:
        """Return the result of `transfer`, repeated after a TransferError.

        Raises:
            SandboxError: it did not succeed in time.
        """
        end = time.monotonic() + self._patience
        while True:
            try:
                return transfer()
            except TransferError as error:
                if self.use_store and not self._store_is_down:
                    self._suspend_store(str(error))  # a content of the store may be damaged
                if time.monotonic() > end:
                    raise SandboxError(str(error)) from None
                time.sleep(_RETRY_SECONDS)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
        self._store.close()
