// CIFAR's binary files.

#include "tenon/data/cifar.h"

#include "tests/data/support.h"

namespace tenon::data {
namespace {

/// Labels, and pixels of which the first of each channel differs.
std::string record(const std::string& labels, char first) {
  std::string pixels(3072, '\0');
  pixels[0] = first;
  pixels[1024] = static_cast<char>(first + 1);
  pixels[2048] = static_cast<char>(first + 2);
  return labels + pixels;
}

class Cifar : public InFolder {};

TEST_F(Cifar, TenClassesLieInFiveFiles) {
  for (char i = 1; i <= 5; ++i)
    write("data_batch_" + std::to_string(i) + ".bin", record({i}, 10) + record({static_cast<char>(i + 1)}, 20));
  write("test_batch.bin", record({9}, 30));
  const TensorDataset train = cifar10(folder_);
  EXPECT_EQ(train.size(), 10);
  EXPECT_EQ(train.tensors()["label"].to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 2, 3, 3, 4, 4, 5, 5, 6}));
  const Tensor image = train.get(9)["image"];
  EXPECT_EQ(image.shape(), Dims({3, 32, 32}));
  EXPECT_EQ(image.index({1, 0, 0}).item<int64_t>(), 21);
  EXPECT_EQ(image.index({2, 0, 0}).item<int64_t>(), 22);
  EXPECT_EQ(cifar10(folder_, false).get(0)["label"].item<int64_t>(), 9);
  EXPECT_EQ(kCifar10Classes[9], "truck");
}

TEST_F(Cifar, AHundredClassesHaveTwentyAboveThem) {
  fs::create_directory(path("cifar-100-binary"));
  write("cifar-100-binary/train.bin", record({4, 77}, 1));
  EXPECT_EQ(cifar100(folder_).get(0)["label"].item<int64_t>(), 77);
  EXPECT_EQ(cifar100(folder_, true, Cifar100Label::kCoarse).get(0)["label"].item<int64_t>(), 4);
  EXPECT_EQ(cifar100(folder_).get(0)["image"].index({0, 0, 0}).item<int64_t>(), 1);
}

TEST_F(Cifar, WhatIsCutOrSomethingElseIsRefused) {
  const std::string file = path("test_batch.bin").string(), front = "[cifar10] " + file + ": ";
  const auto refused = [&](const std::string& content) {
    write("test_batch.bin", content);
    return text_of([&] { cifar10(folder_, false); });
  };
  EXPECT_EQ(text_of([&] { cifar10(folder_, false); }),
            front + "is not there: give the folder cifar-10-batches-bin of the binary version, unpacked");
  EXPECT_EQ(refused(record({1}, 0).substr(0, 3000)),
            front + "has 3000 bytes, which are not records of 3073: it is cut, or no such file; fetch it again");
  EXPECT_EQ(refused(record({1}, 0) + record({2}, 0).substr(0, 3072)),
            front + "has 6145 bytes, which are not records of 3073: it is cut, or no such file; fetch it again");
  EXPECT_EQ(refused(""),
            front + "has 0 bytes, which are not records of 3073: it is cut, or no such file; fetch it again");
  EXPECT_EQ(refused(record({1}, 0) + record({10}, 0)),
            front + "record 1 has the label 10, there are 10 classes: it is no such file");
  write("test.bin", record({20, 99}, 0));
  EXPECT_EQ(text_of([&] { cifar100(folder_, false); }),
            "[cifar100] " + path("test.bin").string() +
                ": record 0 has the label 20, there are 20 classes: it is no such file");
}

}  // namespace
}  // namespace tenon::data
