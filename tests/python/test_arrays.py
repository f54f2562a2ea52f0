"""numpy and DLPack: nothing is copied, owners live as long as their views, and who sees whose writes is defined."""

import gc
import threading
import unittest
import weakref

import numpy as np

import tenon


class Numpy(unittest.TestCase):
    def test_memory_is_shared_both_ways(self):
        a = np.arange(6, dtype=np.float32).reshape(2, 3)
        x = tenon.from_numpy(a)
        b = x.numpy()
        self.assertEqual(b.ctypes.data, a.ctypes.data)
        a[0, 0] = 10
        self.assertEqual(x[0, 0].item(), 10)
        x[1, 2] = 20
        self.assertEqual((a[1, 2], b[1, 2]), (20, 20))
        b[1, 0] = 30
        self.assertEqual(x[1, 0].item(), 30)

    def test_all_dtypes(self):
        for dtype in (np.float32, np.float16, np.float64, np.int32, np.int64, np.uint8, np.bool_):
            a = np.array([0, 1, 1], dtype)
            x = tenon.from_numpy(a)
            self.assertEqual(x.numpy().dtype, a.dtype)
            np.testing.assert_array_equal(x.tolist(), a)

    def test_strides(self):
        whole = np.arange(120, dtype=np.float32).reshape(4, 5, 6)
        for part in (whole.T, whole[1:, ::2], whole[:, 2:4, 1], whole[..., 3], np.asfortranarray(whole),
                     whole.transpose(1, 0, 2), whole[::3, 1:4, ::2], whole[2], np.float32(3).reshape(())):
            part = np.asarray(part)
            part = part if part.flags.writeable else part.copy()
            x = tenon.from_numpy(part)
            np.testing.assert_array_equal(np.array(x.tolist(), np.float32), part)
            if part.size > 1:
                part[(0,) * part.ndim] = -1
                self.assertEqual(x[(0,) * part.ndim].item(), -1)

    def test_views_of_tensors(self):
        x = tenon.arange(12, dtype=tenon.float32).reshape(3, 4)
        a = x.T[1:, ::2].numpy()
        np.testing.assert_array_equal(a, np.arange(12, dtype=np.float32).reshape(3, 4).T[1:, ::2])
        a[0, 0] = 100
        self.assertEqual(x[0, 1].item(), 100)
        np.testing.assert_array_equal(x[::-1].numpy(), np.array(x.tolist())[::-1])

    def test_asarray_and_memoryview(self):
        x = tenon.arange(4)
        self.assertTrue(np.shares_memory(np.asarray(x), x.numpy()))
        self.assertEqual(memoryview(x).tolist(), [0, 1, 2, 3])
        self.assertEqual(np.asarray(x, dtype=np.float64).dtype, np.float64)

    def test_empty(self):
        self.assertEqual(tenon.from_numpy(np.zeros((0, 3), np.float32)).shape, (0, 3))
        self.assertEqual(tenon.zeros(0, 3).numpy().shape, (0, 3))

    def test_what_is_expanded_is_read_only(self):
        a = tenon.rand(3).expand(2, 3).numpy()
        self.assertFalse(a.flags.writeable)

    def test_no_bytes_are_copied(self):
        a = np.zeros(1 << 22, np.float32)
        before = tenon.memory_allocated()
        x = tenon.from_numpy(a)
        b = x.numpy()
        self.assertEqual(tenon.memory_allocated(), before)
        self.assertTrue(np.shares_memory(a, b))


class Lifetime(unittest.TestCase):
    def test_a_tensor_keeps_the_array(self):
        a = np.arange(1000, dtype=np.float32)
        x = tenon.from_numpy(a)[10:]
        gone = weakref.ref(a)
        del a
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertEqual(x[0].item(), 10)
        del x
        tenon.synchronize()
        gc.collect()
        self.assertIsNone(gone())

    def test_an_array_keeps_the_memory(self):
        a = tenon.arange(1000, dtype=tenon.float32).numpy()
        b = [tenon.full((1000,), 7.0).wait() for _ in range(10)]
        self.assertEqual(a[999], 999)
        del b

    def test_an_array_keeps_memory_whose_tensor_has_got_other(self):
        p = tenon.nn.Parameter(tenon.ones(4))
        a = p.detach().numpy()
        p.data = tenon.zeros(4)
        self.assertEqual(a.tolist(), [1, 1, 1, 1])
        self.assertEqual(p.tolist(), [0, 0, 0, 0])

    def test_a_result_keeps_what_it_is_made_of(self):
        y = tenon.from_numpy(np.full(100, 2, np.float32)) * 3
        gc.collect()
        self.assertEqual(y.sum().item(), 600)


