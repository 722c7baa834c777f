"""MkDocs hooks for ``make site``: pages from outside of ``docs/``, and links to files outside of it.

The home page is ``README.md``. Links in the sources are relative to the repository. On the site, a link to a page of
the site leads to that page. A link to any other file leads to ``extra.sources`` in ``mkdocs.yml``, or becomes plain
text if that is empty. A broken link is left unchanged, so that MkDocs reports it.
"""

from __future__ import annotations

import logging
import posixpath
import re
import shutil
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

#: Pages of the site whose files are outside of ``docs/``.
PAGES = {
    "index.md": "README.md",
    "code.md": "scala/README.md",
    "tests.md": "tests/README.md",
    "benchmarks.md": "bench/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "reporting.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
}
DOCS = "docs"
#: The Scaladoc of ``make kit-api``, a directory of the site if it is there.
KIT_API = Path("build", "kit-api")

_LINK = r"(?P<text>\[(?:[^\]\[]|\[[^\]]*\])*\])\((?P<target>[^)\s]+)\)"
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_TOKEN = re.compile(rf"{_BLOCK.pattern}|{_LINK}|`[^`\n]+`", _BLOCK.flags)
_LIST_IN_PARAGRAPH = re.compile(r"^(?![-*|#>\s]|\d+\.)\S.*\n(?:[-*]|\d+\.) ", re.MULTILINE)

ROOT = Path(__file__).resolve().parent.parent
log = logging.getLogger("mkdocs.hooks.site")


def on_files(files: Files, *, config: Any) -> Files:
    for uri, source in PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    uri = page.file.src_uri
    if found := _LIST_IN_PARAGRAPH.search(_BLOCK.sub("", markdown)):
        log.warning("%s: no blank line before a list: %r", uri, found[0])
    if (ROOT / KIT_API).is_dir():
        markdown = markdown.replace(f"`{KIT_API}`", f'<a href="{KIT_API.name}/index.html">{KIT_API.name}</a>')
    return in_site(markdown, uri, files, config.extra["sources"])


def on_post_build(*, config: Any) -> None:
    if (ROOT / KIT_API).is_dir():
        shutil.copytree(ROOT / KIT_API, Path(config.site_dir, KIT_API.name))


def in_site(markdown: str, uri: str, files: Files, sources: str) -> str:
    """Rewrites the links of a page for the site.

    Args:
        uri: URI of the page in the site.
        sources: base URL of the repository's files; empty if there is none.
    """
    below = posixpath.dirname(uri)
    directory = posixpath.dirname(PAGES.get(uri, f"{DOCS}/{uri}"))

    def replaced(match: re.Match[str]) -> str:
        target = match["target"]
        if not target or target.startswith("#") or re.match(r"\w+:", target):
            return match[0]
        path, separator, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(directory, path))
        if found := site_uri(place, files):
            return f"{match['text']}({posixpath.relpath(found, below or '.')}{separator}{anchor})"
        if not (ROOT / place).exists():
            return match[0]
        return f"{match['text']}({sources.rstrip('/')}/{place})" if sources else match["text"][1:-1]

    return _TOKEN.sub(replaced, markdown)


def site_uri(place: str, files: Files) -> str | None:
    """The URI of a repository file in the site; None if it is not part of the site."""
    uri = next((uri for uri, source in PAGES.items() if source == place), place.removeprefix(f"{DOCS}/"))
    return uri if uri in files.src_uris and (uri in PAGES or place.startswith(f"{DOCS}/")) else None
