"""BERT as a network for the ONNX runtime, put together from the weights that the model ships.

The fused operations of the runtime are named directly, so that no pass has to find them again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

import numpy as np

from canonry.adapters.embedders.onnx_messages import (
    Element,
    external_tensor,
    model,
    node,
    value,
)
from canonry.adapters.embedders.safetensors import Tensor

FUSED: Final = "com.microsoft"
IDS: Final = "ids"
MASK: Final = "mask"
POOL: Final = "pool"
OUTPUT: Final = "vectors"
_OPSETS: Final = {"": 17, FUSED: 1}
_STATE: Final = "state0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the weights alone do not tell."""

    dimensions: int
    heads: int
    epsilon: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A model in ONNX form and the constants that belong to it, by name."""

    model: bytes
    constants: Mapping[str, Tensor]


def sentence_encoder(weights: Mapping[str, Tensor], shape: Shape) -> Network:
    """A network from token ids to unit vectors: BERT, the mean over all tokens, length one.

    Inputs: `ids` and `mask` (texts by tokens, 32-bit) and `pool` (texts by 1 by tokens, the weight
    of each token in the mean).

    Raises:
        KeyError: the weights are not those of a BERT encoder.
    """
    encoder = _Encoder(weights, shape)
    encoder.embed()
    state = _STATE
    for number in count():
        if f"encoder.layer.{number}.output.dense.weight" not in weights:
            break
        state = encoder.layer(number, state)
    encoder.add("MatMul", (POOL, state), "mean")
    encoder.add("LpNormalization", ("mean",), OUTPUT, axis=-1, p=2)
    return encoder.network()


class _Encoder:
    def __init__(self, weights: Mapping[str, Tensor], shape: Shape) -> None:
        self._weights = weights
        self._shape = shape
        self._nodes: list[bytes] = []
        self._constants: dict[str, Tensor] = {}

    def add(self, operator: str, inputs: tuple[str, ...], output: str, **attributes: float) -> None:
        self._nodes.append(node(operator, inputs, (output,), attributes=attributes))

    def fused(
        self, operator: str, inputs: tuple[str, ...], *outputs: str, **attributes: float
    ) -> None:
        made = node(operator, inputs, outputs, domain=FUSED, attributes=attributes)
        self._nodes.append(made)

    def embed(self) -> None:
        places = self._weights["embeddings.position_embeddings.weight"]
        kinds = self._weights["embeddings.token_type_embeddings.weight"]
        inputs = (
            IDS,
            "",
            self._constant("words", self._weights["embeddings.word_embeddings.weight"]),
            self._constant("places", places + kinds[0]),
            "",
            *self._norm("embeddings.LayerNorm"),
            MASK,
        )
        self.fused(
            "EmbedLayerNormalization",
            inputs,
            _STATE,
            "lengths",
            epsilon=self._shape.epsilon,
        )

    def layer(self, number: int, state: str) -> str:
        prefix = f"encoder.layer.{number}."
        attended, looked, mixed, wide, bent, narrow, after = (
            f"{name}{number}"
            for name in ("attended", "looked", "mixed", "wide", "bent", "narrow", "after")
        )
        heads = self._shape.heads
        inputs = (state, *self._joined(f"{prefix}attention.self."), "lengths")
        self.fused("Attention", inputs, attended, num_heads=heads)
        looked_bias = self._linear(f"{prefix}attention.output.dense", attended, looked)
        self._add_and_norm(f"{prefix}attention.output.LayerNorm", looked, state, looked_bias, mixed)
        wide_bias = self._linear(f"{prefix}intermediate.dense", mixed, wide)
        self.fused("BiasGelu", (wide, wide_bias), bent)
        narrow_bias = self._linear(f"{prefix}output.dense", bent, narrow)
        self._add_and_norm(f"{prefix}output.LayerNorm", narrow, mixed, narrow_bias, after)
        return after

    def network(self) -> Network:
        tokens: tuple[int | str, ...] = ("texts", "tokens")
        constants = {name: np.ascontiguousarray(t) for name, t in self._constants.items()}
        made = model(
            nodes=self._nodes,
            constants=[external_tensor(k, Element.FLOAT, t.shape) for k, t in constants.items()],
            inputs=[
                value(IDS, Element.INT32, tokens),
                value(MASK, Element.INT32, tokens),
                value(POOL, Element.FLOAT, ("texts", 1, "tokens")),
            ],
            outputs=[value(OUTPUT, Element.FLOAT, ("texts", 1, self._shape.dimensions))],
            opsets=_OPSETS,
        )
        return Network(model=made, constants=constants)

    def _constant(self, name: str, tensor: Tensor) -> str:
        self._constants[name] = tensor
        return name

    def _norm(self, name: str) -> tuple[str, str]:
        return (
            self._constant(f"{name}.weight", self._weights[f"{name}.weight"]),
            self._constant(f"{name}.bias", self._weights[f"{name}.bias"]),
        )

    def _joined(self, prefix: str) -> tuple[str, str]:
        """Queries, keys and values as one matrix, which the fused attention takes."""
        parts = [f"{prefix}{part}" for part in ("query", "key", "value")]
        matrix = np.concatenate([self._weights[f"{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([self._weights[f"{part}.bias"] for part in parts])
        return self._constant(f"{prefix}weight", matrix), self._constant(f"{prefix}bias", bias)

    def _linear(self, name: str, source: str, target: str) -> str:
        """Multiply; the name of the bias, which a fused operation adds afterwards."""
        matrix = self._constant(f"{name}.weight", self._weights[f"{name}.weight"].T)
        self.add("MatMul", (source, matrix), target)
        return self._constant(f"{name}.bias", self._weights[f"{name}.bias"])

    def _add_and_norm(self, name: str, new: str, old: str, bias: str, target: str) -> None:
        inputs = (new, old, *self._norm(name), bias)
        self.fused("SkipLayerNormalization", inputs, target, epsilon=self._shape.epsilon)
