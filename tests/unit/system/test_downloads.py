"""Files are downloaded whole: resumed while they grow, and once more where what came is wrong."""

from pathlib import Path

import pytest

from comind.system.downloads import download


class _CutError(Exception):
    pass


class _Sender:
    """Sends `content` in pieces; after each the connection breaks, until all of it is there."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces, self.calls = list(pieces), 0

    def __call__(self, path: Path) -> None:
        self.calls += 1
        with path.open("ab") as file:
            file.write(self.pieces.pop(0))
        if self.pieces:
            raise _CutError


def _fetch(folder: Path, send: _Sender, wanted: bytes = b"whole") -> str:
    def check(path: Path, _: None) -> str:
        return "" if path.read_bytes() == wanted else "wrong"

    return download(folder / "part", folder / "whole", send, check, _CutError)


def test_a_download_goes_on_while_it_grows(tmp_path: Path) -> None:
    """Each broken connection is continued; one that brings nothing ends it, and what came is kept."""
    assert _fetch(tmp_path, _Sender(b"wh", b"ole")) == ""
    assert (tmp_path / "whole").read_bytes() == b"whole"
    (tmp_path / "whole").unlink()
    with pytest.raises(_CutError):
        _fetch(tmp_path, _Sender(b"wh", b"", b"ole"))
    assert (tmp_path / "part").read_bytes() == b"wh"
    assert _fetch(tmp_path, _Sender(b"ole")) == ""


def test_a_wrong_download_is_repeated_once(tmp_path: Path) -> None:
    """Then the reason is returned, and nothing is left."""

    class _Wrong(_Sender):
        def __call__(self, path: Path) -> None:
            self.calls += 1
            path.write_bytes(b"other")

    wrong = _Wrong()
    assert _fetch(tmp_path, wrong) == "wrong"
    assert wrong.calls == 2
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    """Nothing is downloaded."""
    (tmp_path / "whole").write_bytes(b"before")
    send = _Sender(b"whole")
    assert _fetch(tmp_path, send) == ""
    assert send.calls == 0
