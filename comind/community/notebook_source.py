"""Load the source code of untrusted notebooks as one sanitized script."""

from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from comind.community.noise import strip_noise
from comind.community.sanitize import sanitize
from comind.domain.value import Value
from comind.errors import SubmissionError
from comind.system.files import read_untrusted

_SOURCE_LENGTH = 200_000
"""Characters of a notebook's source that are kept; without images, few are longer."""

_MAX_BYTES = 64 << 20
_READ_LENGTH = 20 * _SOURCE_LENGTH  # more than is kept: embedded images are long
_BINARY_SHARE = 0.1


def load_source(folder: Path, path: str) -> str:
    """Load the notebook or script at `folder/path`, at most 64 MiB; Jupyter's JSON by its suffix.

    Raises:
        OSError: it is not a regular file of that size within the folder.
        ValueError: it is not valid Jupyter JSON.
    """
    try:
        data = read_untrusted(folder, path, limit=_MAX_BYTES)
    except (SubmissionError, OSError, ValueError):
        reason = f"no plain file of at most {_MAX_BYTES >> 20} MiB within the folder"
        raise OSError(reason) from None
    text = _decode(data)
    if PurePosixPath(path).suffix.lower() in (".ipynb", ".irnb"):
        return sanitize_source(text)
    return _sanitize_script(text)


def sanitize_source(text: str) -> str:
    """Return a script, or a notebook in Jupyter's JSON as one, without images and noise in comments.

    Raises:
        ValueError: it looks like Jupyter's JSON and is invalid.
    """
    if not text.lstrip().startswith("{"):
        return _sanitize_script(text)
    try:
        notebook = _Notebook.model_validate_json(text)
    except ValidationError:
        raise ValueError("is not a Jupyter notebook") from None
    return _sanitize_script("\n\n".join(_cell_script(cell) for cell in notebook.cells) + "\n")


class _Cell(Value, extra="ignore"):
    cell_type: str
    source: str | tuple[str, ...] = ""

    @property
    def text(self) -> str:
        return self.source if isinstance(self.source, str) else "".join(self.source)


class _Notebook(Value, extra="ignore"):
    cells: tuple[_Cell, ...]


def _cell_script(cell: _Cell) -> str:
    lines = cell.text.splitlines()
    if cell.cell_type != "code":
        return "\n".join(["# %% [markdown]", *(f"# {line}".rstrip() for line in lines)])
    # Magics and shell commands are not Python; as comments they still document the notebook.
    return "\n".join(
        ["# %%", *(f"# {ln}" if ln.lstrip().startswith(("%", "!")) else ln for ln in lines)]
    )


def _sanitize_script(text: str) -> str:
    return sanitize(strip_noise(text[:_READ_LENGTH], comments_only=True), _SOURCE_LENGTH)


def _decode(data: bytes) -> str:
    """Decode UTF-8 with replacement characters; binary data become a one-line placeholder."""
    text = data.decode("utf-8-sig", errors="replace")
    head = text[:_SOURCE_LENGTH]
    invalid = head.count("\ufffd") + sum(not c.isprintable() and c not in "\n\r\t" for c in head)
    if invalid > _BINARY_SHARE * len(head):
        return f"# [{len(data)} bytes that are not text]\n"
    return text
