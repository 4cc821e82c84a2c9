"""The validator of RO-Crate profiles, without a network."""

import io
from importlib.resources import files

from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from rocrate_validator import services
from rocrate_validator.models import ValidationSettings
from urllib3 import HTTPResponse

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
PROFILE = "workflow-run-crate-0.5"


def _context():
    """Return RO-Crate 1.1's words, as bytes.

    The package rocrate has those of 1.3. Of what a bundle uses, they differ in the workflow alone.
    """
    newest = (files("rocrate") / "data" / "ro-crate.jsonld").read_text()
    return newest.replace("https://bioschemas.org/terms/", "https://bioschemas.org/").encode()


class _Context(HTTPAdapter):
    """Answer every request with the context."""

    def send(self, request, **_):
        words, kind = io.BytesIO(_context()), {"Content-Type": "application/ld+json"}
        answer = HTTPResponse(words, kind, 200, preload_content=False, request_url=request.url)
        return self.build_response(request, answer)


def issues(crate, cache):
    """Return what the profile's validator finds wrong with a crate, as sentences.

    `cache` is a folder for what it would have fetched.
    """
    with CachedSession(cache / "http", backend="sqlite", expire_after=-1) as session:
        session.mount("https://", _Context())
        session.get(CONTEXT)
    settings = ValidationSettings(
        rocrate_uri=str(crate), profile_identifier=PROFILE, cache_path=cache / "http", offline=True
    )
    result = services.validate(settings)
    found = [issue.message for issue in result.get_issues()]
    assert result.passed() == (not found)
    return found
