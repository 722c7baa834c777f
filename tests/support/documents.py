"""The documents of this repository: code blocks, links and names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.places import ROOT

_ELSEWHERE = {"build", "dist", "target", "node_modules"}
_BLOCK = re.compile(
    r"(?:^<!-- needs: (?P<needs>[\w ,-]+) -->\n)?^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block of code.

    Attributes:
        line: number of its first line in the page, from 1.
        needs: content of the comment ``<!-- needs: … -->`` before it.
    """

    page: Page
    line: int
    language: str
    needs: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Page:
    """A Markdown document."""

    path: Path

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """The text without code blocks and comments."""
        return _COMMENT.sub("", _BLOCK.sub("", self.source))

    def blocks(self, language: str | None = None) -> list[Block]:
        """Code blocks in order, optionally of one language."""
        source = self.source
        found = [
            Block(
                self,
                source.count("\n", 0, match.start("text")) + 1,
                match["language"],
                tuple(re.split(r"[ ,]+", match["needs"])) if match["needs"] else (),
                match["text"],
            )
            for match in _BLOCK.finditer(source)
        ]
        return [block for block in found if language in (None, block.language)]

    def inline(self) -> list[str]:
        """Inline code in the text."""
        return _INLINE.findall(self.prose)

    def links(self) -> list[str]:
        """Targets of the links."""
        return _LINK.findall(_INLINE.sub("", self.prose))

    def anchors(self) -> set[str]:
        """Anchors of the headings, as Markdown renderers create them."""
        found: dict[str, int] = {}
        anchors = set()
        for heading in re.findall(r"^#{1,6} (.+)$", _BLOCK.sub("", self.source), re.MULTILINE):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
            anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            count = found.get(anchor, 0)
            found[anchor] = count + 1
            anchors.add(f"{anchor}-{count}" if count else anchor)
        return anchors


def pages() -> list[Page]:
    """All documents, sorted by name."""
    return sorted(_pages(), key=str)


def page(name: str) -> Page:
    return Page(ROOT / name)


def _pages() -> Iterator[Page]:
    for path in ROOT.rglob("*.md"):
        parts = path.relative_to(ROOT).parts
        if not path.is_symlink() and not _ELSEWHERE & set(parts) and not any(part.startswith(".") for part in parts):
            yield Page(path)


def adapted(program: str, places: Mapping[str, str]) -> str:
    """A program of a page with the places of a test: each text must be in it, and is replaced."""
    for text, here in places.items():
        assert text in program, text
        program = program.replace(text, here)
    return program
