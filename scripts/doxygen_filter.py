#!/usr/bin/env python3
"""What Doxygen reads in the place of a page or header of ours: doxygen_filter.py FILE

Pages: headings get names that are unique in the whole site, links to headings of pages become links to these, and links
to files that are no pages of the site become text. Headers: the comment that opens a file, and that Doxygen would pass
over, becomes its description; programs in comments become code; what is private is left out.
"""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_links import ROOT, slug


def name_of(page):
    """README.md of the guide is page guide."""
    path = page.relative_to(ROOT).with_suffix("").as_posix()
    return re.sub(r"\W", "_", path)


def page_of(path):
    text = path.read_text(encoding="utf-8")
    out, in_code, seen = [], False, set()
    for line in text.split("\n"):
        if line.startswith("```"):
            in_code = not in_code
            if in_code and line in ("```text", "```sh", "```json", "```cmake"):
                line = "```"
        elif not in_code:
            line = line.replace("<!-- tested -->", "")
            heading = re.match(r"(#+) +(.*)$", line)
            if heading:
                name = name_of(path) + ("" if len(heading.group(1)) == 1 else "__" + slug(heading.group(2)))
                # The first page is Doxygen's own, and its heading the title.
                is_title = path.name == "README.md" and path.parent == ROOT
                if name not in seen and not is_title:
                    line = f"{heading.group(1)} {heading.group(2).replace('`', '')} {{#{name}}}"
                elif is_title and len(heading.group(1)) > 1:
                    line = f"{heading.group(1)} {heading.group(2).replace('`', '')} {{#{name}}}"
                seen.add(name)
            else:
                line = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", lambda m: link(path, m.group(1), m.group(2)), line)
        out.append(line)
    return "\n".join(out)


def link(path, text, target):
    if re.match(r"[a-z]+:", target):
        return f"[{text}]({target})"
    file, _, anchor = target.partition("#")
    page = (path.parent / file).resolve() if file else path
    if page.suffix != ".md":
        return text
    name = name_of(page) + ("__" + anchor if anchor else "")
    # Tables of contents own the pages they name: those stand below them in the tree at the left.
    is_contents = path.name == "README.md" and path.parent != ROOT and not anchor
    return f'@subpage {name} "{text}"' if is_contents else f"[{text}](@ref {name})"


def header_of(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    out, i = ["/// @file"], 0
    while i < len(lines) and lines[i].startswith("//") and not lines[i].startswith("///"):
        out.append("///" + lines[i][2:])
        i += 1
    opening = out[1:]
    out += with_notes(without_private(lines[i:]))
    # "Tensor: the value type users hold." describes the class of that name, too.
    named = re.match(r"/// (\w+): ", opening[0]) if opening else None
    if named:
        for at, line in enumerate(out):
            if re.match(rf"class {named.group(1)}\b[^;]*$", line) and not out[at - 1].startswith("///"):
                out[at:at] = ["/// " + re.sub(r"^/// \w+: (.)", lambda m: m.group(1).upper(), opening[0])] + opening[1:]
                break
    shown, in_code = [], False
    for line in out:
        comment = re.match(r"( *///)(   ?)(\S.*)$", line)
        if comment:
            if not in_code:
                shown += [comment.group(1), comment.group(1) + " ```cpp"]
            in_code = True
            shown.append(f"{comment.group(1)} {comment.group(3)}" if comment.group(2) == "   " else line)
        else:
            if in_code and not (re.match(r" *///\s{4,}\S", line)):
                indent = re.match(r" *", shown[-1]).group(0)
                shown.append(f"{indent}/// ```")
                in_code = False
            before, mark, text = line.partition("///")
            shown.append(before + mark + escaped(text))
    return "\n".join(shown)


def with_notes(lines):
    """Comments behind fields and values of enums describe these; those for linters describe nothing."""
    out, owners = [], []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip() and not line.lstrip().startswith("//"):
            while owners and owners[-1][0] >= indent:
                owners.pop()
        if not line.lstrip().startswith("//"):
            line = re.sub(r" *// NOLINT.*$", "", line)
            note = re.match(r"(.*[;,}\w])( +)// (?!namespace|clang-format)(.*)$", line)
            if note and owners and owners[-1][1]:
                line = f"{note.group(1)}{note.group(2)}///< {note.group(3)}"
        out.append(line)
        if line.rstrip().endswith("{") or re.search(r"\{ +///", line):
            owners.append((indent, re.match(r" *((class|struct|enum|union|namespace)\b|: public)", line) is not None))
    return out


def without_private(lines):
    """Classes without their private parts, told by the indentation that clang-format gives."""
    kept, end = [], None
    for line in lines:
        if end is None and re.match(r" *private:$", line):
            end = " " * (len(line) - len(line.lstrip()) - 1)
            continue
        if end is not None and re.match(rf"{end}(\}};| (public|protected):)", line):
            end = None
        if end is None:
            kept.append(line)
    return kept


def escaped(line):
    """<unk> in a comment is text, no tag."""
    return "`".join(part if i % 2 else re.sub(r"<(/?[\w|]+)>", r"&lt;\1&gt;", part) for i, part in enumerate(line.split("`")))


if __name__ == "__main__":
    file = Path(sys.argv[1]).resolve()
    sys.stdout.write(page_of(file) if file.suffix == ".md" else header_of(file))
