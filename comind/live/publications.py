"""Routes of what people published: notebooks, discussions and datasets, as of the world's time."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from comind.domain.community import NEVER, Comment, Dataset, Discussion, Notebook
from comind.live import objects, wire
from comind.live.catalogue import Hosted
from comind.live.files import PlainFiles
from comind.live.routes import Answer, Asker, Handlers, RouteError, Shown, Ticket, page_of

__all__ = ["DatasetRoutes", "DiscussionRoutes", "NotebookRoutes"]

_DAY = 86_400
_DEEPEST = 10


@dataclass(frozen=True)
class NotebookRoutes:
    """The methods of the client's notebook service, which it calls kernels."""

    _shown: Shown

    def _list(self, asked: Any, _asker: Asker) -> Answer:
        if asked.competition:
            hosts: Iterable[Hosted] = [self._shown.find(asked.competition)]
        else:
            hosts = self._shown.hosted.values()
        words = (asked.search or "").lower().split()
        found = [
            (host, notebook)
            for host in hosts
            for notebook in host.world.view().notebooks
            if asked.user in ("", None, notebook.ref.split("/")[0])
            and asked.language in ("", None, "all", notebook.language.lower())
            and asked.kernel_type in ("", None, "all", "script")
            and (not asked.dataset or asked.dataset in notebook.datasets)
            and (not asked.parent_kernel or asked.parent_kernel == notebook.forked_from)
            and all(word in f"{notebook.ref} {notebook.title}".lower() for word in words)
        ]
        found.sort(key=lambda pair: _order(asked.sort_by.name, *pair))
        page, token = page_of(found, asked)
        listed = [objects.notebook(host.id, notebook) for host, notebook in page]
        return wire.answer("ListKernels", kernels=listed, next_page_token=token)

    def _get(self, asked: Any, _asker: Asker) -> Answer:
        hosted, notebook = self._find(asked)
        metadata = objects.notebook(hosted.id, notebook)
        return wire.answer("GetKernel", metadata=metadata, blob=objects.notebook_program(notebook))

    def _find(self, asked: Any) -> tuple[Hosted, Notebook]:
        """Return a notebook by its owner, its name and perhaps `/version`."""
        slug, _, in_slug = asked.kernel_slug.partition("/")
        version = in_slug or asked.version_label or ""
        ref = f"{asked.user_name}/{slug}"
        for hosted in self._shown.hosted.values():
            world = hosted.world
            moment = world.clock.moment
            if version:
                number = int(version) if version.isdecimal() and version.isascii() else -1
                found = world.community.version(ref, number, moment)
            else:
                listed = world.community.view(moment).notebooks
                current = next((each for each in listed if each.ref == ref), None)
                found = current and world.community.version(ref, current.version, moment)
            if found is not None:
                return hosted, found
        raise RouteError(404, "Notebook not found")

    def _left(self, asked: Any) -> tuple[Hosted, Notebook, PlainFiles | None]:
        hosted, notebook = self._find(asked)
        files = hosted.world.community.output_files(notebook.ref, notebook.version)
        return hosted, notebook, files

    def _files(self, asked: Any, _asker: Asker) -> Answer:
        hosted, _, files = self._left(asked)
        page, token = page_of(hosted.facts(files) if files else [], asked)
        listed = [objects.notebook_file(each) for each in page]
        return wire.answer("ListKernelFiles", files=listed, next_page_token=token)

    def _output(self, asked: Any, asker: Asker) -> Answer:
        hosted, notebook, files = self._left(asked)
        page, token = page_of(files.names() if files else [], asked)
        tickets = (
            Ticket("output", hosted.id, notebook.ref, name, version=notebook.version) for name in page
        )
        kind = wire.kernels.ApiKernelSessionOutputFile
        listed = [wire.made(kind, file_name=each.name, url=asker.link(each)) for each in tickets]
        return wire.answer("ListKernelSessionOutput", files=listed, next_page_token=token)

    def _status(self, asked: Any, _asker: Asker) -> Answer:
        self._find(asked)
        return wire.answer("GetKernelSessionStatus", status=wire.KernelWorkerStatus.COMPLETE)

    ROUTES: ClassVar[Handlers] = {
        "kernels.KernelsApiService/ListKernels": _list,
        "kernels.KernelsApiService/GetKernel": _get,
        "kernels.KernelsApiService/ListKernelFiles": _files,
        "kernels.KernelsApiService/ListKernelSessionOutput": _output,
        "kernels.KernelsApiService/GetKernelSessionStatus": _status,
    }


