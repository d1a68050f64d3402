"""Messages of requests are kept once each, beside the log of their work."""

from pathlib import Path

from comind.campaign.log.messages import MessageStore, messages_file, read_messages
from comind.campaign.log.work_events import WORK_EVENTS, CallSent
from comind.eventlog.log import read_log
from comind.llm.model_ports import Message
from tests.unit.campaign.world import World


def _user(content: str) -> Message:
    return Message(role="user", content=content)


def test_a_conversation_costs_its_length(tmp_path: Path) -> None:
    """Thirty requests, each with all messages before it, are one line a message."""
    path = tmp_path / "messages.jsonl"
    store, conversation = MessageStore(path), list[Message]()
    for step in range(30):
        conversation.append(_user(f"step {step} " + "x" * 1_000))
        ids = store.keep(conversation)
    assert len(path.read_text().splitlines()) == 30
    assert path.stat().st_size < 30 * 1_200
    known = read_messages(path)
    assert [known[each] for each in ids] == conversation


def test_a_store_goes_on_after_a_kill(tmp_path: Path) -> None:
    """An incomplete last line is skipped and written again; what is known is not."""
    path = tmp_path / "messages.jsonl"
    MessageStore(path).keep([_user("one"), _user("two")])
    path.write_bytes(path.read_bytes()[:-5])
    ids = MessageStore(path).keep([_user("one"), _user("two")])
    assert [read_messages(path)[each].content for each in ids] == ["one", "two"]
    assert len(path.read_text().splitlines()) == 3


def test_a_huge_message_is_kept_without_its_middle(tmp_path: Path) -> None:
    """Beginning and end are there, and how much is left out."""
    path = tmp_path / "messages.jsonl"
    (name,) = MessageStore(path).keep([_user("a" * 300_000 + "b" * 300_000)])
    content = read_messages(path)[name].content
    assert content.startswith("a" * 200_000 + "\n[... 200,000 characters left out ...]\nb")
    assert len(content) < 400_100


def test_requests_that_differ_say_where(tmp_path: Path) -> None:
    """The first line that differs is named, as it was recorded and as it is now."""
    store = MessageStore(tmp_path / "messages.jsonl")
    old = store.keep([_user("rules"), _user("one\ntwo\nthree")])
    assert store.difference(old, store.keep([_user("rules"), _user("one\nzwei\nthree")])) == (
        "message 2 (user) differs in line 2: recorded 'two', now 'zwei'"
    )
    assert store.difference(old, old[:1]) == "the request has 1 messages instead of 2"
    assert store.difference(old, old) == "its messages are the same, its settings differ"
    assert store.difference((), old) == ""


def test_every_request_of_a_campaign_has_its_messages(tmp_path: Path) -> None:
    """The event of a call names its messages; a resumed campaign adds none."""
    world = World(tmp_path)
    world.run(world.campaign())
    sent = 0
    for log in world.folder.logs():
        messages = read_messages(messages_file(log))
        for record in read_log(log, WORK_EVENTS):
            if isinstance(record.event, CallSent):
                sent += 1
                assert record.event.messages
                assert set(record.event.messages) <= messages.keys()
    assert sent
