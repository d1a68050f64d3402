"""The flow that imports community data into a store, and versions the store."""

from pathlib import Path

from prefect import flow

from comind.app.inputs import version_store
from comind.community.store.folder_import import ingest_folder, ingest_listing
from comind.community.store.importing import ImportResult
from comind.community.store.meta_kaggle import ingest_dump, set_code_folder


# Errors of input are permanent, and an import that was killed continues by content.
@flow(flow_run_name="ingest into {store}", persist_result=False, retries=0)
def ingest(
    project: Path,
    store: Path,
    competition: str | None = None,
    folder: Path | None = None,
    listing: Path | None = None,
    meta_kaggle: Path | None = None,
    code: Path | None = None,
) -> tuple[list[ImportResult], str]:
    """Import community data, each source once; returns the imports and the hash of the store in DVC.

    Args:
        project: folder of the project; a store outside of it is not versioned.
        store: folder of the store.
        competition: its name on Kaggle; required for `folder` and `listing`.
        folder: a community folder.
        listing: a JSON list of notebooks, without code.
        meta_kaggle: folder of Meta Kaggle's CSV files, all competitions.
        code: folder of Meta Kaggle Code, which is referenced, not copied.

    Raises:
        CommunityError: a source is invalid.
        OrchestrationError: DVC fails.
    """
    done: list[ImportResult] = []
    if meta_kaggle is not None:
        done.append(ingest_dump(store, meta_kaggle))
    if folder is not None and competition:
        done.append(ingest_folder(store, folder, competition))
    if listing is not None and competition:
        done.append(ingest_listing(store, listing, competition))
    if code is not None:
        set_code_folder(store, code)
    return done, version_store(project, store)
