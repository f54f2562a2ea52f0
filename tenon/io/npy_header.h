// The header of numpy's .npy format: what the array behind it is. No tensor is made here.

#pragma once

#include <string>
#include <vector>

#include "tenon/io/element.h"
#include "tenon/io/input.h"

namespace tenon::io {

struct NpyHeader {
  std::string descr;  // the dtype as the file spells it: "<f4"
  Element element = Element::u8;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<uint64_t> shape;
  std::span<const std::byte> data;  // as many bytes as the shape takes
};

/// Fails with one line unless the bytes are exactly those of one array that Tenon can hold.
NpyHeader parse_npy(const Input& input);

/// The elements in row-major order and in this machine's byte order, as held_as() stores them. Fails on elements that
/// no tensor can hold.
std::vector<std::byte> elements_of(const Input& input, const NpyHeader& header);

}  // namespace tenon::io
