"""Encode pictures that cells wrote for models; a replay returns the same bytes."""

import hashlib

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.work_events import PictureShown
from comind.campaign.work.recorder import Recorder, ReplayDivergedError
from comind.errors import SubmissionError
from comind.llm.images import read_image
from comind.system.files import read_untrusted, write_atomically

_MOST_BYTES = 32 << 20


def show_picture(recorder: Recorder, folder: WorkFolder, path: str) -> PictureShown:
    """Encode a file of the working directory and keep it in `folder`; see `CodeContext.show`.

    Raises:
        ReplayDivergedError: the kept file was changed.
    """
    asked = PictureShown(ordinal=recorder.next_ordinal(), path=path)

    def encode() -> PictureShown:
        try:
            image = read_image(read_untrusted(folder.workspace, path, limit=_MOST_BYTES), path)
        except SubmissionError as error:
            return asked.model_copy(update={"refused": str(error)})
        except ValueError as error:
            return asked.model_copy(update={"refused": f"{path} {error}"})
        write_atomically(folder.picture(image.sha256), image.data)
        return asked.model_copy(update={"image": image})

    shown = recorder.effect(asked, PictureShown, encode)
    if shown.image is None or shown.image.data:
        return shown
    kept = folder.picture(shown.image.sha256)
    data = kept.read_bytes() if kept.is_file() else b""
    if hashlib.sha256(data).hexdigest() != shown.image.sha256:
        raise ReplayDivergedError(f"{kept} was changed after a model was shown it")
    return shown.model_copy(update={"image": shown.image.model_copy(update={"data": data})})
