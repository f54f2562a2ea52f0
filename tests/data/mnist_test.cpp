// IDX files, and MNIST and Fashion-MNIST in them.

#include "tenon/data/mnist.h"

#include "tenon/tensor/ops.h"
#include "tests/data/compress.h"
#include "tests/data/support.h"

namespace tenon::data {
namespace {

/// Two zeros, type, rank, the sizes.
std::string header(int type, const std::vector<int>& shape) {
  std::string text = {0, 0, static_cast<char>(type), static_cast<char>(shape.size())};
  for (const int size : shape)
    text += {static_cast<char>(size >> 24), static_cast<char>(size >> 16), static_cast<char>(size >> 8),
             static_cast<char>(size)};
  return text;
}

class Idx : public InFolder {
 protected:
  std::string refused(const std::string& content) const {
    const std::string text = text_of([&] { load_idx(write(content)); });
    const std::string front = "[idx] " + path().string() + ": ";
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text.starts_with(front) ? text.substr(front.size()) : text;
  }
};

TEST_F(Idx, BytesHaveTheirShape) {
  const Tensor x = load_idx(write(header(8, {2, 3}) + "\1\2\3\4\5\6"));
  EXPECT_EQ(x.dtype(), uint8);
  EXPECT_EQ(x.shape(), Dims({2, 3}));
  EXPECT_EQ(x.to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Idx, NumbersOfEveryTypeAreBigEndian) {
  using namespace std::string_literals;
  const auto loaded = [&](int type, const std::string& data) { return load_idx(write(header(type, {2}) + data)); };
  EXPECT_EQ(loaded(9, "\xFF\x02"s).to_vector<int64_t>(), (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(loaded(0xB, "\xFF\xFE\x01\x00"s).to_vector<int64_t>(), (std::vector<int64_t>{-2, 256}));
  EXPECT_EQ(loaded(0xC, "\xFF\xFF\xFF\xFD\0\0\1\0"s).to_vector<int64_t>(), (std::vector<int64_t>{-3, 256}));
  EXPECT_EQ(loaded(0xC, "\0\0\0\0\0\0\0\0"s).dtype(), int32);
  EXPECT_EQ(loaded(0xD, "\x3F\x80\0\0\xC0\0\0\0"s).to_vector<float>(), (std::vector<float>{1, -2}));
  EXPECT_EQ(loaded(0xE, "\x3F\xF0\0\0\0\0\0\0\xC0\0\0\0\0\0\0\0"s).to_vector<double>(), (std::vector<double>{1, -2}));
}

TEST_F(Idx, MayBeCompressed) {
  for (const Packer& packer : kPackers)
    EXPECT_EQ(load_idx(write(packer.pack(header(8, {3}) + "abc"))).to_vector<int64_t>(),
              (std::vector<int64_t>{'a', 'b', 'c'}))
        << packer.name;
}

TEST_F(Idx, EveryTruncationIsRefused) {
  const std::string whole = header(8, {2, 3}) + "abcdef", packed = gzipped(whole);
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_NE(refused(whole.substr(0, size)), "nothing was thrown");
  for (size_t size = 1; size < packed.size(); ++size) EXPECT_NE(refused(packed.substr(0, size)), "nothing was thrown");
  EXPECT_EQ(refused(whole.substr(0, 3)), "ends inside its first four bytes: fetch the file again");
  EXPECT_EQ(refused(whole.substr(0, 10)), "ends inside its shape: fetch the file again");
  EXPECT_EQ(refused(whole.substr(0, 15)),
            "ends after 3 of the 6 bytes that the shape (2, 3) takes: fetch the file again");
  EXPECT_EQ(refused(packed.substr(0, packed.size() - 9)),
            "its gzip stream is cut off, near byte " + std::to_string(packed.size() - 9) + ": fetch the file again");
}

TEST_F(Idx, OtherFilesAreRefused) {
  EXPECT_EQ(refused("\x89PNG...."),
            "begins with 89 50 4e 47; an IDX file begins with 00 00, a type from 08 to 0e and the number of dims");
  EXPECT_EQ(refused(header(0xA, {1}) + "a"),
            "begins with 00 00 0a 01; an IDX file begins with 00 00, a type from 08 to 0e and the number of dims");
  EXPECT_EQ(refused(header(8, {})), "says that it has 0 dims; there are 1 to 64");
  EXPECT_EQ(refused(header(8, {2}) + "abc"), "goes on after the 2 bytes that the shape (2,) takes");
}

TEST_F(Idx, HugeHeadersAreRefusedWithoutMemory) {
  EXPECT_EQ(refused(header(0xE, {60000, 28, 28}) + "abc"),
            "says that its shape is (60000, 28, 28), which is far more than the file holds");
  EXPECT_EQ(refused(header(8, {-1, -1, -1})),
            "says that its shape is (4294967295, 4294967295, 4294967295), which is far more than the file holds");
}

TEST_F(Idx, FilesThatAreNotThereAreNamed) {
  EXPECT_EQ(text_of([] { load_idx("/nowhere/x"); }), "[idx] /nowhere/x: cannot be read: No such file or directory");
  EXPECT_EQ(text_of([&] { load_idx(folder_); }), "[idx] " + folder_.string() + ": is not a regular file");
}

class Mnist : public InFolder {};

TEST_F(Mnist, IsImagesAndLabels) {
  write("train-images-idx3-ubyte.gz", gzipped(header(8, {2, 2, 3}) + "abcdefghijkl"));
  write("train-labels-idx1-ubyte", header(8, {2}) + "\7\1");
  for (const TensorDataset& dataset : {mnist(folder_), fashion_mnist(folder_)}) {
    EXPECT_EQ(dataset.size(), 2);
    const Sample second = dataset.get(1);
    EXPECT_EQ(second["image"].shape(), Dims({1, 2, 3}));
    EXPECT_EQ(second["image"].dtype(), uint8);
    EXPECT_EQ(second["image"].to_vector<int64_t>()[0], 'g');
    EXPECT_EQ(second["label"].dtype(), int64);
    EXPECT_EQ(second["label"].item<int64_t>(), 1);
  }
}

TEST_F(Mnist, SaysWhatIsMissingOrDoesNotFit) {
  const std::string where = "[mnist] " + folder_.string() + ": ";
  EXPECT_EQ(text_of([&] { mnist(folder_, false); }),
            where +
                "has neither t10k-images-idx3-ubyte nor t10k-images-idx3-ubyte.gz: give the folder that the four files "
                "were fetched to");
  write("train-images-idx3-ubyte", header(8, {1, 2, 2}) + "abcd");
  write("train-labels-idx1-ubyte", header(8, {2}) + "ab");
  EXPECT_EQ(text_of([&] { mnist(folder_); }),
            where + "there are 1 images and 2 labels: the files do not belong together");
  write("train-labels-idx1-ubyte", header(8, {1, 1}) + "a");
  EXPECT_EQ(text_of([&] { mnist(folder_); }),
            "[mnist] " + path("train-labels-idx1-ubyte").string() + ": holds u8(1, 1); labels are u8 of one dim");
  write("train-images-idx3-ubyte", header(8, {4}) + "abcd");
  EXPECT_EQ(text_of([&] { mnist(folder_); }),
            "[mnist] " + path("train-images-idx3-ubyte").string() + ": holds u8(4,); images are u8 of three dims");
}

// Files of the same form, such as EMNIST's, have more classes than the tasks and names of these two.
TEST_F(Mnist, RefusesLabelsThatItDoesNotHave) {
  write("t10k-images-idx3-ubyte", header(8, {2, 1, 1}) + "ab");
  const fs::path labels = write("t10k-labels-idx1-ubyte", header(8, {2}) + "\1\x63");
  EXPECT_EQ(text_of([&] { mnist(folder_, false); }),
            "[mnist] " + labels.string() +
                ": has the label 99; there are 10 classes: load_idx() reads files of other datasets");
  EXPECT_EQ(load_idx(labels).to_vector<int64_t>(), (std::vector<int64_t>{1, 99}));
}

// 33.3184 of 255 is the mean of 0.1307 that everybody normalises with.
TEST(RealMnist, HasItsKnownMeanAndLabels) {
  const fs::path folder = io::shared_data() / "mnist";
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder;
  const TensorDataset train = mnist(folder), test = mnist(folder, false);
  EXPECT_EQ(train.size(), 60000);
  EXPECT_EQ(test.size(), 10000);
  EXPECT_NEAR(train.tensors()["image"].to(float64).mean().item<double>(), 33.3184, 1e-3);
  EXPECT_EQ(train.tensors()["label"].slice(0, 0, 8).to_vector<int64_t>(),
            (std::vector<int64_t>{5, 0, 4, 1, 9, 2, 1, 3}));
  EXPECT_EQ(test.get(0)["label"].item<int64_t>(), 7);
}

TEST(RealFashionMnist, IsFoundWhereDebianPutsIt) {
  if (!fs::exists("/usr/share/datasets/fashion-mnist")) {
    EXPECT_EQ(
        text_of([] { fashion_mnist(); }),
        "[fashion_mnist] /usr/share/datasets/fashion-mnist is not there: apt-get install dataset-fashion-mnist, or "
        "give a folder");
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  EXPECT_EQ(fashion_mnist().size(), 60000);
  EXPECT_EQ(fashion_mnist({}, false).size(), 10000);
  EXPECT_EQ(kFashionMnistClasses.at(static_cast<size_t>(fashion_mnist().get(0)["label"].item<int64_t>())),
            "Ankle boot");
}

}  // namespace
}  // namespace tenon::data
