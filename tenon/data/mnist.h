// MNIST, Fashion-MNIST and other datasets in IDX files, packed with gzip or not.

#pragma once

#include <array>
#include <filesystem>
#include <string_view>

#include "tenon/data/dataset.h"

namespace tenon::data {

/// The array in an IDX file. i1 and i2 become i32. Fails with one line that starts with `[idx] path`.
///   Tensor pictures = data::load_idx("data/train-images-idx3-ubyte.gz");
Tensor load_idx(const std::filesystem::path& path, Device device = {});

/// "image", u8 (1, 28, 28), and "label", i64, of the folder with train-images-idx3-ubyte, train-labels-idx1-ubyte and
/// the two files of t10k, each with or without .gz. 60,000 samples to train on or 10,000 to test.
///   data::TensorDataset train = data::mnist("data/mnist");
TensorDataset mnist(const std::filesystem::path& folder, bool train = true);

/// The same of Fashion-MNIST. Without a folder: where Debian's package dataset-fashion-mnist puts it.
///   data::TensorDataset test = data::fashion_mnist("data/fashion", false);
TensorDataset fashion_mnist(const std::filesystem::path& folder = {}, bool train = true);

/// The names of the classes of Fashion-MNIST, by label.
inline constexpr std::array<std::string_view, 10> kFashionMnistClasses = {
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"};

}  // namespace tenon::data
