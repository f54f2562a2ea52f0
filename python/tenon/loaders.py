"""DataLoader, samplers and datasets of anything.

The order of samples is the library's for all datasets, so that seeds, epochs and states mean the same in C++. Workers are
threads. Batches of the library's own datasets, whose samples are tensors, are read and stacked by the library, without
Python's lock; samples of classes of Python's, and of functions that collate, are made here.
"""

import atexit
import bisect
import itertools
import math
import sys
import threading
import weakref

from . import _tenon

_native = _tenon._data
NativeDataset, TensorDataset = _native.NativeDataset, _native.TensorDataset
Tensor = _tenon.Tensor


# ---- datasets ----


class Dataset:
    """Samples by number: a class with __len__ and __getitem__, which gives a tensor, a tuple, a dict or anything else.

    Where it has __getitems__, too, loaders ask that for all samples of a batch at once: it takes and gives a list.
    """

    def __len__(self):
        raise NotImplementedError("a dataset has __len__")

    def __getitem__(self, i):
        raise NotImplementedError("a dataset has __getitem__")

    def __add__(self, other):
        return ConcatDataset([self, other])

    def __class_getitem__(cls, _):
        return cls  # Dataset[int] says what samples are, to readers


class IterableDataset(Dataset):
    """Samples one after the other: a class with __iter__.

    Every worker of a loader iterates over it by itself: get_worker_info() says which part is whose.
    """

    __len__ = None
    __getitem__ = None

    def __iter__(self):
        raise NotImplementedError("an iterable dataset has __iter__")

    def __add__(self, other):
        return ChainDataset([self, other])


def _item(dataset, i):
    """Counts from the end, too."""
    count = len(dataset)
    if not -count <= i < count:
        raise IndexError(f"there is no sample {i} among {count}")
    return i + count if i < 0 else i


def _as_native(dataset):
    """The library's dataset of the same samples, or None where Python gives them."""
    if isinstance(dataset, NativeDataset):
        return dataset
    return dataset._as_native() if isinstance(dataset, (Subset, ConcatDataset)) else None


class Subset(Dataset):
    """Some samples of a dataset."""

    def __init__(self, dataset, indices):
        if not hasattr(dataset, "__getitem__"):
            raise TypeError(f"a dataset has __len__ and __getitem__; {type(dataset).__name__} has not")
        self.dataset, self.indices = dataset, indices.tolist() if isinstance(indices, Tensor) else indices

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, i):
        if isinstance(i, (list, tuple)):
            return [self[one] for one in i]
        return self.dataset[self.indices[_item(self, i)]]

    def _as_native(self):
        of = _as_native(self.dataset)
        return None if of is None else _native.Subset(of, list(self.indices))


class ConcatDataset(Dataset):
    """Datasets one behind the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("at least one dataset is needed")
        for one in self.datasets:
            if not getattr(one, "__len__", None) or not getattr(one, "__getitem__", None):
                raise TypeError(f"a dataset has __len__ and __getitem__; {type(one).__name__} has not")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, i):
        i = _item(self, i)
        place = bisect.bisect_right(self.cumulative_sizes, i)
        return self.datasets[place][i - (self.cumulative_sizes[place - 1] if place else 0)]

    def _as_native(self):
        parts = [_as_native(one) for one in self.datasets]
        return None if any(part is None for part in parts) else _native.ConcatDataset(parts)


class ChainDataset(IterableDataset):
    """Iterable datasets one behind the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)

    def __iter__(self):
        return itertools.chain.from_iterable(self.datasets)


class StackDataset(Dataset):
    """Datasets side by side: sample i has that of each, as a tuple or by their names as a dict."""

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ValueError("datasets are given by position or by name")
        self.datasets = kwargs or args
        if len(set(map(len, kwargs.values() if kwargs else args))) != 1:
            raise ValueError("the datasets have different sizes")

    def __len__(self):
        return len(next(iter(self.datasets.values())) if isinstance(self.datasets, dict) else self.datasets[0])

    def __getitem__(self, i):
        if isinstance(self.datasets, dict):
            return {name: one[i] for name, one in self.datasets.items()}
        return tuple(one[i] for one in self.datasets)


def random_split(dataset, lengths, generator=None, seed=0):
    """Shuffles a dataset and deals it out; lengths are numbers of samples, or parts of 1."""
    if generator is not None:
        seed = _drawn_seed(generator)
    lengths = list(lengths)
    if lengths and all(isinstance(length, float) for length in lengths):
        if not math.isclose(sum(lengths), 1) or min(lengths) < 0:
            raise ValueError(f"parts of a dataset are positive and add up to 1, not {lengths}")
    return [Subset(dataset, part) for part in _native._split(len(dataset), lengths, seed)]


