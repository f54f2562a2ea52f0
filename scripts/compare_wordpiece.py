#!/usr/bin/env python3
"""Compares Tenon's WordPiece with Hugging Face's tokenizers on texts at random (pip install tokenizers transformers).

    compare_wordpiece.py TENON [--count 5000] [--seed 1]    TENON: the command
    compare_wordpiece.py --golden tests/golden/wordpiece.json --count 120    writes cases for the tests

Texts are of any Unicode characters, of those that BERT's rules tell apart, and of words with them inside. Vocabularies
have letters, pieces and words of several scripts; each kind of spelling is tried. Ids, decoded texts and what each
program makes of the other's tokenizer.json must be the same.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = """the a of and to Hello hello world World un ##aff ##able naive café cafe Straße strasse ##n't don t ' s . , ? !
 ##ing run ##ning ### # ## 日 本 語 한국 Привет привет ##вет Ω ω i̇ ß ﬁ don't ' ve 're . . İ Å å ά ##ά １ ² ½ é ##é 𝐀 😀 ##😀""".split()
HOSTILE = ["\u0300", "\u0301\u0316", "\u0345", "\u0F39", "\u302A", "\U0001D165", "\u1B44", "\u00AD", "\u200B", "\u200D", "\uFEFF",
           "\uFFFD", "\0", "\x01", "\x7F", "\x85", "\u00A0", "\u1680", "\u2028", "\u3000", "\u180E", "İ", "ẞ", "Σ", "ǅ",
           "각", "힣", "ᄀ", "\uF900", "\U0002F800", "\U0002B81E", "\U0002CEB0", "〇", "、", "。", "[MASK]", "[SEP]", "[cls]", "##", "n't", " do not",
           "\u0344", "ﬃ", "\U0001F468\u200D\U0001F469", "\u202E", "\U000E0041", "\u0378", "\U0010FFFF", "\uE000", "\t", "\r\n",
           "x" * 101, "日" * 101, "é" * 100, "\u0958", "Ǖ", "\u1E9B\u0323", "٪", "¿", "§", "$", "^", "`", "€", "‐", "_"]


def random_text(source):
    parts = []
    for _ in range(source.randrange(1, 24)):
        kind = source.random()
        if kind < 0.2:
            parts.append("".join(chr(any_code(source)) for _ in range(source.randrange(1, 5))))
        elif kind < 0.5:
            parts.append(source.choice(HOSTILE))
        elif kind < 0.8:
            parts.append(source.choice(WORDS).removeprefix("##"))
        else:
            parts.append(source.choice([" ", "  ", "\n", "-", "."]))
    return "".join(parts)


def any_code(source):
    while True:
        code = source.choice([source.randrange(0x250), source.randrange(0x3000), source.randrange(0x20000), source.randrange(0x110000)])
        if not 0xD800 <= code < 0xE000:
            return code


def reference(spelling):
    clean, ideographs, accents, lower = spelling
    letters = sorted({c for word in WORDS for c in word} | set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(SPECIALS + letters + ["##" + c for c in letters] + WORDS))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(clean_text=clean, handle_chinese_chars=ideographs, strip_accents=accents, lowercase=lower)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.add_special_tokens(SPECIALS)
    return made


def expected_cases(made, texts):
    cases = []
    for text in texts:
        ids = made.encode(text, add_special_tokens=False).ids
        cases.append({"utf8_hex": text.encode().hex(), "ids": ids, "decoded": made.decode(ids, skip_special_tokens=False)})
    return cases


def tenon_ids(command, tokenizer, cases, folder):
    lines = folder / "cases.jsonl"
    lines.write_text("".join(json.dumps({"utf8_hex": case["utf8_hex"], "special": True}) + "\n" for case in cases))
    done = subprocess.run([command, "tokenize", "--tokenizer", tokenizer, "--jsonl", lines], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare(command, spelling, count, seed):
    source = random.Random(seed)
    made = reference(spelling)
    cases = expected_cases(made, [random_text(source) for _ in range(count)])
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        made.save(str(folder / "theirs.json"))
        for case, ids in zip(cases, tenon_ids(command, folder / "theirs.json", cases, folder), strict=True):
            if ids != case["ids"]:
                wrong += 1
                print(f"{spelling} {bytes.fromhex(case['utf8_hex']).decode()!r}: theirs {case['ids']}, ours {ids}")
        for case in cases[: count // 20]:
            decoded = subprocess.run([command, "tokenize", "--tokenizer", folder / "theirs.json", "--decode", *map(str, case["ids"])] if case["ids"]
                                     else ["true"], capture_output=True, check=True).stdout.decode()
            if decoded != case["decoded"]:
                wrong += 1
                print(f"{spelling} decoded: theirs {case['decoded']!r}, ours {decoded!r}")
        subprocess.run([command, "tokenize", "--tokenizer", folder / "theirs.json", "--out", folder / "ours"], check=True)
        ours = Tokenizer.from_file(str(folder / "ours/tokenizer.json"))
        for case in cases:
            text = bytes.fromhex(case["utf8_hex"]).decode()
            wrong += ours.encode(text).ids != made.encode(text).ids or ours.encode(text, "b").type_ids != made.encode(text, "b").type_ids
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon", nargs="?")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--golden", type=Path)
    arguments = parser.parse_args()
    spellings = [(True, True, True, True), (True, True, False, False), (False, True, True, False), (True, False, False, True), (False, False, False, False)]
    if arguments.golden:
        made = [reference(spelling) for spelling in spellings[:3]]
        source = random.Random(arguments.seed)
        texts = ["Hello, un-affable WORLD! don't", *HOSTILE, *(random_text(source) for _ in range(arguments.count))]
        arguments.golden.write_text(json.dumps([{"tokenizer": one.to_str(), "cases": expected_cases(one, texts)} for one in made],
                                               separators=(",", ":")) + "\n")
        return 0
    wrong = sum(compare(arguments.tenon, spelling, arguments.count, arguments.seed + i) for i, spelling in enumerate(spellings))
    print(f"{len(spellings) * arguments.count} texts, {wrong} differences")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
