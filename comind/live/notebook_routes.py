"""Serve the client's notebook service ("kernels"), as of the simulated time."""

from datetime import datetime
from typing import Any

from comind.domain.community import NEVER, Notebook
from comind.live.fault_injection import RouteError
from comind.live.hosted import HostedCompetition
from comind.live.kaggle_types import build, kernels, response, stable_id, utc
from comind.live.plain_files import PlainFiles
from comind.live.routes import (
    FileLink,
    RequestContext,
    RouteResponse,
    RouteTable,
    hotness,
    matches,
    page_response,
    parse_digits,
)


def _list(request: Any, context: RequestContext) -> RouteResponse:
    found = [
        (host, notebook)
        for host in context.catalog.hosts(request.competition)
        for notebook in host.world.view().notebooks
        if request.user in ("", None, notebook.ref.split("/")[0])
        and request.language in ("", None, "all", notebook.language.lower())
        and request.kernel_type in ("", None, "all", "script")
        and (not request.dataset or request.dataset in notebook.datasets)
        and (not request.parent_kernel or request.parent_kernel == notebook.forked_from)
        and matches(request.search, f"{notebook.ref} {notebook.title}")
    ]
    found.sort(key=lambda pair: _sort_key(request.sort_by.name, *pair))
    return page_response(
        "ListKernels", "kernels", found, request, lambda pair: _metadata(pair[0].id, pair[1])
    )


def _get(request: Any, context: RequestContext) -> RouteResponse:
    hosted, notebook = _find(request, context)
    blob = build(
        kernels.ApiKernelBlob,
        source=notebook.source,
        language=notebook.language,
        kernel_type="script",
        slug=notebook.ref.split("/")[1],
    )
    return response("GetKernel", metadata=_metadata(hosted.id, notebook), blob=blob)


def _find(request: Any, context: RequestContext) -> tuple[HostedCompetition, Notebook]:
    """Return a notebook by owner, slug and optional `/version`; `RouteError` 404 if not visible."""
    slug, _, in_slug = request.kernel_slug.partition("/")
    version = in_slug or (request.version_label or "").removeprefix("v")  # as Kaggle writes them
    ref = f"{request.user_name}/{slug}"
    for hosted in context.catalog.hosted.values():
        world = hosted.world
        moment = world.clock.moment
        if version:
            number = parse_digits(version)
            found = None if number is None else world.community.version(ref, number, moment)
        else:
            listed = world.community.view(moment).notebooks
            current = next((each for each in listed if each.ref == ref), None)
            found = current and world.community.version(ref, current.version, moment)
        if found is not None:
            return hosted, found
    raise RouteError(404, "Notebook not found")


def _find_output(
    request: Any, context: RequestContext
) -> tuple[HostedCompetition, Notebook, PlainFiles | None]:
    hosted, notebook = _find(request, context)
    files = hosted.world.community.output_files(notebook.ref, notebook.version)
    return hosted, notebook, files


def _files(request: Any, context: RequestContext) -> RouteResponse:
    hosted, _, files = _find_output(request, context)
    return page_response("ListKernelFiles", "files", hosted.stat_files(files), request, _file)


def _file(file: tuple[str, int, datetime]) -> Any:
    name, size, time = file
    message_type = kernels.ApiListKernelFilesItem
    return build(message_type, name=name, size=size, creation_date=f"{utc(time)}Z")


def _output(request: Any, context: RequestContext) -> RouteResponse:
    hosted, notebook, files = _find_output(request, context)

    def serialize(name: str) -> Any:
        link = FileLink("output", hosted.id, notebook.ref, name, version=notebook.version)
        message_type = kernels.ApiKernelSessionOutputFile
        return build(message_type, file_name=name, url=context.link(link))

    names = files.names() if files else []
    return page_response("ListKernelSessionOutput", "files", names, request, serialize)


def _download(request: Any, context: RequestContext) -> RouteResponse:
    """Return a file that a version of a notebook wrote, the current one unless it is named."""
    version = f"/{request.version_number}" if request.version_number else ""
    slug = f"{request.kernel_slug}{version}"
    wanted = build(kernels.ApiListKernelFilesRequest, user_name=request.owner_slug, kernel_slug=slug)
    hosted, notebook, files = _find_output(wanted, context)
    name = request.file_path or ""
    if files is None or files.find(name) is None:
        raise RouteError(404, "File not found")
    return FileLink("output", hosted.id, notebook.ref, name, version=notebook.version)


def _status(request: Any, context: RequestContext) -> RouteResponse:
    _find(request, context)
    return response("GetKernelSessionStatus", status=kernels.KernelWorkerStatus.COMPLETE)


def _metadata(competition: str, notebook: Notebook) -> Any:
    """Serialize a notebook's metadata, which never include its public score."""
    return build(
        kernels.ApiKernelMetadata,
        id=stable_id(competition, "notebook", notebook.ref),
        ref=notebook.ref,
        title=notebook.title,
        author=notebook.author,
        slug=notebook.ref.split("/")[1],
        last_run_time=notebook.created_at,
        language=notebook.language,
        kernel_type="script",
        is_private=False,
        dataset_data_sources=list(notebook.datasets),
        kernel_data_sources=list(notebook.notebooks),
        model_data_sources=list(notebook.models),
        competition_data_sources=[competition],
        total_votes=notebook.votes,
        current_version_number=notebook.version,
    )


def _sort_key(sort_by: str, hosted: HostedCompetition, notebook: Notebook) -> tuple[Any, ...]:
    """Return the sort key of a notebook for the requested order; names break ties."""
    time = notebook.created_at or NEVER
    name = (hosted.id, notebook.ref)
    if sort_by in ("DATE_CREATED", "DATE_RUN"):
        return (-time.timestamp(), name)
    if sort_by in ("SCORE_ASCENDING", "SCORE_DESCENDING"):
        score = notebook.public_score
        sign = 1 if sort_by == "SCORE_ASCENDING" else -1
        return (score is None, sign * (score or 0.0), name)
    if sort_by == "HOTNESS":
        return (-hotness(notebook.votes, notebook.created_at, hosted), name)
    return (-notebook.votes, name)


NOTEBOOK_ROUTES: RouteTable = {
    "kernels.KernelsApiService/ListKernels": _list,
    "kernels.KernelsApiService/GetKernel": _get,
    "kernels.KernelsApiService/ListKernelFiles": _files,
    "kernels.KernelsApiService/ListKernelSessionOutput": _output,
    "kernels.KernelsApiService/DownloadKernelOutput": _download,
    "kernels.KernelsApiService/GetKernelSessionStatus": _status,
}