def transformed(dataset, transform, field=0):
    """A dataset whose tensor at a place goes through a transform."""
    of = _as_native(dataset)
    return _native.transformed(dataset if of is None else of, transform, field)


# ---- samplers ----


def _drawn_seed(generator):
    return int(_tenon.randint(0, 2**31 - 1, (1,), generator=generator).item())


class Sampler:
    """The order of samples: a class with __iter__, which gives their numbers, and __len__ where it is known."""

    def __init__(self, data_source=None):
        pass

    def __class_getitem__(cls, _):
        return cls

    def __iter__(self):
        raise NotImplementedError("a sampler has __iter__")


class SequentialSampler(Sampler):
    """0, 1, 2, ..."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """All samples in another order each time, or any of them with replacement."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._count = num_samples
        if self.num_samples <= 0:
            raise ValueError(f"the number of samples must be positive, not {self.num_samples}")

    @property
    def num_samples(self):
        return len(self.data_source) if self._count is None else self._count

    def __iter__(self):
        count = len(self.data_source)
        if self.replacement:
            yield from _tenon.randint(0, count, (self.num_samples,), generator=self.generator).tolist()
            return
        left = self.num_samples
        while left > 0:
            yield from _tenon.randperm(count, generator=self.generator).tolist()[:left]
            left -= count

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Some samples, in another order each time."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for i in _tenon.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Samples drawn with probabilities in proportion to weights."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        self.weights = _tenon.tensor(list(map(float, weights)), dtype=_tenon.float64)
        if num_samples <= 0:
            raise ValueError(f"the number of samples must be positive, not {num_samples}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        return iter(_tenon.multinomial(self.weights.float(), self.num_samples, self.replacement,
                                       generator=self.generator).tolist())

    def __len__(self):
        return self.num_samples


def _check_batch_size(size):
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise TypeError(f"the size of a batch is a positive integer, not {type(size).__name__}")
    if size.__index__() <= 0:
        raise ValueError(f"the size of a batch is a positive integer, not {size}")


class BatchSampler(Sampler):
    """Lists of what another sampler gives.

    >>> from tenon.data import BatchSampler, SequentialSampler
    >>> list(BatchSampler(SequentialSampler(range(5)), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        _check_batch_size(batch_size)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        return _batches_of(iter(self.sampler), self.batch_size, self.drop_last)

    def __len__(self):
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(count // -self.batch_size)


def _batches_of(numbers, size, drop_last):
    while True:
        batch = list(itertools.islice(numbers, size))
        if not batch or (drop_last and len(batch) < size):
            return
        yield batch


# ---- collating ----


def _is_array(value):
    return type(value).__module__ == "numpy" and hasattr(value, "dtype")


def _is_named_tuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def default_convert(data):
    """Arrays as tensors, inside of tuples, lists and dicts, too; everything else as it is."""
    if _is_array(data):
        return data if data.dtype.kind in "SUO" else _tenon.tensor(data)
    if isinstance(data, dict):
        return {name: default_convert(value) for name, value in data.items()}
    if _is_named_tuple(data):
        return type(data)(*map(default_convert, data))
    if isinstance(data, (tuple, list)):
        return [default_convert(value) for value in data]
    return data


def default_collate(batch):
    """One batch of a list of samples: tensors, arrays and numbers are stacked, texts stay a list; tuples, lists and dicts
    of them are taken apart.

    >>> from tenon.data import default_collate
    >>> default_collate([(1, {"name": "a"}), (2, {"name": "b"})])
    [tensor([1, 2]), {'name': ['a', 'b']}]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return _tenon.stack(batch)
    if _is_array(first):
        if first.dtype.kind in "SUO":
            raise TypeError(f"a batch holds tensors, arrays of numbers, numbers, texts, tuples, lists and dicts, not arrays of "
                            f"{first.dtype}; give a collate_fn")
        return _stack_of_arrays(batch)
    if isinstance(first, bool):
        return _tenon.tensor(batch)
    if isinstance(first, float):
        return _tenon.tensor(batch, dtype=_tenon.float64)
    if isinstance(first, int):
        return _tenon.tensor(batch, dtype=_tenon.int64)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, dict):
        return {name: default_collate([one[name] for one in batch]) for name in first}
    if isinstance(first, (tuple, list)):
        if any(len(one) != len(first) for one in batch):
            raise ValueError(f"samples of one batch have different numbers of parts: {sorted({len(one) for one in batch})}; "
                             "give a collate_fn")
        parts = [default_collate(list(part)) for part in zip(*batch)]
        return type(first)(*parts) if _is_named_tuple(first) else parts
    raise TypeError("a batch holds tensors, arrays, numbers, texts, tuples, lists and dicts, not "
                    f"{type(first).__name__}; give a collate_fn")


