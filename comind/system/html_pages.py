"""Load templates of HTML pages with all text escaped, and hash what a content security policy allows."""

import base64
import hashlib

from jinja2 import Environment, PackageLoader, StrictUndefined


def html_templates(package: str) -> Environment:
    """Return an environment for the templates in a package; an unknown name in one is an error."""
    return Environment(
        loader=PackageLoader(package, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def policy_hash(text: str) -> str:
    """Return the source expression of a style or script for a content security policy (CSP, level 2)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
