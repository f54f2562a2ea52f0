"""Data, tokenizers, models and runs of training."""

import os
import tempfile
import unittest

import tenon
from tenon import data, models, text, training


class Squares(data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        if i >= 10:
            raise IndexError
        return tenon.tensor(float(i)), i * i


class Data(unittest.TestCase):
    def test_batches_of_python_datasets(self):
        for workers in (0, 2):
            loader = data.DataLoader(Squares(), batch_size=4, num_workers=workers)
            batches = [(x.tolist(), y.tolist()) for x, y in loader]
            self.assertEqual(batches, [([0, 1, 2, 3], [0, 1, 4, 9]), ([4, 5, 6, 7], [16, 25, 36, 49]), ([8, 9], [64, 81])])
            self.assertEqual((len(loader), loader.epoch), (3, 1))

    def test_shuffling_and_state(self):
        rows = data.TensorDataset(tenon.arange(10))
        loader = data.DataLoader(rows, batch_size=3, shuffle=True, seed=7, drop_last=True)
        first = loader.next()
        state = loader.state()
        second = loader.next()[0].tolist()
        loader.restore(state)
        self.assertEqual(loader.next()[0].tolist(), second)
        self.assertEqual(first[0].shape, (3,))

    def test_every_iter_is_a_pass_of_its_own(self):
        for workers in (0, 2):
            loader = data.DataLoader(data.TensorDataset(tenon.arange(10)), batch_size=4, num_workers=workers)
            self.assertEqual(next(iter(loader))[0].tolist(), [0, 1, 2, 3])
            for _ in loader:
                break
            self.assertEqual([len(x) for x, in loader], [4, 4, 2])
            self.assertEqual([len(x) for x, in loader], [4, 4, 2])
            self.assertEqual([(len(a), len(b)) for (a,), (b,) in zip(loader, loader)], [(4, 4), (4, 4), (2, 2)])
            over = iter(loader)
            self.assertEqual(len(list(over)), 3)
            self.assertEqual([list(over), len(list(loader))], [[], 3])
            self.assertEqual((len(loader.dataset), loader.batch_size, loader.num_workers), (10, 4, workers))

    def test_passes_are_shuffled_anew_and_resumed(self):
        rows = data.TensorDataset(tenon.arange(20))
        loader = data.DataLoader(rows, batch_size=5, shuffle=True, seed=3)
        passes = [[x.tolist() for x, in loader] for _ in range(2)]
        self.assertNotEqual(passes[0], passes[1])
        again = data.DataLoader(rows, batch_size=5, shuffle=True, seed=3)
        for i, (x,) in enumerate(again):
            if i == 1:
                state = again.state()
                break
        resumed = data.DataLoader(rows, batch_size=5, shuffle=True, seed=3)
        resumed.restore(state)
        self.assertEqual([x.tolist() for x, in resumed], passes[0][2:])
        self.assertEqual([x.tolist() for x, in resumed], passes[1])
        resumed.set_epoch(0)
        self.assertEqual([x.tolist() for x, in resumed], passes[0])

    def test_what_a_dataset_raises_stays_what_it_is(self):
        class Own(Exception):
            pass

        class Raises(Squares):
            def __init__(self, error):
                self.error = error

            def __getitem__(self, i):
                if i == 5:
                    raise self.error
                return tenon.tensor(i)

        def refuse(samples):
            raise Own("no batches")

        for workers in (0, 2):
            for error in (KeyboardInterrupt(), SystemExit(3), Own("five"), KeyError("five")):
                with self.assertRaises(type(error)) as caught:
                    list(data.DataLoader(Raises(error), batch_size=4, num_workers=workers))
                self.assertIs(caught.exception, error)
                if hasattr(error, "add_note"):
                    self.assertEqual(error.__notes__, ["[data_loader] sample 5 in epoch 0"])
            with self.assertRaisesRegex(Own, "^no batches$"):
                list(data.DataLoader(Squares(), collate_fn=refuse, num_workers=workers))

    def test_errors_name_the_sample(self):
        class Bad(Squares):
            def __getitem__(self, i):
                return 1 / (i - 5)

        with self.assertRaisesRegex((tenon.Error, ZeroDivisionError), "ZeroDivisionError|division"):
            list(data.DataLoader(Bad(), batch_size=10))
        with self.assertRaisesRegex(TypeError, "a dataset has __len__ and __getitem__; int has not"):
            data.DataLoader(3)
        with self.assertRaisesRegex(IndexError, "there is no sample 10 among 10"):
            data.TensorDataset(tenon.arange(10))[10]

    def test_collate_split_and_transforms(self):
        loader = data.DataLoader(Squares(), batch_size=5, collate_fn=lambda samples: tenon.stack([x for x, _ in samples]) + 1)
        self.assertEqual(loader.next()[0].tolist(), [1, 2, 3, 4, 5])
        a, b = data.random_split(Squares(), [7, 3], seed=1)
        self.assertEqual(sorted(a.indices + b.indices), list(range(10)))
        images = data.TensorDataset(tenon.full((4, 1, 2, 2), 255, dtype=tenon.uint8))
        change = data.compose([data.to_float(), data.normalize(0.5, 0.5), lambda x: x * 2])
        self.assertEqual(data.transformed(images, change)[0][0].tolist(), [[[2, 2], [2, 2]]])

    def test_tokens(self):
        loader = data.TokenLoader(list(range(100)), batch_size=2, length=5, order="sequential")
        x, y = loader.next()
        self.assertEqual((x.shape, (y - x).tolist()), ((2, 5), [[1] * 5] * 2))


class Text(unittest.TestCase):
    def test_tokenizers(self):
        corpus = "the cat sat on the mat. " * 50
        for tokenizer in (text.train_bpe(corpus, vocabulary=300), text.char_tokenizer(corpus), text.byte_tokenizer()):
            self.assertEqual(tokenizer.decode(tokenizer.encode("the cat")), "the cat")
            with tempfile.TemporaryDirectory() as folder:
                tokenizer.save(folder)
                self.assertEqual(text.load_tokenizer(folder).encode("the mat"), tokenizer.encode("the mat"))
        with self.assertRaisesRegex(tenon.Error, "z"):
            text.char_tokenizer("abc").encode("z")


class Models(unittest.TestCase):
    def test_a_small_gpt2_learns_and_writes(self):
        tokenizer = text.char_tokenizer("abcdefgh \n")
        model = models.GPT2(vocabulary=tokenizer.vocabulary, positions=32, width=32, layers=2, heads=2, dropout=0.0,
                            start_token=0, end_token=-1)
        ids = tenon.tensor([tokenizer.encode("abcdefgh" * 4)])
        optimizer = tenon.optim.AdamW(model.parameters(), lr=1e-2)

        @tenon.compile
        def step(x, y):
            loss = model.loss(x, y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss.detach()

        for _ in range(60):
            loss = step(ids[:, :-1], ids[:, 1:])
        self.assertLess(loss.item(), 0.5)
        tokens = model.generate(tokenizer.encode("abc"), new_tokens=5)
        self.assertEqual(tokenizer.decode(tokens), "abcdefgh")
        self.assertEqual(models.TextWriter(model, tokenizer).write("abc", new_tokens=5), "defgh")
        with self.assertRaisesRegex(TypeError, "the config has no 'size_of_it'; it has activation"):
            models.GPT2(size_of_it=3)


class Training(unittest.TestCase):
    def test_a_run_from_a_config(self):
        seen = []
        changes = {"training.steps": 4, "training.eval_every": 0, "checkpoint.every": 0, "sample.every": 0,
                   "training.batch_size": 2, "data.story_megabytes": 1, "training.log_every": 1}
        with tempfile.TemporaryDirectory() as folder:
            result = training.train("demo", os.path.join(folder, "run"), quiet=True, set=changes, on_metrics=seen.append)
            self.assertEqual((result["step"], result["stopped"]), (4, False))
            self.assertTrue(os.path.exists(result["report"]))
            self.assertEqual([one["step"] for one in seen], [1, 2, 3, 4])
        self.assertIn("demo", training.presets())
        with self.assertRaisesRegex(tenon.Error, "training.stepz"):
            training.load_config("demo", set={"training.stepz": 1})


if __name__ == "__main__":
    unittest.main()