def _stack_of_arrays(batch):
    numpy = sys.modules["numpy"]
    stacked = numpy.stack(batch)
    try:
        return _tenon.from_numpy(stacked)
    except (TypeError, ValueError):  # of a dtype that has to be converted
        return _tenon.tensor(stacked)


def _on(device, value):
    """A batch with its tensors on a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {name: _on(device, one) for name, one in value.items()}
    if _is_named_tuple(value):
        return type(value)(*(_on(device, one) for one in value))
    return type(value)(_on(device, one) for one in value) if type(value) in (tuple, list) else value


# ---- workers ----


class WorkerInfo:
    """Which of a loader's workers this thread is: id, num_workers, seed, dataset."""

    def __init__(self, id, num_workers, seed, dataset):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed})"


_here = threading.local()


def get_worker_info():
    """Inside of a worker of a loader: which it is; elsewhere None."""
    return getattr(_here, "info", None)


class _Raised:
    """What a worker hands over in the place of a batch; the worker may have ended with it."""

    def __init__(self, error, is_end=False):
        self.error, self.is_end = error, is_end


class _Over:
    """A worker has no more."""


_open = weakref.WeakSet()


@atexit.register
def _close_all():
    for one in list(_open):
        one.close(wait=True)


class _Pass:
    """Batches that are made when they are asked for; threads that share it get one each."""

    def __init__(self, make, wanted):
        self._make, self._wanted, self._alone = make, wanted, threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self._alone:
            wanted = next(self._wanted)
        return self._make(wanted)


class _Workers:
    """Threads that each make their batches, in order; whoever iterates takes them in turn.

    Threads hold no reference to this object: it can be collected while they wait for work.
    """

    def __init__(self, count, ahead, timeout, work_of, wanted, handed_out):
        import queue

        self._timeout, self._wanted, self._empty, self._handed_out = timeout, wanted, queue.Empty, handed_out
        self._alone = threading.Lock()  # threads that iterate over one pass share its batches
        self._to, self._from = ([queue.SimpleQueue() for _ in range(count)] for _ in range(2))
        self._alive = [True] * count
        self._given = self._taken = 0
        self._stop = threading.Event()
        self._threads = []
        _open.add(self)
        for i in range(count):
            thread = threading.Thread(target=_worked, daemon=True, name=f"tenon-loader-{i}",
                                      args=(work_of, i, self._to[i], self._from[i], self._stop))
            thread.start()
            self._threads.append(thread)  # one that could not start is not waited for
        for _ in range(ahead * count):
            self._give()

    def _give(self):
        wanted = next(self._wanted, _Over)
        if wanted is not _Over:
            self._to[self._given % len(self._to)].put((wanted,))
            self._given += 1

    def __iter__(self):
        return self

    def __next__(self):
        with self._alone:
            return self._next()

    def _next(self):
        while self._taken < self._given and not self._stop.is_set():
            at = self._taken % len(self._from)
            try:
                made = self._from[at].get(timeout=self._timeout or None) if self._alive[at] else _Over
            except self._empty:
                self.close()
                raise _tenon.Error(f"[data_loader] a worker has given no batch for {self._timeout} seconds") from None
            self._taken += 1
            self._give()
            if made is _Over:
                self._alive[at] = False
                if not any(self._alive):
                    break
                continue
            if isinstance(made, _Raised):
                if made.is_end:
                    self.close()
                raise made.error
            batch, wanted = made
            self._handed_out(wanted)
            return batch
        self.close()
        raise StopIteration

    def close(self, wait=False):
        self._stop.set()
        for queue in self._to:
            queue.put(None)
        if wait:
            for thread in self._threads:
                if thread is not threading.current_thread():
                    thread.join()

    def __del__(self):
        if hasattr(self, "_threads"):
            self.close()


def _worked(work_of, number, wanted, made, stop):
    """The life of one worker."""
    try:
        work = work_of(number)
    except BaseException as error:
        made.put(_Raised(error, is_end=True))
        return
    while not stop.is_set():
        one = wanted.get()
        if one is None:
            break
        try:
            result = work(one[0])
        except BaseException as error:
            result = _Raised(error)
        made.put(result)
        del one, result


# ---- the loader ----


