// numpy's files: .npy holds one array, .npz several under names.

#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tenon/tensor/tensor.h"

namespace tenon::io {

/// Reads an array, of either byte order and either memory order. i1, i2 and u2 become i32, u4 and u8 i64. Fails with
/// one line on what Tenon does not hold: complex numbers, text, records, objects.
///   io::save_npy("x.npy", tensor({1, 2}));
///   io::load_npy("x.npy");  // [1 2]
Tensor load_npy(const std::filesystem::path& path, Device device = {});
/// Writes beside, syncs and renames. bf16, which numpy lacks, has to be converted first.
///   io::save_npy("x.npy", tensor({1, 2}));
void save_npy(const std::filesystem::path& path, const Tensor& tensor);

/// Reads all arrays of an archive, packed or not, under the names they were saved by.
///   io::save_npz("x.npz", {{"a", tensor({1, 2})}});
///   io::load_npz("x.npz").at("a");  // [1 2]
std::map<std::string, Tensor> load_npz(const std::filesystem::path& path, Device device = {});
/// As numpy.savez: not packed.
///   io::save_npz("x.npz", {{"a", tensor({1, 2})}, {"b", tensor({3})}});
void save_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors);

}  // namespace tenon::io
