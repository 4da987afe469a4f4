"""Signatures: made with a key, verified with its other half, and of no use to whoever alters the file."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization as forms
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from safetensors import safe_open
from test_contents import changed, golden

import microtome as mt
from damage import refusal
from microtome.accounting import Ledger
from microtome.errors import OutputError, ParameterError, ReleaseError
from microtome.published import Artefact
from microtome.published.signature import KEY, SIGNATURE, Signer, _with_metadata, make_key, signed_by, verify_signature
from support import ROOT, people, people_schema


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_key(tmp_path / "holder.key")
    return tmp_path / "holder.key"


def public(key: Path) -> Path:
    return key.with_name(f"{key.name}.pub")


@pytest.fixture
def signed(key: Path, tmp_path: Path) -> Path:
    path = Path(shutil.copy(golden("records"), tmp_path / "signed.release"))
    Signer.load(key).sign(path)
    return path


def test_a_signed_release_is_verified_and_is_the_same_release(signed: Path, key: Path) -> None:
    before, after = Artefact.load(golden("records")), Artefact.load(signed)
    assert after.manifest == before.manifest
    assert after.fingerprint == before.fingerprint
    assert (after.rows() == before.rows()).all()  # type: ignore[attr-defined]
    assert verify_signature(signed, public(key)) == signed_by(signed)


def test_a_release_that_is_not_signed_is_refused(key: Path) -> None:
    assert signed_by(golden("records")) is None
    with pytest.raises(ReleaseError, match="not signed"):
        verify_signature(golden("records"), public(key))


def test_another_key_does_not_verify(signed: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "other.key")
    with pytest.raises(ReleaseError, match="its signature is not by the key"):
        verify_signature(signed, tmp_path / "other.key.pub")


def test_an_altered_manifest_does_not_verify_though_its_checksum_agrees(
    signed: Path, key: Path, tmp_path: Path
) -> None:
    """The signature of the true file put on another one, whose checksums were all computed anew."""
    with safe_open(signed, framework="numpy") as file:
        taken = {name: file.metadata()[name] for name in (SIGNATURE, KEY)}
    forged = changed(tmp_path / "forged", "records", lambda manifest: manifest["promise"].update(epsilon=61.0))
    _with_metadata(forged, taken)
    Artefact.load(forged)
    with pytest.raises(ReleaseError, match="its signature is not by the key"):
        verify_signature(forged, public(key))
    _with_metadata(forged, {SIGNATURE: "no number"})
    with pytest.raises(ReleaseError, match="no hexadecimal number"):
        verify_signature(forged, public(key))


def test_keys_are_for_their_owner_and_never_replaced_unasked(key: Path) -> None:
    assert key.stat().st_mode & 0o077 == 0
    before = key.read_bytes()
    for left in (key, public(key)):
        with pytest.raises(OutputError, match="exists"):
            make_key(key)
        assert key.read_bytes() == before
        assert left.exists()
    make_key(key, force=True)
    assert key.read_bytes() != before


def pem(key: ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey, password: bytes | None = None) -> bytes:
    lock = forms.NoEncryption() if password is None else forms.BestAvailableEncryption(password)
    return key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, lock)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such key"),
        (b"", "not a private key"),
        (b"-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----\n", "not a private key"),
        ("encrypted", "encrypted"),
        ("rsa", "another kind"),
        ("public", "a public key verifies"),
        ("folder", "cannot be read"),
    ],
)
def test_a_key_that_cannot_be_used_costs_nothing(content: bytes | str | None, said: str, tmp_path: Path) -> None:
    path, book = tmp_path / "k", Ledger(tmp_path / "book.json")
    if content == "folder":
        path.mkdir()
    elif content == "encrypted":
        path.write_bytes(pem(ed25519.Ed25519PrivateKey.generate(), b"secret"))
    elif content == "rsa":
        path.write_bytes(pem(rsa.generate_private_key(65537, 2048)))
    elif content == "public":
        make_key(tmp_path / "x")
        path.write_bytes(public(tmp_path / "x").read_bytes())
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(ParameterError, match=said):
        mt.release(
            people(), people_schema(), epsilon=3, delta=1e-4, anyway=True, sign=path, ledger=book, output=tmp_path / "r"
        )
    assert not (tmp_path / "r").exists()
    assert not book.entries()


@pytest.mark.parametrize(
    "content", [b"", b"-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n", "private", "rsa"]
)
def test_public_keys_that_are_none(content: bytes | str, signed: Path, key: Path, tmp_path: Path) -> None:
    path = tmp_path / "k.pub"
    if content == "rsa":
        other = rsa.generate_private_key(65537, 2048).public_key()
        path.write_bytes(other.public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo))
    else:
        path.write_bytes(content if isinstance(content, bytes) else key.read_bytes())
    assert refusal(lambda one: verify_signature(signed, one), path, ParameterError)


def test_releases_are_signed_as_they_are_made(key: Path, tmp_path: Path) -> None:
    made = mt.release(people(), people_schema(), epsilon=3, delta=1e-4, anyway=True, sign=key, output=tmp_path / "r")
    assert verify_signature(tmp_path / "r", public(key))
    assert made.fingerprint == Artefact.load(tmp_path / "r").fingerprint
    kept = mt.release(people(), people_schema(), epsilon=3, delta=1e-4, anyway=True, sign=key)
    assert verify_signature(kept.path, public(key))
    with pytest.raises(OutputError, match="the key"):
        mt.release(people(), people_schema(), epsilon=3, delta=1e-4, anyway=True, sign=key, output=key)


def test_without_the_package_it_is_said_what_to_install(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.setitem(sys.modules, name, None)
    for call in (lambda: Signer.load(key), lambda: make_key(key, force=True)):
        with pytest.raises(ParameterError, match=r"pip install 'microtome\[sign\]'"):
            call()


def test_the_extra_is_declared() -> None:
    assert 'sign = ["cryptography' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
