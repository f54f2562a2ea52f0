#!/usr/bin/env python3
"""Fails unless a page's tags are balanced and known, and it refers to no other file: check_html.py FILE"""

import sys
from html.parser import HTMLParser

WITHOUT_END = {"meta", "input", "br", "img"}
KNOWN = WITHOUT_END | set(
    "html head title style body div header h1 h2 p main dl dt dd small label figure figcaption b span svg path details "
    "summary pre table tr td footer script section h3 ol li button small thead tbody th".split())
REFERENCES = {"src", "href", "xlink:href", "action", "srcset", "data", "poster"}


class Checker(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    @staticmethod
    def holds_picture(tag, name, value):
        return tag == "img" and name == "src" and value.startswith("data:image/png;base64,")

    def handle_starttag(self, tag, attributes):
        assert tag in KNOWN, f"an unknown tag, {tag}, at {self.getpos()}"
        names = [name for name, _ in attributes]
        assert len(set(names)) == len(names), f"an attribute twice at {self.getpos()}"
        elsewhere = [name for name, value in attributes if name in REFERENCES and not self.holds_picture(tag, name, value)]
        assert not elsewhere, f"a reference at {self.getpos()}"
        assert not [name for name in names if name.startswith("on")], f"a handler at {self.getpos()}"
        if tag not in WITHOUT_END:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in WITHOUT_END:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]} at {self.getpos()}"
        self.open.pop()


with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
checker = Checker()
checker.feed(text)
checker.close()
assert not checker.open, f"never closed: {checker.open}"
for address in ("http:", "https:", "url(", "@import", "//cdn"):
    assert address not in text, f"the page refers to {address}"
