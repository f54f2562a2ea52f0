// CIFAR-10 and CIFAR-100 from their binary files (cifar-10-binary.tar.gz and cifar-100-binary.tar.gz, unpacked).

#pragma once

#include <array>
#include <filesystem>
#include <string_view>

#include "tenon/data/dataset.h"

namespace tenon::data {

/// "image", u8 (3, 32, 32), and "label", i64, of the folder cifar-10-batches-bin or the one it lies in:
/// data_batch_1.bin to data_batch_5.bin with 50,000 samples to train on, or test_batch.bin with 10,000. Files of fewer
/// samples are taken as they are; one that ends inside a sample is refused.
///   data::TensorDataset train = data::cifar10("data/cifar-10-batches-bin");
TensorDataset cifar10(const std::filesystem::path& folder, bool train = true);

/// Which labels of CIFAR-100 are meant.
enum class Cifar100Label { kFine, kCoarse };  // of 100 classes, or of 20
/// The same of the folder cifar-100-binary: train.bin or test.bin.
///   data::TensorDataset test = data::cifar100("data/cifar-100-binary", false);
TensorDataset cifar100(const std::filesystem::path& folder, bool train = true,
                       Cifar100Label label = Cifar100Label::kFine);

/// The names of the classes, by label.
inline constexpr std::array<std::string_view, 10> kCifar10Classes = {
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};

}  // namespace tenon::data
