#!/usr/bin/env python3
"""`tenon tokenize` from outside: tokenize_command.py TENON, the path of the command."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TENON = sys.argv.pop(1)
ALL_BYTES = bytes(range(256)) * 3 + "naïve café 日本 <|endoftext|>\r\n".encode() + b"\xff\xc3\x00"


def tenon(*arguments, stdin=b""):
    return subprocess.run([TENON, "tokenize", *map(str, arguments)], input=stdin, capture_output=True)


class Command(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.holder.name)
        cls.corpus = cls.folder / "corpus.txt"
        cls.corpus.write_bytes(b"the cat sat on the mat. the cat sat.\n" * 20)
        cls.bpe = cls.folder / "bpe"
        trained = tenon("--train", cls.corpus, "--vocabulary", 265, "--out", cls.bpe)
        assert trained.returncode == 0, trained.stderr

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def ok(self, *arguments, stdin=b""):
        done = tenon(*arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def refused(self, status, *arguments, stdin=b""):
        done = tenon(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, status, done)
        self.assertEqual(done.stdout, b"")
        return done.stderr.decode()

    def test_bytes_from_stdin_come_back(self):
        ids = self.ok("-t", self.bpe, stdin=ALL_BYTES)
        self.assertEqual(self.ok("-t", self.bpe, "--decode", stdin=ids), ALL_BYTES)

    def test_arguments_and_files_are_one_line_each(self):
        lines = self.ok("-t", self.bpe, "the cat", "the", "--file", self.corpus).decode().splitlines()
        self.assertEqual(len(lines), 3)
        self.assertEqual(self.ok("-t", self.bpe, "-d", *lines[0].split()), b"the cat")

    def test_json_lists_are_decoded_too(self):
        ids = self.ok("-t", self.bpe, "the cat").split()
        self.assertEqual(self.ok("-t", self.bpe, "-d", stdin=b"[" + b", ".join(ids) + b"]\n"), b"the cat")

    def test_special_tokens_are_text_unless_allowed(self):
        end = b"264\n"
        self.assertNotEqual(self.ok("-t", self.bpe, "<|endoftext|>"), end)
        self.assertEqual(self.ok("-t", self.bpe, "--special", "<|endoftext|>"), end)

    def test_jsonl_takes_hex_before_text(self):
        cases = self.folder / "cases.jsonl"
        cases.write_text('{"text": "the"}\n\n{"text": "no", "utf8_hex": "ff00"}\n{"text": "<|endoftext|>", "special": true}\n')
        lists = [json.loads(line) for line in self.ok("-t", self.bpe, "--jsonl", cases).splitlines()]
        self.assertEqual(self.ok("-t", self.bpe, "-d", *lists[0]), b"the")
        self.assertEqual(self.ok("-t", self.bpe, "-d", *lists[1]), b"\xff\x00")
        self.assertEqual(lists[2], [264])

    def test_bad_lines_are_named(self):
        cases = self.folder / "bad.jsonl"
        for line, problem in [("{", "is not valid JSON (at byte 2 of it)"), ("[]", "is not a JSON object"), ("{}", "has neither text nor utf8_hex"),
                              ('{"text": 1}', "text must be a string"), ('{"utf8_hex": "f"}', "utf8_hex has an odd number of digits"),
                              ('{"utf8_hex": "zz"}', "utf8_hex has a letter that is no digit"),
                              ('{"text": "", "special": 1}', "special must be true or false")]:
            cases.write_text(line + "\n")
            self.assertEqual(self.refused(1, "-t", self.bpe, "--jsonl", cases), f"tenon: [tokenize] {cases}:1: {problem}\n")

    def test_a_corpus_may_be_too_small_for_the_vocabulary(self):
        self.assertIn(b"less than 5000: no more pairs occur often enough",
                      self.ok("--train", self.corpus, "--vocabulary", 5000, "--out", self.folder / "small"))

    def test_stats(self):
        text = self.ok("-t", self.bpe, "--stats", "--file", self.corpus, "--threads", 1).decode()
        self.assertIn(f"bytes            {self.corpus.stat().st_size}\n", text)
        self.assertIn("(1 threads)", text)

    def test_every_kind_can_be_trained(self):
        for kind in ("bpe", "char", "word", "byte"):
            out = self.folder / f"trained_{kind}"
            arguments = ["--train", self.corpus] if kind != "byte" else []
            self.ok(*arguments, "--kind", kind, "--out", out)
            ids = self.ok("-t", out, "--file", self.corpus)
            self.assertEqual(self.ok("-t", out, "-d", stdin=ids), self.corpus.read_bytes())

    def test_a_vocabulary_is_a_list_of_tokens(self):
        words = self.folder / "words.txt"
        words.write_text("the\ncat\nsat\n")
        self.assertEqual(self.ok("--vocab", words, "The cat sat down"), b"0 1 2 3\n")
        self.assertEqual(self.ok("--vocab", words, "--decode", "0", "1"), b"the cat")
        words.write_text("a book,\nline by line\n")
        self.assertIn('line 1 ("a book,") has a blank in it', self.refused(1, "--vocab", words, "x"))

    def test_threads_train_the_same(self):
        for threads in (1, 3):
            self.ok("--train", self.corpus, "--vocabulary", 262, "--out", self.folder / f"by{threads}", "--threads", threads)
        self.assertEqual((self.folder / "by1/tokenizer.json").read_bytes(), (self.folder / "by3/tokenizer.json").read_bytes())

    def test_failures_are_one_line(self):
        self.assertEqual(self.refused(1, "-t", self.bpe, "-d", "999"),
                         "tenon: [tokenizer] there is no token 999; the vocabulary has 0 to 264\n")
        self.assertEqual(self.refused(1, "-t", self.bpe, "-d", "1x"), 'tenon: [tokenize] "1x" is not a token number\n')
        self.assertEqual(self.refused(1, "-t", self.bpe, "-d", "99999999999"),
                         'tenon: [tokenize] "99999999999" is not a token number\n')
        self.assertEqual(self.refused(1, "-t", self.folder / "none", "x"),
                         f"tenon: [tokenizer] {self.folder}/none: there is no such file or folder\n")
        self.assertEqual(self.refused(1, "--train", self.corpus, "--vocabulary", "10", "--out", self.folder / "x").count("\n"), 1)

    def test_wrong_usage_has_its_own_status(self):
        self.refused(2, "hello")
        self.refused(2, "--train", self.corpus)
        self.refused(2, "-t", self.bpe, "--kind", "morse")
        self.refused(2, "-t", self.bpe, "--train", self.corpus)

    def test_help_has_examples(self):
        self.assertIn(b"Examples:", self.ok("--help"))


if __name__ == "__main__":
    unittest.main()
