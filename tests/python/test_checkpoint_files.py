"""Files of PyTorch's kind are read from one open file and written by the library: whole, or not at all."""

import os
import stat
import tempfile
import threading
import unittest

import tenon


class InFolder(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = made.name
        self.path = os.path.join(made.name, "a.pt")

    def content(self):
        with open(self.path, "rb") as file:
            return file.read()

    def write(self, content):
        with open(self.path, "wb") as file:
            file.write(content)


class Writing(InFolder):
    def test_a_device_is_written_through(self):
        device = os.path.join(self.folder, "null")
        try:
            os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            with open(device, "wb"):
                pass
        except OSError as error:
            self.skipTest(f"a device cannot be made here: {error}")
        tenon.save({"w": tenon.ones(2)}, device)
        self.assertTrue(stat.S_ISCHR(os.stat(device).st_mode))
        tenon.save(tenon.ones(2), os.devnull)
        self.assertTrue(stat.S_ISCHR(os.stat(os.devnull).st_mode))

    def test_two_threads_that_save_one_name_leave_a_whole_file(self):
        def save(number):
            for _ in range(10):
                tenon.save({"epoch": number, "w": tenon.full((1000,), float(number))}, self.path)

        threads = [threading.Thread(target=save, args=(number,)) for number in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = tenon.load(self.path)
        self.assertEqual(found["w"].sum().item(), 1000 * found["epoch"])
        self.assertEqual(os.listdir(self.folder), ["a.pt"])

    def test_links_beside_the_file_are_not_followed_and_leftovers_go(self):
        victim = os.path.join(self.folder, "victim")
        with open(victim, "w") as file:
            file.write("mine")
        own = os.getpid()
        for name in (f"a.pt.{own}.partial", f"a.pt.{own}-0.tmp"):
            os.symlink(victim, os.path.join(self.folder, name))
        left = os.path.join(self.folder, f"a.pt.{2**22 + 7}-0.tmp")  # of a process that cannot be
        with open(left, "w") as file:
            file.write("half")
        tenon.save({"w": tenon.ones(2)}, self.path)
        with open(victim) as file:
            self.assertEqual(file.read(), "mine")
        self.assertFalse(os.path.exists(left))
        self.assertEqual(tenon.load(self.path)["w"].tolist(), [1, 1])

    def test_a_tensor_may_have_an_empty_name(self):
        tenon.save({"": tenon.ones(2), "w": {"": tenon.zeros(1)}}, self.path)
        found = tenon.load(self.path)
        self.assertEqual((found[""].tolist(), found["w"][""].tolist()), ([1, 1], [0]))
        tenon.save(tenon.ones(3), self.path)
        self.assertEqual(tenon.load(self.path).tolist(), [1, 1, 1])

    def test_a_private_file_stays_private(self):
        for kind in ("pt", "safetensors", "npz"):
            path = os.path.join(self.folder, "private." + kind)
            tenon.save({"w": tenon.ones(2)}, path)
            os.chmod(path, 0o600)
            tenon.save({"w": tenon.zeros(2)}, path)
            self.assertEqual((os.stat(path).st_mode & 0o777, tenon.load(path)["w"].tolist()), (0o600, [0, 0]))

    def test_a_link_stays_and_what_it_leads_to_is_replaced(self):
        os.mkdir(os.path.join(self.folder, "runs"))
        for kind in ("pt", "safetensors", "npy", "npz"):
            target, link = os.path.join(self.folder, "runs", "step_10." + kind), os.path.join(self.folder, "latest." + kind)
            os.symlink(os.path.join("runs", "step_10." + kind), link)
            for value in (1.0, 2.0):  # first to a file that is not there yet
                given = tenon.full((2,), value)
                tenon.save(given if kind == "npy" else {"w": given}, link)
                found = tenon.load(target)
                self.assertEqual((found if kind == "npy" else found["w"]).tolist(), [value] * 2)
            self.assertTrue(os.path.islink(link))
            self.assertFalse(os.path.islink(target))
        self.assertEqual(len(os.listdir(os.path.join(self.folder, "runs"))), 4)

    def test_links_in_a_circle_are_refused(self):
        os.symlink("b.pt", self.path)
        os.symlink("a.pt", os.path.join(self.folder, "b.pt"))
        with self.assertRaisesRegex(tenon.Error, r"^\[save\] .*a\.pt: cannot be written: its links lead in a circle"):
            tenon.save({"w": tenon.ones(2)}, self.path)

    def test_links_of_strangers_in_a_folder_of_all_users_are_refused(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a link that is somebody else's")
        os.chmod(self.folder, 0o1777)
        os.symlink("victim.pt", self.path)
        os.lchown(self.path, 12345, 12345)
        with self.assertRaisesRegex(tenon.Error, "it is a link that another user has put into"):
            tenon.save({"w": tenon.ones(2)}, self.path)
        self.assertEqual(os.listdir(self.folder), ["a.pt"])

    def test_an_open_file_gets_the_same_bytes(self):
        import io

        value = {"epoch": 3, "w": tenon.ones(2)}
        tenon.save(value, self.path)
        memory = io.BytesIO()
        tenon.save(value, memory)
        self.assertEqual(memory.getvalue(), self.content())


class Reading(InFolder):
    def test_a_name_in_an_archive_of_numpy_that_is_no_text_is_one_line(self):
        path = os.path.join(self.folder, "a.npz")
        tenon.save({"name": tenon.ones(2)}, path)
        with open(path, "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(content.replace(b"name.npy", b"n\xff\xfee.npy"))
        with self.assertRaises(tenon.Error) as caught:
            tenon.load(path)
        self.assertEqual(str(caught.exception), f'[npz] {path}: the name "n\\xff\\xfee.npy" in the archive is not valid UTF-8')

    def test_takes_all_from_one_save(self):
        def value(number):
            return {"epoch": number, "w": tenon.full((10,), float(number))}

        tenon.save(value(0), self.path)
        is_over = threading.Event()

        def save():
            for number in range(60):
                tenon.save(value(number), self.path)
            is_over.set()

        writer = threading.Thread(target=save)
        writer.start()
        while not is_over.is_set():
            found = tenon.load(self.path)
            self.assertEqual(found["w"].tolist(), [found["epoch"]] * 10)
        writer.join()
        self.assertEqual(tenon.load(self.path)["epoch"], 59)

    def test_takes_files_that_pytorch_wrote_without_checksums(self):
        tenon.save({"epoch": 3}, self.path)
        content = bytearray(self.content())
        first = content.find(b"PK\x01\x02")
        content[first + 16:first + 20] = bytes(4)  # of the pickle
        self.write(content)
        self.assertEqual(tenon.load(self.path), {"epoch": 3})

    def test_a_damaged_end_is_an_error_and_loses_no_numbers(self):
        tenon.save({"epoch": 3, "w": tenon.ones(2)}, self.path)
        good = self.content()
        for place in range(good.find(b"PK\x06\x06"), len(good)):
            damaged = bytearray(good)
            damaged[place] ^= 1
            self.write(damaged)
            try:
                found = tenon.load(self.path)
            except tenon.Error as error:
                self.assertRegex(str(error), r"^\[torch\] .*a\.pt: [^\n]*$")
            else:
                self.assertEqual((found["epoch"], found["w"].tolist()), (3, [1, 1]), place)


if __name__ == "__main__":
    unittest.main()