class Writes(unittest.TestCase):
    """docs/python.md promises these."""

    def test_numpys_writes_are_seen_by_what_is_computed_later(self):
        a = np.ones(3, np.float32)
        x = tenon.from_numpy(a)
        recorded = x * 2
        computed = (x * 3).wait()
        a[:] = 5
        self.assertEqual(recorded.tolist(), [10, 10, 10])
        self.assertEqual(computed.tolist(), [3, 3, 3])

    def test_the_same_formula_is_computed_anew(self):
        a = np.ones(3, np.float32)
        x = tenon.from_numpy(a)
        first = (x * 2).wait()
        a[:] = 5
        second = x * 2
        self.assertEqual((first.tolist(), second.tolist()), ([2, 2, 2], [10, 10, 10]))
        total = x.sum().item()
        a[:] = 6
        self.assertEqual((total, x.sum().item()), (15, 18))

    def test_tenons_writes_are_there_at_once_and_change_no_earlier_value(self):
        a = np.ones(3, np.float32)
        x = tenon.from_numpy(a)
        recorded = x * 2
        x += 1
        self.assertEqual(a.tolist(), [2, 2, 2])
        self.assertEqual(recorded.tolist(), [2, 2, 2])
        x[0] = 9
        self.assertEqual(a.tolist(), [9, 2, 2])
        x.copy_(x.flip(0))
        self.assertEqual(a.tolist(), [2, 2, 9])

    def test_the_same_holds_for_memory_of_tensors(self):
        x = tenon.ones(3)
        before = x * 2
        a = x.numpy()
        x.mul_(4)
        self.assertEqual((a.tolist(), before.tolist()), ([4, 4, 4], [2, 2, 2]))
        a[1] = 0
        self.assertEqual((x + 1).tolist(), [5, 1, 5])

    def test_a_captured_function_sees_them(self):
        a = np.ones(3, np.float32)
        x = tenon.from_numpy(a)
        scale = tenon.from_numpy(np.ones(3, np.float32))
        step = tenon.compile(lambda y: y * scale)
        for i in range(6):
            a[:] = i
            scale.numpy()[:] = i
            self.assertEqual(step(x).tolist(), [i * i] * 3)

    def test_indices_are_looked_at_when_they_are_used(self):
        a = np.array([0, 1])
        index = tenon.from_numpy(a)
        table = tenon.arange(10, dtype=tenon.float32)
        self.assertEqual(table[index].tolist(), [0, 1])
        a[:] = [8, 9]
        self.assertEqual(table[index].tolist(), [8, 9])
        a[0] = 10
        with self.assertRaisesRegex(tenon.Error, "10"):
            table[index].tolist()

    def test_gradients_go_through_shared_memory(self):
        a = np.array([1, 2], np.float32)
        x = tenon.from_numpy(a).requires_grad_()
        (x * x).sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 4])
        with tenon.no_grad():
            x -= 0.5 * x.grad
        self.assertEqual(a.tolist(), [0, 0])

    def test_values_with_gradients_are_not_written_there(self):
        x = tenon.from_numpy(np.ones(2, np.float32))
        w = tenon.ones(2, requires_grad=True)
        with self.assertRaisesRegex(tenon.Error, "memory that is shared cannot take values with gradients"):
            x.mul_(w)


