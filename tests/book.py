"""Follows every link of the book that mdbook has made: to a file that is there, and to an anchor of it.

    book.py FOLDER
"""

import html.parser
import pathlib
import sys
import urllib.parse

# All pages once more, with links that lead to themselves; and a page that stands anywhere, with links from the root.
LEFT_OUT = {"print.html", "404.html"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.anchors |= {named[key] for key in ("id", "name") if named.get(key)}
        # Not what mdbook's theme asks for: Debian's has left some of that out.
        self.links += [named[key] for key in ("href", "src") if named.get(key) and tag in ("a", "img")]


def broken(folder, pages):
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or path.name in LEFT_OUT:
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.is_file() or not target.is_relative_to(folder):
                yield f"{path.relative_to(folder)}: {link} leads nowhere"
            elif anchor and target in pages and anchor not in pages[target].anchors:
                yield f"{path.relative_to(folder)}: {link} leads to no heading"


def main(folder):
    folder = pathlib.Path(folder).resolve()
    pages = {path: Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    wrong = list(broken(folder, pages))
    if wrong:
        sys.exit("\n".join(wrong))
    links = sum(len(page.links) for path, page in pages.items() if path.name not in LEFT_OUT)
    assert len(pages) > 100 and links > 1000, f"only {len(pages)} pages and {links} links"
    print(f"book: {len(pages)} pages, {links} links")


main(sys.argv[1])