class _Place:
    """Where passes and next() stand in the library's order: the state before the batch that comes next."""

    def __init__(self, state):
        self.state, self._alone = state, threading.Lock()

    def take(self, order):
        """The state, and goes on to the next."""
        with self._alone:
            state, self.state = self.state, order.after(self.state)
        return state


def _rest_of_epoch(order, place):
    """The states of an epoch that are left, whoever takes them."""
    epoch = place.state.epoch
    while place.state.epoch == epoch:
        yield place.take(order)


def _states_ahead(order, state, is_endless):
    """States that workers begin before they are asked for."""
    epoch = state.epoch
    while is_endless or state.epoch == epoch:
        yield state
        state = order.after(state)


class _Plan:
    """How samples become batches; what workers hold of a loader."""

    def __init__(self, loader, epoch):
        self.dataset, self.collate, self.device, self.epoch = loader.dataset, loader.collate_fn, loader._device, epoch
        self.drop_last, self.batch_size, self.has_workers = loader.drop_last, loader.batch_size, loader.num_workers > 0
        self.order, self.is_native = loader._order, loader._is_native

    def batch(self, wanted):
        """Of a state of the library's order, or of what a sampler gives: the number of a sample, or a list of them."""
        if isinstance(wanted, _native._State):
            if self.is_native:
                return self.order.batch(wanted, self.has_workers)
            numbers = self.order.indices(wanted)
            return self.made(self.samples(numbers[0] if self.batch_size is None else numbers, wanted.epoch))
        return self.made(self.samples(wanted, self.epoch))

    def samples(self, numbers, epoch):
        """One sample, or a list of them."""
        if not isinstance(numbers, list):
            return self._at(self.dataset.__getitem__, "sample", numbers, epoch)
        if hasattr(self.dataset, "__getitems__"):
            return self._at(self.dataset.__getitems__, "samples", numbers, epoch)
        return [self.samples(i, epoch) for i in numbers]

    def _at(self, get, what, numbers, epoch):
        try:
            return get(numbers)
        except BaseException as error:
            if hasattr(error, "add_note"):
                error.add_note(f"[data_loader] {what} {numbers} in epoch {epoch}")
            raise

    def made(self, samples):
        batch = self.collate(samples)
        return batch if self.device is None else _on(self.device, batch)

    def stream(self):
        """The batches of an iterable dataset."""
        samples = iter(self.dataset)
        if self.batch_size is None:
            return map(self.made, samples)
        return map(self.made, _batches_of(samples, self.batch_size, self.drop_last))


