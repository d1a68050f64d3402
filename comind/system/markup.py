"""Convert HTML in posts to plain text; Markdown is left as it is."""

import re
from html.parser import HTMLParser

_HTML = re.compile(
    r"<(?:p|div|br|a|ul|ol|li|pre|code|h[1-6]|span|strong|em|blockquote|img|table)\b[^>]*>",
    re.IGNORECASE,
)
_PARAGRAPHS = re.compile(r"</?p>|<br>", re.IGNORECASE)
_HEADS = tuple(f"h{level}" for level in range(1, 7))
_BREAKS = frozenset(("p", "div", "br", "pre", "blockquote", "table", "tr", "ul", "ol", *_HEADS))
_UNSEEN = frozenset(("script", "style"))


def html_to_text(text: str) -> str:
    """Return the text of HTML, one line for each block; text without HTML tags is unchanged."""
    if "<" not in text or _HTML.search(text) is None:
        return text
    plain = _PARAGRAPHS.sub("\n", text)  # most posts have no other tags, and are not parsed
    if "<" in plain or "&" in plain:
        reader = _Words()
        reader.feed(text)
        reader.close()
        plain = "".join(reader.words)
    if " \n" in plain or "\t\n" in plain:
        plain = re.sub(r"[ \t]+\n", "\n", plain)
    return (re.sub(r"\n{3,}", "\n\n", plain) if "\n\n\n" in plain else plain).strip()


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unseen += tag in _UNSEEN
        if tag == "img":
            caption = dict(attrs).get("alt")
            self.words.append(f"[picture: {caption}]" if caption else "[picture]")
        elif tag == "li":
            self.words.append("\n- ")
        elif tag in _BREAKS:
            self.words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN and self._unseen > 0
        if tag in _BREAKS:
            self.words.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.words.append(data)
