"""Data, tokenizers, models and runs of training."""

import collections
import os
import tempfile
import threading
import time
import unittest

import numpy as np

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

    def test_a_dataset_gives_a_whole_batch_at_once(self):
        class Batched(Squares):
            asked = []

            def __getitem__(self, i):
                raise AssertionError("a sample alone")

            def __getitems__(self, numbers):
                self.asked.append(numbers)
                return [tenon.tensor(i * i) for i in numbers]

        for workers in (0, 1):
            Batched.asked.clear()
            batches = [batch.tolist() for batch in data.DataLoader(Batched(), batch_size=4, num_workers=workers)]
            self.assertEqual(sum(batches, []), [i * i for i in range(len(Batched()))])
            self.assertEqual(Batched.asked[0], [0, 1, 2, 3])
            self.assertEqual(len(Batched.asked), len(batches))

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

    def test_samples_reach_a_collate_function_as_they_are(self):
        samples = [("word", {"n": i, "inner": ([i], None)}, object()) for i in range(5)]
        for workers in (0, 2):
            batches = list(data.DataLoader(samples, batch_size=2, num_workers=workers, collate_fn=lambda batch: ("all", batch)))
            self.assertEqual([name for name, _ in batches], ["all"] * 3)
            self.assertIs(batches[1][1][0], samples[2])

    def test_the_default_batch_of_anything(self):
        class Point(collections.namedtuple("Point", "x y")):
            pass

        made = data.default_collate([{"word": "a", "pair": (1, [2.0, np.ones(2, np.float32)]), "point": Point(True, tenon.zeros(1))},
                                     {"word": "b", "pair": (3, [4.0, np.zeros(2, np.float32)]), "point": Point(False, tenon.ones(1))}])
        self.assertEqual(made["word"], ["a", "b"])
        numbers, (reals, arrays) = made["pair"]
        self.assertEqual((numbers.tolist(), reals.tolist(), arrays.tolist()), ([1, 3], [2, 4], [[1, 1], [0, 0]]))
        self.assertEqual((numbers.dtype, reals.dtype, arrays.dtype), (tenon.int64, tenon.float64, tenon.float32))
        self.assertEqual((made["point"].x.dtype, made["point"].y.shape), (tenon.bool, (2, 1)))
        self.assertEqual([x.tolist() for x in data.DataLoader(range(5), 2)], [[0, 1], [2, 3], [4]])
        for batch, text in (([(1,), (1, 2)], "different numbers of parts"), ([None], "not NoneType; give a collate_fn")):
            with self.assertRaisesRegex((TypeError, ValueError), text):
                data.default_collate(batch)

    def test_samplers(self):
        def batches(*args, **kwargs):
            return [x.tolist() for x in data.DataLoader(range(6), *args, **kwargs)]

        self.assertEqual(batches(batch_sampler=[[0, 1], [5]]), [[0, 1], [5]])
        self.assertEqual(batches(2, sampler=[5, 3, 1], drop_last=True), [[5, 3]])
        self.assertEqual(list(data.DataLoader(range(3), batch_size=None)), [0, 1, 2])
        self.assertEqual(sorted(sum(batches(4, sampler=data.RandomSampler(range(6))), [])), [0, 1, 2, 3, 4, 5])
        self.assertEqual(len(data.DataLoader(range(6), 4, sampler=data.RandomSampler(range(6), num_samples=9))), 3)
        self.assertEqual(set(data.WeightedRandomSampler([0, 0, 1.0], 20)), {2})
        self.assertEqual(sorted(data.SubsetRandomSampler([4, 7])), [4, 7])
        self.assertEqual(list(data.BatchSampler(data.SequentialSampler(range(5)), 2, True)), [[0, 1], [2, 3]])
        drawn = [batches(3, True, generator=tenon.Generator(3)) for _ in range(2)]
        self.assertEqual(drawn[0], drawn[1])
        for wrong in ({"sampler": [1], "shuffle": True}, {"batch_sampler": [[1]], "batch_size": 2}, {"batch_size": None, "drop_last": True}):
            with self.assertRaises(ValueError):
                data.DataLoader(range(6), **wrong)

    def test_datasets_that_are_iterated(self):
        class Numbers(data.IterableDataset):
            def __iter__(self):
                info = data.get_worker_info()
                return iter(range(7)) if info is None else iter(range(info.id, 7, info.num_workers))

        self.assertEqual([x.tolist() for x in data.DataLoader(Numbers(), 3)], [[0, 1, 2], [3, 4, 5], [6]])
        self.assertEqual([x.tolist() for x in data.DataLoader(Numbers(), 2, num_workers=2)], [[0, 2], [1, 3], [4, 6], [5]])
        self.assertEqual(list(data.DataLoader(Numbers() + Numbers(), None)), [*range(7), *range(7)])
        with self.assertRaisesRegex(TypeError, "has no __len__"):
            len(data.DataLoader(Numbers()))

    def test_workers_are_started_awaited_and_ended(self):
        begun = []
        list(data.DataLoader(range(4), num_workers=2, worker_init_fn=begun.append))
        self.assertEqual(sorted(begun), [0, 1])

        class Slow(Squares):
            def __getitem__(self, i):
                time.sleep(0.5)
                return i

        with self.assertRaisesRegex(tenon.Error, "no batch for 0.05 seconds"):
            list(data.DataLoader(Slow(), num_workers=1, timeout=0.05, pin_memory=True, persistent_workers=True, prefetch_factor=3))
        before = threading.active_count()
        batches = iter(data.DataLoader(range(100), num_workers=2))
        next(batches)
        del batches
        time.sleep(0.2)
        self.assertLessEqual(threading.active_count(), before)

    def test_a_loader_of_python_goes_on_behind_the_batch_that_was_handed_out(self):
        for workers in (0, 2):
            def made():
                return data.DataLoader(range(20), 3, True, num_workers=workers, seed=5, collate_fn=list)

            loader = made()
            passes = [list(loader), list(loader)]
            self.assertNotEqual(*passes)
            again = made()
            first = next(iter(again))
            resumed = made()
            resumed.restore(again.state())
            self.assertEqual([first, *resumed], passes[0])
            self.assertEqual(list(resumed), passes[1])

    def test_datasets_are_added_sliced_and_split(self):
        rows = data.TensorDataset(tenon.arange(6), tenon.arange(6) * 2)
        self.assertEqual([x.tolist() for x in rows[1:3]], [[1, 2], [2, 4]])
        both = rows + rows
        self.assertEqual((len(both), both[7][1].item(), both[-1][0].item()), (12, 2, 5))
        self.assertEqual([x.tolist() for x, _ in data.DataLoader(both, 5)], [[0, 1, 2, 3, 4], [5, 0, 1, 2, 3], [4, 5]])
        words = data.Subset(["a", "b", "c"], [2, 0])
        self.assertEqual((words.dataset, words.indices, list(data.DataLoader(words, 2))), (["a", "b", "c"], [2, 0], [["c", "a"]]))
        parts = data.random_split(["a", "b", "c", "d"], [0.75, 0.25])
        self.assertEqual(sorted([*(parts[0][i] for i in range(3)), parts[1][0]]), ["a", "b", "c", "d"])
        self.assertEqual(sorted([*parts[0].indices, *parts[1].indices]), [0, 1, 2, 3])
        self.assertEqual(data.StackDataset(x=[1, 2], y=["a", "b"])[1], {"x": 2, "y": "b"})
        self.assertEqual(list(data.DataLoader([])), [])

    def test_collate_split_and_transforms(self):
        loader = data.DataLoader(Squares(), batch_size=5, collate_fn=lambda samples: tenon.stack([x for x, _ in samples]) + 1)
        self.assertEqual(loader.next().tolist(), [1, 2, 3, 4, 5])
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
