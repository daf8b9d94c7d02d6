"""Addresses that keep locality and reuse, and lose their place (`docs/spec/fit.md` 13.6)."""

from __future__ import annotations

import hashlib
import secrets

__all__ = ["Shuffle"]

EXTENT_BYTES = 1 << 20
_ROUNDS = 6


class Shuffle:
    """A keyed permutation of the extents of a device: a Feistel network that walks its cycles.

    A request that crosses the end of its extent keeps its length.
    """

    def __init__(self, size_bytes: int, key: bytes | None = None) -> None:
        """Take the size of the device, and a key that is not kept anywhere."""
        self.extents = max(1, -(-size_bytes // EXTENT_BYTES))
        self._key = secrets.token_bytes(32) if key is None else key
        self._half = max(1, (self.extents - 1).bit_length() + 1 >> 1)
        self._found: dict[int, int] = {}

    def offset(self, offset_bytes: int) -> int:
        """Where an address has gone."""
        extent, within = divmod(offset_bytes, EXTENT_BYTES)
        if extent >= self.extents:
            return offset_bytes
        there = self._found.get(extent)
        if there is None:
            there = self._found[extent] = self._permuted(extent)
        return there * EXTENT_BYTES + within

    def _permuted(self, extent: int) -> int:
        while True:
            extent = self._feistel(extent)
            if extent < self.extents:
                return extent

    def _feistel(self, value: int) -> int:
        half, mask = self._half, (1 << self._half) - 1
        left, right = value >> half, value & mask
        for number in range(_ROUNDS):
            said = number.to_bytes(1, "big") + right.to_bytes(8, "big")
            mixed = hashlib.blake2b(said, key=self._key, digest_size=8).digest()
            left, right = right, left ^ int.from_bytes(mixed, "big") & mask
        return left << half | right
