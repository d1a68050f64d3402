"""Serve the client's dataset service, as of the simulated time."""

from dataclasses import dataclass
from typing import Any, ClassVar

from comind.domain.community import NEVER, Dataset
from comind.live.hosted import HostedCompetition
from comind.live.kaggle_types import (
    SettingsLicense,
    build,
    datasets,
    file_entry,
    response,
    stable_id,
    to_json,
)
from comind.live.plain_files import PlainFiles
from comind.live.routes import (
    Catalog,
    FileLink,
    RequestContext,
    RouteError,
    RouteResponse,
    RouteTable,
    paginate,
)

__all__ = ["DatasetRoutes"]


@dataclass(frozen=True)
class DatasetRoutes:
    """Handlers of the client's dataset service."""

    _catalog: Catalog

    def _list(self, request: Any, _context: RequestContext) -> RouteResponse:
        words = (request.search or "").lower().split()
        found = {
            dataset.ref: (hosted, dataset)
            for hosted in self._catalog.hosted.values()
            for dataset in hosted.world.view().datasets
            if request.user in ("", None, dataset.ref.split("/")[0])
            and all(word in f"{dataset.ref} {dataset.title}".lower() for word in words)
        }
        newest = sorted(found.values(), key=lambda pair: pair[1].published_at or NEVER, reverse=True)
        page, token = paginate(newest, request)
        listed = [_summary(*pair) for pair in page]
        return response("ListDatasets", datasets=listed, next_page_token=token)

    def _get(self, request: Any, _context: RequestContext) -> RouteResponse:
        return to_json(_summary(*self._find(request)))

    def _find(self, request: Any) -> tuple[HostedCompetition, Dataset]:
        ref = f"{request.owner_slug}/{request.dataset_slug}"
        for hosted in self._catalog.hosted.values():
            for dataset in hosted.world.community.view(hosted.world.clock.moment).datasets:
                if dataset.ref == ref:
                    return hosted, dataset
        raise RouteError(404, "Dataset not found")

    def _metadata(self, request: Any, _context: RequestContext) -> RouteResponse:
        hosted, dataset = self._find(request)
        owner, slug = dataset.ref.split("/")
        licence = build(SettingsLicense, name=dataset.licence)
        info = build(
            datasets.DatasetInfo,
            dataset_id=stable_id(hosted.id, "dataset", dataset.ref),
            dataset_slug=slug,
            owner_user=owner,
            title=dataset.title,
            licenses=[licence] if dataset.licence else None,
        )
        return response("GetDatasetMetadata", info=info)

    def _status(self, request: Any, _context: RequestContext) -> RouteResponse:
        self._find(request)
        return response("GetDatasetStatus", status=datasets.DatabundleVersionStatus.READY)

    def _files(self, request: Any, _context: RequestContext) -> RouteResponse:
        hosted, dataset = self._find_version(request)
        files = _files_of(hosted, dataset)
        page, token = paginate(hosted.stat_files(files) if files else [], request)
        listed = [file_entry(datasets.ApiDatasetFile, *each) for each in page]
        return response("ListDatasetFiles", dataset_files=listed, next_page_token=token)

    def _download(self, request: Any, _context: RequestContext) -> RouteResponse:
        hosted, dataset = self._find_version(request)
        files = _files_of(hosted, dataset)
        name = request.file_name or ""
        if files is None or (name and files.find(name) is None):
            raise RouteError(404, "File not found")
        return FileLink("dataset", hosted.id, dataset.ref, name)

    def _find_version(self, request: Any) -> tuple[HostedCompetition, Dataset]:
        """Return a dataset; `RouteError` 404 for any but its current version, whose files are kept."""
        hosted, dataset = self._find(request)
        if request.dataset_version_number not in (None, 0, dataset.version):
            raise RouteError(404, "Dataset version not found")
        return hosted, dataset

    ROUTES: ClassVar[RouteTable] = {
        "datasets.DatasetApiService/ListDatasets": _list,
        "datasets.DatasetApiService/GetDataset": _get,
        "datasets.DatasetApiService/GetDatasetMetadata": _metadata,
        "datasets.DatasetApiService/GetDatasetStatus": _status,
        "datasets.DatasetApiService/ListDatasetFiles": _files,
        "datasets.DatasetApiService/DownloadDataset": _download,
    }


def _files_of(hosted: HostedCompetition, dataset: Dataset) -> PlainFiles | None:
    return hosted.world.community.dataset_files(dataset.ref, hosted.world.clock.moment)


def _summary(hosted: HostedCompetition, dataset: Dataset) -> Any:
    owner = dataset.ref.split("/")[0]
    files = _files_of(hosted, dataset)
    return build(
        datasets.ApiDataset,
        id=stable_id(hosted.id, "dataset", dataset.ref),
        ref=dataset.ref,
        title=dataset.title,
        creator_name=owner,
        owner_name=owner,
        owner_ref=owner,
        total_bytes=sum(size for _, size, _ in hosted.stat_files(files)) if files else 0,
        last_updated=dataset.published_at,
        license_name=dataset.licence,
        current_version_number=dataset.version,
    )