class DLPack(unittest.TestCase):
    def test_numpy_takes_tensors(self):
        x = tenon.arange(6, dtype=tenon.float32).reshape(2, 3)
        a = np.from_dlpack(x.T)
        np.testing.assert_array_equal(a, np.arange(6).reshape(2, 3).T)
        self.assertEqual(a.ctypes.data, x.numpy().ctypes.data)

    def test_tensors_of_arrays(self):
        a = np.arange(6, dtype=np.float32).reshape(2, 3)
        x = tenon.from_dlpack(a[:, 1:])
        a[1, 2] = 50
        self.assertEqual(x.tolist(), [[1, 2], [4, 50]])

    def test_a_capsule_is_used_once(self):
        capsule = tenon.ones(3).__dlpack__()
        self.assertEqual(tenon.from_dlpack(capsule).tolist(), [1, 1, 1])
        with self.assertRaisesRegex(ValueError, "the DLPack capsule was used already"):
            tenon.from_dlpack(capsule)
        tenon.ones(3).__dlpack__()  # one that nobody takes is let go

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed")
        x = tenon.arange(6, dtype=tenon.float32)
        t = torch.from_dlpack(x)
        t[0] = 42
        self.assertEqual(x[0].item(), 42)
        y = tenon.from_dlpack(torch.arange(12).reshape(3, 4)[:, 1:3])
        self.assertEqual(y.tolist(), [[1, 2], [5, 6], [9, 10]])
        self.assertEqual(tenon.from_dlpack(torch.ones(2, dtype=torch.bfloat16)).dtype, tenon.bfloat16)

    def test_cupy(self):
        try:
            import cupy
        except ImportError:
            self.skipTest("cupy is not installed")
        with self.assertRaisesRegex(TypeError, "only tensors in the memory of the host are shared"):
            tenon.from_dlpack(cupy.ones(3))


class BadInput(unittest.TestCase):
    def test_arrays(self):
        a = np.arange(6, dtype=np.float32)
        read_only = a.copy()
        read_only.flags.writeable = False
        for array, error, text in [
            (a[::-1], ValueError, r"the array has negative strides; share a copy of it, with a.copy\(\)"),
            (read_only, ValueError, "the array is read-only, and tensors may be written; share a copy of it"),
            (a.astype(">f4"), ValueError, "the array is big-endian; convert it with a.astype"),
            (np.array([None, 1], object), TypeError, "an array of objects has no numbers to share; convert it"),
            (a.astype(np.complex64), TypeError, "Tenon has no dtype for elements of format 'Zf'; convert it"),
            (a.astype(np.int8), TypeError, "Tenon has no dtype for elements of format 'b'; convert it"),
            (np.broadcast_to(a, (2, 6)), ValueError, "read-only"),
            (np.array(["a"]), TypeError, "Tenon has no dtype for elements of format"),
            ([1, 2], TypeError, "a numpy array is needed, not list"),
            (np.lib.stride_tricks.as_strided(a, (3, 2), (4, 4)), ValueError, "strides of the array are not those of slices"),
            (np.zeros(9, np.uint8)[1:].view(np.float32), tenon.Error, "no multiple of 4 bytes"),
        ]:
            with self.subTest(text), self.assertRaisesRegex(error, text):
                tenon.from_numpy(array)

    def test_copies_take_what_sharing_refuses(self):
        a = np.arange(6, dtype=np.float32)
        self.assertEqual(tenon.tensor(a[::-1]).tolist(), a[::-1].tolist())
        a.flags.writeable = False
        self.assertEqual(tenon.tensor(a).tolist(), a.tolist())
        with self.assertRaisesRegex(ValueError, "big-endian"):
            tenon.tensor(a.astype(">f4"))

    def test_tensors(self):
        with self.assertRaisesRegex(TypeError, r"a tensor that requires grad is not shared; call detach\(\) first"):
            tenon.ones(2, requires_grad=True).numpy()
        with self.assertRaisesRegex(TypeError, r"numpy has no bfloat16; convert the tensor first, with float\(\)"):
            tenon.ones(2, dtype=tenon.bfloat16).numpy()


class Threads(unittest.TestCase):
    def test_many_threads_compute_at_once(self):
        results = [None] * 8

        def work(i):
            x = tenon.full((100, 100), float(i))
            for _ in range(20):
                x = (x @ tenon.eye(100)).wait()
            results[i] = x[0, 0].item()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [float(i) for i in range(8)])

    def test_memory_is_let_go_of_in_any_thread(self):
        arrays = [np.ones(1000, np.float32) for _ in range(16)]
        gone = [weakref.ref(a) for a in arrays]
        tensors = [tenon.from_numpy(a) for a in arrays]
        del arrays

        def drop():
            while tensors:
                try:
                    (tensors.pop() + 1).wait()
                except IndexError:
                    return

        threads = [threading.Thread(target=drop) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tenon.synchronize()
        gc.collect()
        self.assertTrue(all(one() is None for one in gone))


if __name__ == "__main__":
    unittest.main()
