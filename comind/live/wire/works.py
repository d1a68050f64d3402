"""What is answered about notebooks and datasets, in the client's types."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from comind.domain.community import Dataset, Notebook
from comind.live.wire.types import (
    DatabundleVersionStatus,
    DatasetInfo,
    Json,
    KernelWorkerStatus,
    SettingsLicense,
    datasets,
    kernels,
    made,
    number,
    utc,
    written,
)

__all__ = [
    "dataset",
    "dataset_files",
    "dataset_list",
    "dataset_metadata",
    "dataset_status",
    "notebook",
    "notebook_files",
    "notebook_output",
    "notebook_status",
    "notebook_with_source",
    "notebooks",
]


def notebook(name: str, found: Notebook) -> Any:
    """Return what is known of a notebook, an object; its public score is nowhere told."""
    return made(
        kernels.ApiKernelMetadata,
        id=number(name, "notebook", found.ref),
        ref=found.ref,
        title=found.title,
        author=found.author,
        slug=found.ref.split("/")[1],
        last_run_time=found.created_at,
        language=found.language,
        kernel_type="script",
        is_private=False,
        dataset_data_sources=list(found.datasets),
        kernel_data_sources=list(found.notebooks),
        competition_data_sources=[name],
        total_votes=found.votes,
        current_version_number=found.version,
    )


def notebooks(found: Sequence[Any], token: str) -> Json:
    """Return a page of notebooks."""
    return written(kernels.ApiListKernelsResponse, kernels=list(found), next_page_token=token)


def notebook_with_source(name: str, found: Notebook) -> Json:
    """Return a notebook with its program."""
    blob = made(
        kernels.ApiKernelBlob,
        source=found.source,
        language=found.language,
        kernel_type="script",
        slug=found.ref.split("/")[1],
    )
    return written(kernels.ApiGetKernelResponse, metadata=notebook(name, found), blob=blob)


def notebook_files(found: Iterable[tuple[str, int, datetime]], token: str) -> Json:
    """Return a page of what a notebook left behind: name, bytes, time."""
    listed = [
        made(kernels.ApiListKernelFilesItem, name=name, size=size, creation_date=f"{utc(time)}Z")
        for name, size, time in found
    ]
    return written(kernels.ApiListKernelFilesResponse, files=listed, next_page_token=token)


def notebook_output(found: Iterable[tuple[str, str]], token: str) -> Json:
    """Return a page of what a notebook left behind: name, address."""
    listed = [made(kernels.ApiKernelSessionOutputFile, file_name=name, url=url) for name, url in found]
    kind = kernels.ApiListKernelSessionOutputResponse
    return written(kind, files=listed, next_page_token=token)


def notebook_status() -> Json:
    """Return that a notebook has run to its end."""
    kind = kernels.ApiGetKernelSessionStatusResponse
    return written(kind, status=KernelWorkerStatus.COMPLETE)


def dataset(name: str, found: Dataset, total_bytes: int) -> Any:
    """Return what is known of a dataset, an object."""
    owner = found.ref.split("/")[0]
    return made(
        datasets.ApiDataset,
        id=number(name, "dataset", found.ref),
        ref=found.ref,
        title=found.title,
        creator_name=owner,
        owner_name=owner,
        owner_ref=owner,
        total_bytes=total_bytes,
        last_updated=found.published_at,
        license_name=found.licence,
        current_version_number=found.version,
    )


def dataset_list(found: Sequence[Any], token: str) -> Json:
    """Return a page of datasets."""
    return written(datasets.ApiListDatasetsResponse, datasets=list(found), next_page_token=token)


def dataset_metadata(name: str, found: Dataset) -> Json:
    """Return a dataset's description."""
    owner, slug = found.ref.split("/")
    info = made(
        DatasetInfo,
        dataset_id=number(name, "dataset", found.ref),
        dataset_slug=slug,
        owner_user=owner,
        title=found.title,
        licenses=[made(SettingsLicense, name=found.licence)] if found.licence else None,
    )
    return written(datasets.ApiGetDatasetMetadataResponse, info=info)


def dataset_files(found: Iterable[tuple[str, int, datetime]], token: str) -> Json:
    """Return a page of a dataset's files: name, bytes, time."""
    listed = [
        made(datasets.ApiDatasetFile, ref=name, name=name, total_bytes=size, creation_date=time)
        for name, size, time in found
    ]
    kind = datasets.ApiListDatasetFilesResponse
    return written(kind, dataset_files=listed, next_page_token=token)


def dataset_status() -> Json:
    """Return that a dataset can be used."""
    kind = datasets.ApiGetDatasetStatusResponse
    return written(kind, status=DatabundleVersionStatus.READY)
