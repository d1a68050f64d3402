"""Bytes from a sandbox can neither crash, exhaust nor block the host."""

import resource
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.session.channel import Channel, ChannelError, Frame
from comind.session.inside.driver import FRAME_BYTES, HEADER


def _pair() -> tuple[Channel, socket.socket]:
    ours, theirs = socket.socketpair()
    return Channel(ours), theirs


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    """Both ends of a channel."""
    link, theirs = _pair()
    yield link, theirs
    link.close()
    theirs.close()


def _frame(kind: bytes, number: int, data: bytes) -> bytes:
    return HEADER.pack(kind, number, len(data)) + data


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=1), st.integers(0, 9), st.binary(max_size=50))))
def test_frames_come_as_they_were_sent(frames: list[tuple[bytes, int, bytes]]) -> None:
    """Frames in any pieces are received whole and in order; invalid UTF-8 is replaced."""
    link, theirs = _pair()
    sent = b"".join(_frame(*frame) for frame in frames)
    for start in range(0, len(sent), 7):
        theirs.sendall(sent[start : start + 7])
    for kind, number, data in frames:
        assert link.receive(1) == Frame(kind, number, data.decode("utf-8", "replace"))
    assert link.receive(0) is None
    link.close()
    theirs.close()


@given(st.binary(max_size=400))
def test_noise_is_frames_or_an_error(noise: bytes) -> None:
    """Random bytes give frames, a timeout or ChannelError, and nothing else."""
    link, theirs = _pair()
    theirs.sendall(noise)
    theirs.close()
    with pytest.raises(ChannelError):
        _read_on(link)
    link.close()


def _read_on(link: Channel) -> None:
    while True:
        assert link.receive(0.1) is not None


def test_a_giant_is_refused_before_it_comes(ends: tuple[Channel, socket.socket]) -> None:
    """A frame whose stated length exceeds the limit is refused before its content arrives."""
    link, theirs = ends
    theirs.sendall(HEADER.pack(b"O", 1, FRAME_BYTES + 1))
    with pytest.raises(ChannelError, match="not in order"):
        link.receive(5)


def test_a_frame_byte_by_byte_does_not_exceed_the_timeout(ends: tuple[Channel, socket.socket]) -> None:
    """A frame that arrives byte by byte does not exceed the timeout of `receive`."""
    link, theirs = ends
    stop = threading.Event()

    def drip() -> None:
        theirs.sendall(HEADER.pack(b"O", 1, 1_000))
        while not stop.wait(0.005):
            theirs.sendall(b"x")

    thread = threading.Thread(target=drip)
    thread.start()
    begun = time.monotonic()
    assert link.receive(0.3) is None
    assert time.monotonic() - begun < 2
    stop.set()
    thread.join()


def test_a_flood_takes_little_time_and_no_memory(ends: tuple[Channel, socket.socket]) -> None:
    """A flood of seconds takes a bounded part of time and memory."""
    link, theirs = ends
    theirs.settimeout(0.2)
    stop = threading.Event()
    packet = _frame(b"O", 1, b"x" * 60_000)

    def shout() -> None:
        while not stop.is_set():
            try:
                theirs.sendall(packet)
            except TimeoutError:
                return

    thread = threading.Thread(target=shout)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    thread.start()
    taken, begun = 0, time.monotonic()
    while time.monotonic() - begun < 2:
        frame = link.receive(0.1)
        taken += len(frame.text) if frame else 0
    stop.set()
    thread.join()
    assert 0 < taken < (80 << 20)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < (64 << 10)


def test_somebody_who_does_not_listen_is_given_up(ends: tuple[Channel, socket.socket]) -> None:
    """Sending times out if the other end does not read."""
    link, _ = ends
    with pytest.raises(ChannelError, match="does not listen"):
        link.send(b"X", 1, "x" * (1 << 24), seconds=0.3)
