#!/usr/bin/env python3
"""Writes tenon/text/unicode_tables.h: what Hugging Face's tokenizers know of each character.

    make_unicode_tables.py [--check]

A WordPiece must cut and spell texts as theirs do, and their tables are of several Unicode versions, so each character
is put through the library itself (pip install tokenizers; 0.23.3 made the table that is there).
"""

import argparse
import sys
import unicodedata
from pathlib import Path

from tokenizers import normalizers, pre_tokenizers

FILE = Path(__file__).parent.parent / "tenon/text/unicode_tables.h"
HANGUL = range(0xAC00, 0xD7A4)
# The first mark of each class, which every version of Unicode has.
MARKS = {unicodedata.combining(chr(c)): chr(c) for c in reversed(range(0x110000)) if unicodedata.combining(chr(c))}


def bert(**on):
    flags = dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), False)
    return normalizers.BertNormalizer(**(flags | on)).normalize_str


def ranges(codes):
    """[[first, last], ...] of sorted codes."""
    found = []
    for code in sorted(codes):
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def lower_runs(lower):
    """[[first, last, step, difference], ...]: capitals stand side by side, or by turns with their small letters."""
    runs = []
    for code, small in sorted(lower.items()):
        difference = small - code
        if runs and runs[-1][3] == difference:
            first, last, step, _ = runs[-1]
            if code - last == step or (first == last and code - last <= 2):
                runs[-1][1:3] = code, code - last
                continue
        runs.append([code, code, 1, difference])
    return runs


def combining_class(nfd, char, is_mark):
    """Marks are ordered by their class, so the marks that a character goes before tell it."""
    if not is_mark:
        return 0
    expected = unicodedata.combining(char)
    if expected:  # which no later version changes
        return expected
    after = min((value for value in MARKS if nfd(MARKS[value] + char) != MARKS[value] + char), default=241)
    return max(value for value in MARKS if value < after)


def tables():
    clean, strip, nfd = bert(clean_text=True), bert(strip_accents=True), normalizers.NFD().normalize_str
    lowercase, cut = normalizers.Lowercase().normalize_str, pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    removed, nonspacing, punctuation, lower, decomposed, classes = set(), set(), set(), {}, {}, {}
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        char = chr(code)
        if not clean(char):
            removed.add(code)
        if not strip(char):
            nonspacing.add(code)
        if len(cut(f"a{char}a")) == 3:
            punctuation.add(code)
        if (small := lowercase(char)) != char and len(small) == 1:
            lower[code] = ord(small)
        if (parts := nfd(char)) != char and code not in HANGUL:
            decomposed[code] = parts
        # The iota below has the highest class, so every mark goes before it.
        elif own := combining_class(nfd, char, code == 0x345 or nfd("\u0345" + char)[0] != "\u0345"):
            classes[code] = own
    return removed, nonspacing, punctuation, lower, decomposed, classes


def pairs(decomposed):
    """[[code, first, second], ...]: the first part may have parts of its own."""
    codes = {parts: code for code, parts in sorted(decomposed.items(), reverse=True)}
    found = []
    for code, parts in sorted(decomposed.items()):
        head = parts[:-1]
        if len(parts) > 2:
            found.append([code, codes[head], ord(parts[-1])])
        else:
            found.append([code, *map(ord, parts)] + [0] * (2 - len(parts)))
    return found


def number(value):
    return str(value) if -10 < value < 10 else f"{'-' if value < 0 else ''}0x{abs(value):X}"


def array(name, type_name, what, rows):
    text, line = [f"/// {what}", f"inline constexpr {type_name} {name}[] = {{"], "   "
    for row in rows:
        item = "{" + ", ".join(map(number, row)) + "},"
        if len(line) + 1 + len(item) > 120:
            text.append(line)
            line = "   "
        line += " " + item
    return "\n".join(text + [line, "};"])


def header():
    removed, nonspacing, punctuation, lower, decomposed, classes = tables()
    by_class = []
    for code, own in sorted(classes.items()):
        if by_class and by_class[-1][1] == code - 1 and by_class[-1][2] == own:
            by_class[-1][1] = code
        else:
            by_class.append([code, code, own])
    parts = [
        "// Characters by their properties. Written by scripts/make_unicode_tables.py; do not edit.\n",
        "#pragma once\n\n#include <cstdint>\n\n// clang-format off\nnamespace tenon::text::tables {\n",
        "struct Range {\n  uint32_t first, last;\n};\nstruct LowerRun {\n  uint32_t first, last, step;\n"
        "  int32_t difference;\n};\nstruct ClassRange {\n  uint32_t first, last, combining_class;\n};\n"
        "struct Decomposition {\n  uint32_t code, first, second;  // second: 0 where there is none\n};\n",
        array("kOther", "Range", "Control and format characters, those for private use, U+0000 and U+FFFD; not \\t, \\n, \\r.", ranges(removed)),
        array("kNonspacing", "Range", "Marks without a width of their own, which accents are.", ranges(nonspacing)),
        array("kPunctuation", "Range", "Punctuation, and all of ASCII that is neither letter, digit, blank nor control.", ranges(punctuation)),
        array("kLower", "LowerRun", "Capitals with one small letter: those at first, first + step, ... last.", lower_runs(lower)),
        array("kClasses", "ClassRange", "In which order marks behind a character are written.", by_class),
        array("kDecompositions", "Decomposition", "Characters of parts, but for the syllables of Hangul, which are computed.", pairs(decomposed)),
        "\n}  // namespace tenon::text::tables\n// clang-format on\n",
    ]
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where the file says something else")
    text = header()
    if parser.parse_args().check:
        return 0 if FILE.read_text() == text else f"{FILE} is not what this script writes"
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