@dataclass(frozen=True)
class DiscussionRoutes:
    """The methods for discussions, of the client's competition service and of its forum service."""

    _shown: Shown

    def _of_competition(self, asked: Any, _asker: Asker) -> Answer:
        hosted = self._shown.find(asked.competition_name)
        found = sorted(hosted.world.view().discussions, key=_topic_order(asked.sort_by.name, hosted))
        page, _ = page_of(found, asked)
        listed = [objects.topic_of_competition(hosted.id, topic) for topic in page]
        return wire.answer("ListCompetitionTopics", topics=listed, total_count=len(found))

    def _messages(self, asked: Any, _asker: Asker) -> Answer:
        hosted, topic = self._find(asked.topic_id, asked.competition_name)
        branches = _tree(topic.comments, asked.sort_by.name)
        page, _ = page_of(branches, asked)
        return wire.answer("ListTopicMessages", messages=objects.messages(hosted.id, topic, page))

    def _list(self, asked: Any, _asker: Asker) -> Answer:
        words = (asked.search_query or "").lower().split()
        found = [
            (hosted, topic)
            for hosted in self._shown.hosted.values()
            if asked.forum_slug in ("", None, hosted.id)
            for topic in hosted.world.view().discussions
            if all(word in f"{topic.title} {topic.body}".lower() for word in words)
        ]
        found.sort(key=lambda pair: _topic_order(asked.sort_by.name, pair[0])(pair[1]))
        page, token = page_of(found, asked)
        listed = [objects.topic(h.id, topic) for h, topic in page]
        return wire.answer("ListTopics", topics=listed, total_count=len(found), next_page_token=token)

    def _get(self, asked: Any, _asker: Asker) -> Answer:
        hosted, topic = self._find(asked.id)
        return wire.answer("GetTopic", topic=objects.topic(hosted.id, topic))

    def _comments(self, asked: Any, _asker: Asker) -> Answer:
        hosted, topic = self._find(asked.topic_id)
        page, token = page_of(_tree(topic.comments, ""), asked)
        listed = [objects.comment(hosted.id, branch) for branch in page]
        return wire.answer("ListComments", comments=listed, next_page_token=token)

    def _find(self, number: int, competition: str = "") -> tuple[Hosted, Discussion]:
        """Return a discussion by the client's number, of one competition or of any."""
        hosts = [self._shown.find(competition)] if competition else self._shown.hosted.values()
        for hosted in hosts:
            for topic in hosted.world.community.view(hosted.world.clock.moment).discussions:
                if wire.number(hosted.id, "topic", topic.id) == number:
                    return hosted, topic
        raise RouteError(404, "Topic not found")

    ROUTES: ClassVar[Handlers] = {
        "competitions.CompetitionApiService/ListCompetitionTopics": _of_competition,
        "competitions.CompetitionApiService/ListTopicMessages": _messages,
        "discussions.DiscussionApiService/ListTopics": _list,
        "discussions.DiscussionApiService/GetTopic": _get,
        "discussions.DiscussionApiService/ListComments": _comments,
    }


@dataclass(frozen=True)
class DatasetRoutes:
    """The methods of the client's dataset service."""

    _shown: Shown

    def _list(self, asked: Any, _asker: Asker) -> Answer:
        words = (asked.search or "").lower().split()
        found = {
            dataset.ref: (hosted, dataset)
            for hosted in self._shown.hosted.values()
            for dataset in hosted.world.view().datasets
            if asked.user in ("", None, dataset.ref.split("/")[0])
            and all(word in f"{dataset.ref} {dataset.title}".lower() for word in words)
        }
        newest = sorted(found.values(), key=lambda pair: pair[1].published_at or NEVER, reverse=True)
        page, token = page_of(newest, asked)
        listed = [self._facts(*pair) for pair in page]
        return wire.answer("ListDatasets", datasets=listed, next_page_token=token)

    def _get(self, asked: Any, _asker: Asker) -> Answer:
        return wire.one(self._facts(*self._find(asked)))

    def _facts(self, hosted: Hosted, dataset: Dataset) -> Any:
        files = self._files_of(hosted, dataset)
        size = sum(size for _, size, _ in hosted.facts(files)) if files else 0
        return objects.dataset(hosted.id, dataset, size)

    def _find(self, asked: Any) -> tuple[Hosted, Dataset]:
        ref = f"{asked.owner_slug}/{asked.dataset_slug}"
        for hosted in self._shown.hosted.values():
            for dataset in hosted.world.community.view(hosted.world.clock.moment).datasets:
                if dataset.ref == ref:
                    return hosted, dataset
        raise RouteError(404, "Dataset not found")

    def _files_of(self, hosted: Hosted, dataset: Dataset) -> PlainFiles | None:
        world = hosted.world
        return world.community.dataset_files(dataset.ref, world.clock.moment)

    def _metadata(self, asked: Any, _asker: Asker) -> Answer:
        hosted, dataset = self._find(asked)
        return wire.answer("GetDatasetMetadata", info=objects.dataset_info(hosted.id, dataset))

    def _status(self, asked: Any, _asker: Asker) -> Answer:
        self._find(asked)
        return wire.answer("GetDatasetStatus", status=wire.DatabundleVersionStatus.READY)

    def _files(self, asked: Any, _asker: Asker) -> Answer:
        hosted, dataset = self._of_version(asked)
        files = self._files_of(hosted, dataset)
        page, token = page_of(hosted.facts(files) if files else [], asked)
        listed = [objects.data_file(wire.datasets.ApiDatasetFile, each) for each in page]
        return wire.answer("ListDatasetFiles", dataset_files=listed, next_page_token=token)

    def _download(self, asked: Any, _asker: Asker) -> Answer:
        hosted, dataset = self._of_version(asked)
        files = self._files_of(hosted, dataset)
        name = asked.file_name or ""
        if files is None or (name and files.find(name) is None):
            raise RouteError(404, "File not found")
        return Ticket("dataset", hosted.id, dataset.ref, name)

    def _of_version(self, asked: Any) -> tuple[Hosted, Dataset]:
        """Return a dataset, of which only the current version is kept."""
        hosted, dataset = self._find(asked)
        if asked.dataset_version_number not in (None, 0, dataset.version):
            raise RouteError(404, "Dataset version not found")
        return hosted, dataset

    ROUTES: ClassVar[Handlers] = {
        "datasets.DatasetApiService/ListDatasets": _list,
        "datasets.DatasetApiService/GetDataset": _get,
        "datasets.DatasetApiService/GetDatasetMetadata": _metadata,
        "datasets.DatasetApiService/GetDatasetStatus": _status,
        "datasets.DatasetApiService/ListDatasetFiles": _files,
        "datasets.DatasetApiService/DownloadDataset": _download,
    }


