"""The safetensors format: a header in JSON with names, kinds and places, then the numbers."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import torch

from sottovoce.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

_KINDS = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
_ALIGNED = 8


def packed(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """A file's content: the header's length in eight bytes, the header, the numbers, all little-endian."""
    if sys.byteorder != "little":
        raise DataError("safetensors files are written on little-endian machines only.")
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    content = bytearray()
    for name, held in tensors.items():
        kind = _KINDS.get(held.dtype)
        if kind is None:
            raise DataError(f"the tensor {name!r} has a kind of number that safetensors files cannot hold.")
        raw = held.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        header[name] = {
            "dtype": kind,
            "shape": list(held.shape),
            "data_offsets": [len(content), len(content) + len(raw)],
        }
        content += raw
    text = json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNED)
    return len(text).to_bytes(8, "little") + text + bytes(content)
