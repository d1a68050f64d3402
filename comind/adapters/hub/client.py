"""The client of hubs of models with Hugging Face's API, and of checkpoints on other servers.

`HF_ENDPOINT` names another hub, such as a mirror. `HF_TOKEN` is sent to the hub alone, never printed.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from comind.competitions.download.archives import safe_name
from comind.domain.value import Value
from comind.errors import HubError, UsageError
from comind.system.downloads import download, size_of
from comind.system.files import hash_file
from comind.system.progress import counted
from comind.system.redaction import read_key, redact

_HUB = "https://huggingface.co"
_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_OWN_MACHINE = ("localhost", "127.0.0.1", "::1")
_REVISION = re.compile(r"[0-9a-f]{7,64}")
_MIRROR_HINT = "HF_ENDPOINT names another hub, HTTPS_PROXY a proxy; models of packages need neither"
_LATER_HINT = "run the command again later; what was fetched is kept"


class HubFile(Value):
    """A file of a repository; a hash is empty and a size None where the hub does not tell them."""

    name: str
    size: int | None = None
    sha256: str = ""
    blob: str = ""
    """Hash of git, of a file that is not in LFS."""


class HubModel(Value):
    """A repository at its newest revision."""

    name: str
    revision: str
    licence: str
    """Empty if none is stated."""
    files: tuple[HubFile, ...]

    def url_of(self, file: HubFile) -> str:
        """Return the address of a file below the hub's."""
        return f"{self.name}/resolve/{self.revision}/{quote(file.name)}"


class _Lfs(BaseModel):
    sha256: str = ""


class _Sibling(BaseModel):
    rfilename: str
    size: int | None = None
    blobId: str = ""  # noqa: N815 - a name of the API
    lfs: _Lfs | None = None


class _Answer(BaseModel):
    """What the hub tells of a repository."""

    sha: str
    siblings: list[_Sibling] = []
    cardData: dict[str, object] | None = None  # noqa: N815 - a name of the API

    @property
    def licence(self) -> str:
        """The licence that the card states; empty for none."""
        card = self.cardData or {}
        stated = card.get("license_name") if card.get("license") == "other" else card.get("license")
        return ", ".join(map(str, stated)) if isinstance(stated, list) else str(stated or "")


