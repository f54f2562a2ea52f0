#!/usr/bin/env python3
"""Fails where a page points at something that is not there: check_links.py [--self-test | --site FOLDER]

Of README.md, CONTRIBUTING.md, CHANGELOG.md and docs/: links to files and to headings, and paths in backticks that begin
with a folder of the repository. With --site, links and pictures of the built HTML pages instead. Links to other hosts
are not followed: the tests need no network. With --self-test, planted pages are looked through first.
"""

import html.parser
import re
import sys
import tempfile
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("apps", "bench", "cmake", "configs", "docs", "examples", "python", "scripts", "tenon", "tests")


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def slug(heading):
    """The anchor that GitHub gives a heading."""
    heading = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip()).lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def anchors(page):
    return {slug(h) for h in re.findall(r"^#+ +(.*)$", without_code(page.read_text(encoding="utf-8")), re.M)}


def check_pages(root=ROOT):
    pages = [*(p for p in (root / n for n in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")) if p.exists()),
             *sorted(root.glob("docs/**/*.md"))]
    links, wrong = 0, []
    for page in pages:
        text = without_code(page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                wrong.append(f"{page.relative_to(root)}: there is no {target}")
            elif anchor and anchor not in anchors(file):
                wrong.append(f"{page.relative_to(root)}: {target} names no heading")
        for path in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", text):
            links += 1
            # A header may be named without its ending, and a pair of files by their common beginning.
            if not (root / path).exists() and not list(root.glob(path.rstrip("/") + ".*")):
                wrong.append(f"{page.relative_to(root)}: there is no {path}")
    return links, wrong


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.targets, self.names = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.targets.append(value)
            elif name in ("id", "name") and value:
                self.names.add(value)


def check_site(folder):
    pages = {path: Page(path.read_text(encoding="utf-8", errors="replace")) for path in folder.rglob("*.html")}
    links, wrong = 0, []
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            name, _, anchor = target.partition("#")
            file = (path.parent / urllib.parse.unquote(name)).resolve() if name else path
            if not file.exists():
                wrong.append(f"{path.relative_to(folder)}: there is no {target}")
            elif anchor and file in pages and urllib.parse.unquote(anchor) not in pages[file].names:
                wrong.append(f"{path.relative_to(folder)}: {target} names nothing")
    if not pages:
        wrong.append(f"{folder}: there are no pages")
    return links, wrong


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "docs").mkdir()
        (root / "docs/a.md").write_text("# A page\n## `x` and y\n[self](#x-and-y) [b](b.md) `docs/a.md`\n```\n[no](no.md)\n```\n")
        (root / "README.md").write_text("[a](docs/a.md#a-page) [z](docs/a.md#z) `docs/c.md` [out](https://example.org/x)\n")
        links, wrong = check_pages(root)
    expected = ["README.md: docs/a.md#z names no heading", "README.md: there is no docs/c.md", "docs/a.md: there is no b.md"]
    if sorted(wrong) != expected or links != 6:
        sys.exit(f"self-test: {links} links, {sorted(wrong)}")


def main():
    if "--self-test" in sys.argv:
        self_test()
    if len(sys.argv) == 3 and sys.argv[1] == "--site":
        links, wrong = check_site(Path(sys.argv[2]).resolve())
    else:
        links, wrong = check_pages()
    for line in sorted(set(wrong)):
        print(line)
    print(f"{links} links, {len(set(wrong))} dead")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