class DataLoader:
    """The batches of a dataset, epoch after epoch.

    >>> from tenon.data import DataLoader
    >>> [x.tolist() for x in DataLoader(range(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None,
                 generator=None, *, prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True,
                 seed=0, last="keep", prefetch=2, device=None):
        self._is_stream = isinstance(dataset, IterableDataset)
        if not self._is_stream and not (getattr(dataset, "__len__", None) and getattr(dataset, "__getitem__", None)):
            raise TypeError(f"a dataset has __len__ and __getitem__; {type(dataset).__name__} has not")
        if sampler is not None or batch_sampler is not None:
            if self._is_stream:
                raise ValueError("an IterableDataset comes in its own order: leave the sampler out")
            if shuffle:
                raise ValueError("the sampler says the order: leave shuffle out")
        if self._is_stream and shuffle:
            raise ValueError("an IterableDataset has its own order; shuffle there")
        if batch_sampler is not None and (batch_size != 1 or sampler is not None or drop_last):
            raise ValueError("a batch_sampler says all: it goes without batch_size, sampler and drop_last")
        if batch_size is None and drop_last:
            raise ValueError("without batches there is no last one to drop: drop_last goes with a batch_size")
        if batch_size is not None:
            _check_batch_size(batch_size)
        if num_workers < 0 or timeout < 0:
            raise ValueError("num_workers and timeout are not negative")
        if last not in ("keep", "drop", "pad"):
            raise ValueError(f"there is no way '{last}' to treat the last batch; there are 'keep', 'drop' and 'pad'")
        self.dataset, self.num_workers, self.drop_last = dataset, num_workers, drop_last or last == "drop"
        self.batch_size = None if batch_sampler is not None else batch_size
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.collate_fn = collate_fn or (default_convert if batch_size is None else default_collate)
        self.timeout, self.worker_init_fn, self.pin_memory = timeout, worker_init_fn, pin_memory
        self.prefetch_factor, self.persistent_workers = prefetch_factor or prefetch, persistent_workers
        self._device, self._seed = device, seed if generator is None else _drawn_seed(generator)
        self._passes, self._order, self._place = 0, None, None
        self._begun = None  # the epoch of the last pass, unless next(), set_epoch() or restore() have followed it
        self._endless, self._alone = None, threading.Lock()  # of next(): workers, and the place of which they make the batches
        of = _as_native(dataset)
        is_plain = sampler is None and batch_sampler is None and batch_size is not None
        self._is_native = of is not None and is_plain and collate_fn is None
        if not self._is_stream and is_plain and len(dataset) < (batch_size if self.drop_last else 1):  # no batch at all
            self.sampler = SequentialSampler(dataset)
        elif sampler is None and batch_sampler is None and not self._is_stream:
            self._order = _native._Order(
                of if self._is_native else len(dataset), 1 if batch_size is None else batch_size, bool(shuffle), self._seed,
                num_workers, self.prefetch_factor, "drop" if self.drop_last else last, device if self._is_native else "cpu")
            self._place = _Place(self._order.begin(0))
            self.sampler = RandomSampler(dataset) if shuffle else SequentialSampler(dataset)

    def __len__(self):
        if self._order is not None:
            return len(self._order)
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        if self._is_stream and not getattr(type(self.dataset), "__len__", None):
            raise TypeError(f"a {type(self.dataset).__name__} has no __len__, and neither has its loader")
        count = len(self.dataset if self._is_stream else self.sampler)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(count // -self.batch_size)

    def __iter__(self):
        """A pass over the batches of the next epoch."""
        if self._order is None:
            plan = _Plan(self, self._passes)
            self._passes += 1
            if not self._is_stream:
                return self._pass(plan, self._by_sampler())
            return self._pass(plan, itertools.repeat(None)) if self.num_workers else plan.stream()
        with self._alone:  # threads that begin passes beside each other have one each
            state = self._place.state
            if self._begun is not None and (state.batch or state.epoch == self._begun):  # the last pass is not at its end
                state = self._order.begin(self._begun + 1)
            place = _Place(state)
            self._begun, self._place = state.epoch, place
        return self._pass(_Plan(self, state.epoch), *self._from(place, False))

    def _from(self, place, is_endless):
        """What comes from a place on, and what moves the place when workers hand it out."""
        order = self._order
        if not self.num_workers:
            return (_rest_of_epoch(order, place),)

        def handed_out(state):
            place.state = order.after(state)

        return _states_ahead(order, place.state, is_endless), handed_out

    def _by_sampler(self):
        """The numbers of the samples of every batch."""
        if self.batch_sampler is not None:
            return map(list, iter(self.batch_sampler))
        if self.batch_size is None:
            return iter(self.sampler)
        return _batches_of(iter(self.sampler), self.batch_size, self.drop_last)

    def _pass(self, plan, wanted, handed_out=lambda _: None):
        if not self.num_workers:
            return _Pass(plan.batch, wanted)
        count, start, dataset, is_stream = self.num_workers, self.worker_init_fn, self.dataset, self._is_stream
        seed = self._seed + plan.epoch * count

        def work_of(number):
            _here.info = WorkerInfo(number, count, seed + number, dataset)
            if start is not None:
                start(number)
            if not is_stream:
                return lambda wanted: (plan.batch(wanted), wanted)
            batches = ((batch, None) for batch in plan.stream())
            return lambda _: next(batches, _Over)

        return _Workers(count, self.prefetch_factor, self.timeout, work_of, wanted, handed_out)

    def _in_order(self, what):
        if self._order is None:
            raise TypeError(f"{what} is that of the loader's own order; a sampler or an IterableDataset has its own")
        return self._order

    def next(self):
        """The next batch of the last pass; the first of the next epoch follows the last of this one."""
        order, place = self._in_order("next()"), self._place
        if not self.num_workers:
            return _Plan(self, place.state.epoch).batch(place.take(order))
        with self._alone:
            if self._endless is None or self._endless[1] is not self._place:
                self._place = place = _Place(place.state)  # a pass that is under way goes on by itself
                self._endless = self._pass(_Plan(self, place.state.epoch), *self._from(place, True)), place
            batches = self._endless[0]
        return next(batches)

    @property
    def epoch(self):
        """The epoch that the last pass is in."""
        return self._passes if self._order is None else self._place.state.epoch

    def _go_to(self, state):
        self._begun, self._endless, self._place = None, None, _Place(state)

    def set_epoch(self, epoch):
        """The next pass is over this epoch."""
        if self._order is None and hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)
        else:
            self._go_to(self._in_order("set_epoch()").begin(epoch))

    def state(self):
        """Where the last pass stands, as JSON."""
        self._in_order("state()")
        return self._place.state.json()

    def restore(self, state):
        """The next pass goes on where a state was taken."""
        self._go_to(self._in_order("restore()").restored(state))
