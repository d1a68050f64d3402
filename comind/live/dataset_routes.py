"""Serve the client's dataset service, as of the simulated time."""

from functools import partial
from typing import Any

from comind.domain.community import NEVER, Dataset
from comind.live.fault_injection import RouteError
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
    FileLink,
    RequestContext,
    RouteResponse,
    RouteTable,
    matches,
    page_response,
)


def _list(request: Any, context: RequestContext) -> RouteResponse:
    found = {
        dataset.ref: (hosted, dataset)
        for hosted in context.catalog.hosted.values()
        for dataset in hosted.world.view().datasets
        if request.user in ("", None, dataset.ref.split("/")[0])
        and matches(request.search, f"{dataset.ref} {dataset.title}")
    }
    newest = sorted(found.values(), key=lambda pair: pair[1].published_at or NEVER, reverse=True)
    return page_response("ListDatasets", "datasets", newest, request, lambda pair: _summary(*pair))


def _get(request: Any, context: RequestContext) -> RouteResponse:
    return to_json(_summary(*_find(request, context)))


def _find(request: Any, context: RequestContext) -> tuple[HostedCompetition, Dataset]:
    ref = f"{request.owner_slug}/{request.dataset_slug}"
    for hosted in context.catalog.hosted.values():
        for dataset in hosted.world.community.view(hosted.world.clock.moment).datasets:
            if dataset.ref == ref:
                return hosted, dataset
    raise RouteError(404, "Dataset not found")


def _metadata(request: Any, context: RequestContext) -> RouteResponse:
    hosted, dataset = _find(request, context)
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


def _status(request: Any, context: RequestContext) -> RouteResponse:
    _find(request, context)
    return response("GetDatasetStatus", status=datasets.DatabundleVersionStatus.READY)


def _files(request: Any, context: RequestContext) -> RouteResponse:
    hosted, dataset = _find_version(request, context)
    files = hosted.stat_files(_files_of(hosted, dataset))
    serialize = partial(file_entry, datasets.ApiDatasetFile)
    return page_response("ListDatasetFiles", "dataset_files", files, request, serialize)


def _download(request: Any, context: RequestContext) -> RouteResponse:
    hosted, dataset = _find_version(request, context)
    files = _files_of(hosted, dataset)
    name = request.file_name or ""
    if files is None or (name and files.find(name) is None):
        raise RouteError(404, "File not found")
    return FileLink("dataset", hosted.id, dataset.ref, name)


def _find_version(request: Any, context: RequestContext) -> tuple[HostedCompetition, Dataset]:
    """Return a dataset; `RouteError` 404 for any but its current version, whose files are kept."""
    hosted, dataset = _find(request, context)
    if request.dataset_version_number not in (None, 0, dataset.version):
        raise RouteError(404, "Dataset version not found")
    return hosted, dataset


def _files_of(hosted: HostedCompetition, dataset: Dataset) -> PlainFiles | None:
    return hosted.world.community.dataset_files(dataset.ref, hosted.world.clock.moment)


def _summary(hosted: HostedCompetition, dataset: Dataset) -> Any:
    owner = dataset.ref.split("/")[0]
    files = hosted.stat_files(_files_of(hosted, dataset))
    return build(
        datasets.ApiDataset,
        id=stable_id(hosted.id, "dataset", dataset.ref),
        ref=dataset.ref,
        title=dataset.title,
        creator_name=owner,
        owner_name=owner,
        owner_ref=owner,
        total_bytes=sum(size for _, size, _ in files),
        last_updated=dataset.published_at,
        license_name=dataset.licence,
        current_version_number=dataset.version,
    )


DATASET_ROUTES: RouteTable = {
    "datasets.DatasetApiService/ListDatasets": _list,
    "datasets.DatasetApiService/GetDataset": _get,
    "datasets.DatasetApiService/GetDatasetMetadata": _metadata,
    "datasets.DatasetApiService/GetDatasetStatus": _status,
    "datasets.DatasetApiService/ListDatasetFiles": _files,
    "datasets.DatasetApiService/DownloadDataset": _download,
}