class HubClient:
    """A hub that is asked for models, and fetches files of it or of other servers."""

    def __init__(self) -> None:
        """Read address and token of the hub.

        Raises:
            UsageError: the address is none, nor that of the proxy, or the token would be unencrypted.
        """
        self._endpoint = (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
        self.shown = redact(self._endpoint)
        token = read_key("HF_TOKEN")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            url = httpx.URL(self._endpoint)
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in ("http", "https") or not url.host:
            raise UsageError(f"HF_ENDPOINT: {self.shown} is no address", hint=f"such as {_HUB}")
        if token and url.scheme == "http" and url.host not in _OWN_MACHINE:
            raise UsageError(
                f"HF_TOKEN: is not sent to {self.shown}, which is not encrypted",
                hint="name an https address with HF_ENDPOINT, or unset HF_TOKEN",
            )
        self._host = url.host
        try:
            self._client = httpx.Client(timeout=_TIMEOUT, follow_redirects=True)
        except (ValueError, ImportError) as error:
            raise UsageError(
                f"the proxy in the environment cannot be used ({redact(str(error))})",
                hint="see HTTPS_PROXY, HTTP_PROXY and ALL_PROXY",
            ) from None
        self._unreachable: HubError | None = None

    def find(self, name: str) -> HubModel:
        """Return the repository OWNER/NAME at its newest revision.

        Raises:
            UsageError: the hub has no such model, or does not show it.
            HubError: the hub is unreachable or refuses.
        """
        if self._unreachable is not None:
            raise self._unreachable
        url = f"{self._endpoint}/api/models/{name}"
        try:
            response = self._client.get(url, params={"blobs": "true"}, headers=self._headers)
        except httpx.HTTPError as error:
            self._unreachable = _unreachable(self.shown, error)
            raise self._unreachable from None
        self._require_success(response, name)
        try:
            answer = _Answer.model_validate_json(response.content)
        except ValidationError:
            answer = _Answer(sha="")
        if not _REVISION.fullmatch(answer.sha):
            raise HubError(f"{self.shown}: does not answer as a hub of models", hint=_MIRROR_HINT)
        files = tuple(
            HubFile(
                name=str(safe_name(each.rfilename)),
                size=each.size,
                sha256=each.lfs.sha256 if each.lfs else "",
                blob="" if each.lfs else each.blobId,
            )
            for each in answer.siblings
        )
        return HubModel(name=name, revision=answer.sha, licence=answer.licence, files=files)

    def fetch(self, model: HubModel, file: HubFile, target: Path) -> None:
        """Download a file of a model to `target`, where it is once it is complete and checked.

        Raises:
            HubError: the hub is unreachable, refuses, or what comes is corrupt.
        """

        def check(path: Path) -> str:
            if file.size is not None and size_of(path) != file.size:
                return f"{size_of(path)} bytes of {file.size}"
            return _other_hash(path, file.sha256) or _other_blob(path, file.blob)

        url = f"{self._endpoint}/{model.url_of(file)}"
        self._save(url, target, check, self._headers, of=model.name, size=file.size)

    def fetch_checkpoint(self, url: str, target: Path) -> None:
        """Download a file of torch to `target`; the end of its name begins its SHA-256.

        Raises:
            HubError: the server is unreachable, refuses, or what comes is corrupt.
        """
        sha256 = target.stem.rpartition("-")[2]
        self._save(url, target, lambda path: _other_hash(path, sha256), {}, of=target.name)

    def _save(
        self,
        url: str,
        target: Path,
        check: Callable[[Path], str],
        headers: dict[str, str],
        *,
        of: str,
        size: int | None = None,
    ) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.part")

        def send(path: Path) -> None:
            self._receive(url, path, headers, of, size or 0)

        try:
            wrong = download(part, target, send, lambda path, _: check(path), httpx.TransportError)
        except httpx.HTTPError as error:
            raise _unreachable(error.request.url.host, error) from None
        if wrong:
            raise HubError(f"{of}: {target.name} comes corrupt ({wrong})", hint=_LATER_HINT)

    def _receive(self, url: str, path: Path, headers: dict[str, str], of: str, size: int) -> None:
        """Download to a file, from where it ends."""
        done = size_of(path)
        asked = {"Accept-Encoding": "identity", **headers}
        asked |= {"Range": f"bytes={done}-"} if done else {}
        with self._client.stream("GET", url, headers=asked) as response:
            if done and response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # it was complete
            self._require_success(response, of)
            resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
            with path.open("ab" if resumed else "wb") as file:
                what, total = f"megabytes of {of} fetched", size // 10**6
                for _ in counted(_written(response, file), what, total, every=1):
                    pass
                file.flush()
                os.fsync(file.fileno())

    def _require_success(self, response: httpx.Response, name: str) -> None:
        """Raise what a refusal means for the model `name`."""
        status, host = response.status_code, response.request.url.host
        if response.is_success:
            return
        by_hub = host == self._host
        reason = response.headers.get("X-Error-Code", "")
        if by_hub and reason == "GatedRepo":
            raise HubError(
                f"{name}: {host} gives it only to those who have accepted its terms",
                hint=f"accept them at {self.shown}/{name}, and set HF_TOKEN to a token of your account",
            )
        token = bool(self._headers)
        if by_hub and token and status == httpx.codes.UNAUTHORIZED and reason != "RepoNotFound":
            raise HubError(
                f"{name}: {host} refuses the token",
                hint="set HF_TOKEN to a valid one, or unset it for public models",
            )
        if by_hub and status in (httpx.codes.UNAUTHORIZED, httpx.codes.NOT_FOUND):
            seen = "to the account of HF_TOKEN" if token else "without HF_TOKEN"
            raise UsageError(
                f"{name}: {host} has no such model, or does not show it {seen}",
                hint="check the name, OWNER/NAME as on the model's page",
            )
        raise HubError(f"{name}: {host} refuses it (HTTP {status})", hint=_LATER_HINT)


def _written(response: httpx.Response, file: BinaryIO) -> Iterator[None]:
    """Write a response to a file, and yield for each megabyte of the file, those before included."""
    megabytes = 0
    for chunk in response.iter_raw():
        file.write(chunk)
        while megabytes < file.tell() // 10**6:
            megabytes += 1
            yield


def _unreachable(host: str, error: httpx.HTTPError) -> HubError:
    reason = redact(str(error)) or type(error).__name__
    return HubError(f"the connection to {host} fails ({reason})", hint=_MIRROR_HINT)


def _other_hash(path: Path, sha256: str) -> str:
    """Return what is wrong where the file's hash does not begin with `sha256`, which may be empty."""
    return "" if hash_file(path).startswith(sha256) else "checksum mismatch"


def _other_blob(path: Path, blob: str) -> str:
    """Return what is wrong where git's hash of the file is not `blob`, which may be empty."""
    if not blob:
        return ""
    digest = hashlib.sha1(b"blob %d\0" % size_of(path), usedforsecurity=False)
    with path.open("rb") as file:
        hashlib.file_digest(file, lambda: digest)
    return "" if digest.hexdigest() == blob else "checksum mismatch"
