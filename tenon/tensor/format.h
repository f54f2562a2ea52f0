// Arrays as text, character for character what numpy's str() gives with its default print options.
//
// Users compare what they see with numpy and PyTorch; equal text makes that a diff instead of a judgement.
//
//   format_array({2, 2}, DType::f32, std::vector<double>{1, 2.5, 3, 4}, {});
//   [[1.  2.5]
//    [3.  4. ]]

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tenon/ir/dtype.h"
#include "tenon/ir/shape.h"

namespace tenon {

/// How numpy writes an array: print() puts blanks between elements, repr() commas behind the name of the function that
/// makes such an array.
struct ArrayStyle {
  bool has_commas = false;  // between elements, as repr() has them
  size_t indent = 0;        // letters that stand before the array in its first line
};

/// An array as numpy prints it. Float dtypes are given in `real`, the others in `whole`.
///   const std::vector<double> values = {1, 2.5};
///   format_array({2}, float32, values, {});  // [1. 2.5]
std::string format_array(const Dims& shape, DType dtype, std::span<const double> real, std::span<const int64_t> whole,
                         const ArrayStyle& style = {});

}  // namespace tenon
