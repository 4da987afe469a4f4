"""Who wrote a release: an Ed25519 signature of its manifest's digest, beside the manifest in the header.

Checksums find damage, but whoever alters a file can compute them anew. A signature cannot be made without its holder's
key. The manifest's digest covers everything in the file, so it is all that is signed. Readers that know nothing of
signatures read a signed release as any other.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import safe_open

from microtome.errors import OutputError, ParameterError, ReleaseError
from microtome.extras import how_to_install
from microtome.whole_file import whole_file, write_text

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNATURE, KEY = "microtome_signature", "microtome_public_key"
PUBLIC_SUFFIX = ".pub"
_PURPOSE = b"microtome-release-signature-1\n"
"""Signed with every digest, so that a signature made for another purpose is none of a release."""
_LARGEST_KEY = 1 << 16
_OWNER_ONLY = 0o600


@dataclass(frozen=True, kw_only=True, eq=False)
class Signer:
    """Signs releases. Load one before anything is spent, so that a key that cannot be used costs nothing."""

    key: Ed25519PrivateKey

    @classmethod
    def load(cls, path: str | Path) -> Signer:
        """Read a private key, such as ``make_key`` writes."""
        with _cryptography():
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
            from cryptography.hazmat.primitives.serialization import load_pem_private_key
        path, content = Path(path), _read(Path(path))
        if b"PUBLIC KEY" in content:
            raise ParameterError(f"{path}: a public key verifies; sign with the private one")
        try:
            key = load_pem_private_key(content, password=None)
        except TypeError:
            raise ParameterError(f"{path}: the key is encrypted; decrypt it, or make one with {_MAKE}") from None
        except Exception as error:  # the package raises errors of many kinds for a file that is no key
            raise ParameterError(f"{path}: not a private key in PEM form; make one with {_MAKE}") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise ParameterError(f"{path}: a key of another kind; releases are signed with Ed25519: {_MAKE}")
        return cls(key=key)

    def sign(self, path: Path) -> None:
        """Put the signature in the header of a release; the file is replaced, whole."""
        with safe_open(path, framework="numpy") as file:
            digest = file.metadata()["microtome_sha256"]
        signature = self.key.sign(_signed(digest))
        _with_metadata(path, {SIGNATURE: signature.hex(), KEY: _raw(self.key.public_key()).hex()})


_MAKE = "'microtome key make'"


def make_key(path: str | Path, *, force: bool = False) -> str:
    """Make a pair of keys: ``path``, for its owner's eyes only, and ``path.pub``, for everybody.

    Returns:
        The id of the public key.
    """
    with _cryptography():
        from cryptography.hazmat.primitives import serialization as forms
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    path = Path(path)
    public = path.with_name(path.name + PUBLIC_SUFFIX)
    for one in (path, public):
        if one.exists() and not force:
            raise OutputError(f"{one} exists; choose another name, or say --force to replace it (and lose the key)")
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    shown = key.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)
    write_text(path, private.decode("ascii"), mode=_OWNER_ONLY)
    write_text(public, shown.decode("ascii"))
    return key_id(_raw(key.public_key()))


def signed_by(path: Path) -> str | None:
    """The id of the key by which a release says it is signed; nothing is verified. ``None`` if it is not signed."""
    with safe_open(path, framework="numpy") as file:
        stated = file.metadata().get(KEY)
    return None if stated is None else key_id(_from_hex(path, stated))


def verify_signature(path: Path, public_key: str | Path) -> str:
    """Refuse a release that is not signed by the holder of a key; gives the key's id."""
    key = _load_public(Path(public_key))
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    if SIGNATURE not in metadata:
        raise ReleaseError(f"{path}: not signed")
    with _cryptography():
        from cryptography.exceptions import InvalidSignature
    try:
        key.verify(_from_hex(path, metadata[SIGNATURE]), _signed(metadata["microtome_sha256"]))
    except InvalidSignature:
        raise ReleaseError(f"{path}: its signature is not by the key {public_key}") from None
    return key_id(_raw(key))


def key_id(raw: bytes) -> str:
    """A short name of a public key."""
    return hashlib.sha256(raw).hexdigest()[:16]


def _load_public(path: Path) -> Ed25519PublicKey:
    with _cryptography():
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    content = _read(path)
    if b"PRIVATE KEY" in content:
        raise ParameterError(f"{path}: a private key; give the public one, {path}{PUBLIC_SUFFIX}")
    try:
        key = load_pem_public_key(content)
    except Exception as error:  # as above
        raise ParameterError(f"{path}: not a public key in PEM form") from error
    if not isinstance(key, Ed25519PublicKey):
        raise ParameterError(f"{path}: a key of another kind; releases are signed with Ed25519")
    return key


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_KEY)
    except FileNotFoundError:
        raise ParameterError(f"{path}: no such key; make one with {_MAKE}") from None
    except OSError as error:
        raise ParameterError(f"{path}: the key cannot be read: {error.strerror or error}") from error


def _raw(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes_raw()


def _signed(digest: str) -> bytes:
    return _PURPOSE + digest.encode("ascii")


def _from_hex(path: Path, text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ReleaseError(f"{path}: its signature is damaged: {text!r} is no hexadecimal number") from None


def _with_metadata(path: Path, entries: dict[str, str]) -> None:
    """The same safetensors file with more in its metadata; places of tensors count from the header's end, and stay."""
    with path.open("rb") as source, whole_file(path) as file:
        (length,) = struct.unpack("<Q", source.read(8))
        header: dict[str, Any] = json.loads(source.read(length))
        header["__metadata__"] |= entries
        body = json.dumps(header, ensure_ascii=False).encode()
        body += b" " * (-len(body) % 8)
        file.write(struct.pack("<Q", len(body)) + body)
        shutil.copyfileobj(source, file, length=1 << 22)
        os.fchmod(file.fileno(), os.fstat(source.fileno()).st_mode & 0o777)


@contextmanager
def _cryptography() -> Iterator[None]:
    """Say what to install where the package is missing."""
    try:
        yield
    except ImportError:
        raise ParameterError(f"signatures need the package cryptography: {how_to_install('cryptography')}") from None