def _order(sort_by: str, hosted: Hosted, notebook: Notebook) -> tuple[Any, ...]:
    """Return the place of a notebook in the order asked for; names settle what is equal."""
    time = notebook.created_at or NEVER
    name = (hosted.id, notebook.ref)
    if sort_by in ("DATE_CREATED", "DATE_RUN"):
        return (-time.timestamp(), name)
    if sort_by in ("SCORE_ASCENDING", "SCORE_DESCENDING"):
        score = notebook.public_score
        sign = 1 if sort_by == "SCORE_ASCENDING" else -1
        return (score is None, sign * (score or 0.0), name)
    if sort_by == "HOTNESS":
        return (-_heat(notebook.votes, notebook.created_at, hosted), name)
    return (-notebook.votes, name)


def _heat(votes: int, time: datetime | None, hosted: Hosted) -> float:
    """Return votes that fade with age; of this order at Kaggle nothing more is known."""
    days = (hosted.world.clock.now() - (time or NEVER)).total_seconds() / _DAY
    return (votes + 1) / (max(0.0, days) + 2)


def _topic_order(sort_by: str, hosted: Hosted) -> Callable[[Discussion], tuple[Any, ...]]:
    def place(topic: Discussion) -> tuple[Any, ...]:
        posted = (topic.posted_at or NEVER).timestamp()
        last = (objects.last_word(topic) or NEVER).timestamp()
        worth = {
            "TOPIC_LIST_SORT_BY_TOP": topic.votes,
            "TOPIC_LIST_SORT_BY_NEW": posted,
            "TOPIC_LIST_SORT_BY_RECENT": last,
            "TOPIC_LIST_SORT_BY_ACTIVE": last,
        }.get(sort_by)
        heat = _heat(topic.votes + len(topic.comments), topic.posted_at, hosted)
        return (-(heat if worth is None else worth), hosted.id, topic.id)

    return place


def _tree(comments: Sequence[Comment], sort_by: str) -> list[objects.Branch]:
    """Return the comments as a tree; those that only answer each other stand by themselves.

    Deeper than the client is ever given, answers stand beside what they answer.
    """
    answers: dict[str | None, list[Comment]] = {}
    for comment in comments:
        answers.setdefault(comment.parent, []).append(comment)
    placed: set[str] = set()

    def grow(seeds: Sequence[Comment], depth: int) -> list[objects.Branch]:
        grown: list[objects.Branch] = []
        waiting = deque(seeds)
        while waiting:
            comment = waiting.popleft()
            if comment.id in placed:
                continue
            placed.add(comment.id)
            below = answers.get(comment.id, ())
            if depth < _DEEPEST:
                grown.append((comment, grow(below, depth + 1)))
            else:
                grown.append((comment, ()))
                waiting.extend(below)
        return grown

    found = [*grow(answers.get(None, ()), 1), *grow(comments, 1)]
    if sort_by.endswith("NEW"):
        found.reverse()
    elif sort_by.endswith(("TOP", "HOT")):
        found.sort(key=lambda pair: -pair[0].votes)
    return found
