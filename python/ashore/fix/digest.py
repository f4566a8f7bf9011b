"""The digest by which two states of a file are told apart."""

from __future__ import annotations

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL: milliseconds at every start
except ImportError:
    from hashlib import blake2b


def digest_of(content: bytes) -> str:
    """Return the digest of a content."""
    return blake2b(content, digest_size=16).hexdigest()
