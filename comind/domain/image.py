"""Define a picture that is shown to a model."""

from pydantic import Field

from comind.domain.value import AnyText, Value


class Image(Value):
    """A JPEG picture beside the text of a message; what is recorded has its hash, not its bytes."""

    caption: AnyText
    """What it shows, for the model."""
    width: int = Field(gt=0)
    height: int = Field(gt=0)
    """Both in pixels."""
    sha256: str
    """Of `data`."""
    data: bytes = Field(default=b"", exclude=True, repr=False)
    """The file; empty as read from a log."""
