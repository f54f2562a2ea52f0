"""BERT and what tells texts apart, from Python: against what transformers computed, and a run on a CSV."""

import json
import os
import pathlib
import tempfile
import unittest

import tenon
from tenon import models, text, training

RECORDED = pathlib.Path(__file__).parents[1] / "golden" / "bert"
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] fine dull film a very , .".split()


def recorded(name):
    """A model, and the tensors that transformers recorded for it."""
    return models.Bert.load(RECORDED / name).eval(), tenon.load(RECORDED / f"{name}.safetensors")


def largest(x):
    return x.abs().max().item()


class Golden(unittest.TestCase):
    def close(self, ours, theirs):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(largest(ours - theirs), 1e-5 * max(largest(theirs), 1e-2))

    def test_states_logits_and_losses(self):
        for name in ("masked_lm", "classifier"):
            with self.subTest(name):
                model, seen = recorded(name)
                tokens = {"mask": seen["mask"], "types": seen["types"]}
                self.close(model(seen["ids"], **tokens), seen["states"])
                self.close(model.logits(seen["ids"], **tokens), seen["logits"])
                loss = model.loss(seen["ids"], seen["targets"], **tokens)
                self.close(loss.reshape(1), seen["loss"].reshape(1))
                loss.backward()
                for key, parameter in model.named_parameters():
                    self.close(parameter.grad, seen["grad." + key])

    def test_pooled_and_embedding(self):
        model, seen = recorded("classifier")
        self.close(model.pooled(seen["ids"], seen["mask"], seen["types"]), seen["pooled"])
        states, mask = seen["states"], seen["mask"].to(tenon.float32).unsqueeze(2)
        mean = (states * mask).sum(1) / mask.sum(1)
        self.close(model.embedding(seen["ids"], seen["mask"], seen["types"]), mean)


class Files(unittest.TestCase):
    def test_a_model_comes_back(self):
        model, seen = recorded("classifier")
        with tempfile.TemporaryDirectory() as folder:
            model.save(folder)
            again = models.Bert.load(folder).eval()
            self.assertEqual(again.config, model.config)
            self.assertEqual(again.labels, model.labels)
            self.assertEqual(largest(again.logits(seen["ids"]) - model.logits(seen["ids"])), 0)

    def test_another_head(self):
        model = models.Bert.load(RECORDED / "masked_lm", head="classifier", labels=["no", "yes", "maybe"], dropout=0.0)
        self.assertEqual(json.loads(model.config)["id2label"], {"0": "no", "1": "yes", "2": "maybe"})
        self.assertEqual(model.logits(tenon.tensor([[1, 2, 3]])).shape, (1, 3))

    def test_mistakes(self):
        with self.assertRaisesRegex(ValueError, "there is no head 'words'; there are 'none', 'masked_lm' and 'classifier'"):
            models.Bert.load(RECORDED / "masked_lm", head="words")
        with self.assertRaisesRegex(TypeError, "the config has no 'size_of_it'; it has activation"):
            models.Bert(size_of_it=3)
        with self.assertRaisesRegex(tenon.Error, "a width of 8 cannot be divided among 3 heads"):
            models.Bert(width=8, heads=3, layers=1)
        with self.assertRaisesRegex(tenon.Error, "is a tokenizer of kind byte; a BERT reads a WordPiece"):
            models.bert_tokens(text.byte_tokenizer(), ["a"])


class Classifier(unittest.TestCase):
    def test_texts_are_learned(self):
        tenon.manual_seed(1)
        with tempfile.TemporaryDirectory() as folder:
            words = os.path.join(folder, "vocab.txt")
            pathlib.Path(words).write_text("\n".join(WORDS) + "\n")
            tokenizer = text.load_tokenizer(words)
            model = models.Bert(vocabulary=len(WORDS), positions=16, width=32, layers=1, heads=2, inner=64, dropout=0.0,
                                head="classifier", labels=["bad", "good"])
            texts = ["a fine film", "a very fine film.", "a dull film", "very, very dull"]
            ids, mask, types = models.bert_tokens(tokenizer, texts)
            self.assertEqual(ids[0].tolist()[:5], [2, 8, 5, 7, 3])
            self.assertEqual(mask.sum(1).tolist(), [5, 7, 5, 6])
            labels = tenon.tensor([1, 1, 0, 0])
            optimizer = tenon.optim.AdamW(model.parameters(), lr=1e-2)
            for _ in range(30):
                loss = model.loss(ids, labels, mask, types)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            model.save(folder)
            classifier = models.TextClassifier.load(folder)
            self.assertEqual(classifier.labels, ["bad", "good"])
            said = classifier.classify(["very fine", "dull, dull film"])
            self.assertEqual([one.label for one in said], ["good", "bad"])
            one = classifier.classify("very fine")
            self.assertAlmostEqual(sum(one.probabilities), 1, places=5)
            self.assertEqual(one.probability, max(one.probabilities))
            self.assertRegex(repr(one), r"TextClass\('good', (0\.\d{4}|1\.0000)\)")
            with self.assertRaisesRegex(tenon.Error, "2 texts and 1 second ones do not make pairs"):
                classifier.classify(["a", "a"], seconds=["a"])

    def test_a_run_on_a_csv(self):
        with tempfile.TemporaryDirectory() as folder:
            table, run = os.path.join(folder, "texts.csv"), os.path.join(folder, "run")
            rows = [f"{'very ' * (i % 3)}{'fine' if i % 2 else 'dull'} film,{'good' if i % 2 else 'bad'}" for i in range(60)]
            pathlib.Path(table).write_text("text,label\n" + "\n".join(rows) + "\n")
            result = training.train("text_classifier", run, quiet=True, set={
                "data.train": table, "model.width": 32, "model.layers": 1, "training.steps": 60, "schedule.warmup_steps": 5,
                "training.batch_size": 8, "optimizer.lr": 0.003, "sample.every": 0, "checkpoint.every": 0, "device.name": "cpu"})
            self.assertGreater(result["validation_accuracy"], 0.9)
            classifier = models.TextClassifier.load(run)
            self.assertEqual([one.label for one in classifier.classify(["a fine film", "dull"])], ["good", "bad"])


if __name__ == "__main__":
    unittest.main()
