"""Create the driver's self-signed certificate, which its session hosts get with their order and pin."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_NAME = "comind-driver"
_DAYS = 400
_CLOCK_SKEW = timedelta(days=2)  # a node's clock may be wrong


class Certificate(NamedTuple):
    """Files of a certificate and its private key, and the certificate as PEM text."""

    file: Path
    key: Path
    pem: str


def create_certificate(folder: Path, now: datetime | None = None) -> Certificate:
    """Create a certificate and its key (P-256) in `folder`; only the owner can read the key.

    It is valid from two days before `now`, by default the time of this machine's clock.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _NAME)])
    now = now or datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(_NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    file, private = folder / "certificate.pem", folder / "key.pem"
    private.touch(mode=0o600)
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    file.write_bytes(pem)
    return Certificate(file, private, pem.decode())


def pinning_context(pem: str) -> ssl.SSLContext:
    """Return a TLS context for clients that trusts this certificate alone, at whatever address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # the certificate is pinned
    context.load_verify_locations(cadata=pem)
    return context
