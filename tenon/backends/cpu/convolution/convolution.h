// Convolutions as the parts of this folder see them: two spatial axes, windows that step by one.
//
// The tensor that is read in windows is cut into sub-planes, one for every remainder of its rows and columns by the
// step, so that neighbouring windows read neighbouring elements whatever the stride. A row is followed by so many zeros
// that a window which hangs over an edge finds them there, on the left in the row above: all places of a plane are then
// one run, in which an element of the kernel (a tap) is a distance.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tenon/backends/cpu/matmul/matmul.h"
#include "tenon/ir/attrs.h"

namespace tenon::backends::cpu {

/// The three sides of a convolution with a chosen engine; `automatic` is what compile_call takes.
std::unique_ptr<CallKernel> compile_convolution_with(const ir::Call& call, MatmulEngine engine);

/// One element of the kernel, as windows see it.
struct ConvTap {
  int64_t weight;                   // which element of the kernel
  int64_t sub_plane;                // which one it reads ...
  int64_t row_shift, column_shift;  // ... at this distance from the window's own place
};

/// Places of the result that use the same taps: all of them, or those of one remainder where results are spread out.
struct ConvPhase {
  int64_t rows = 0, columns = 0;            // so many places
  int64_t first_row = 0, first_column = 0;  // where the first one lies in a plane of the result ...
  int64_t row_step = 1, column_step = 1;    // ... and how far apart they are
  std::vector<ConvTap> taps;
  int64_t weights_at = 0;  // where its packed weights begin, in elements
};

struct ConvPlan {
  int64_t images = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of a group
  int64_t in_rows = 0, in_columns = 0, out_rows = 0, out_columns = 0;
  int64_t row_step = 1, column_step = 1;  // of windows over the input
  std::vector<ConvPhase> phases;

  // How sub-planes lie in memory.
  int64_t least_row_shift = 0, most_row_shift = 0;
  int64_t pitch = 1;      // elements from row to row
  int64_t in_front = 0;   // zeros before the first row
  int64_t filled = 0;     // elements of a row that may hold numbers
  int64_t most_rows = 0;  // places of the tallest phase

  int64_t sub_planes() const { return row_step * column_step; }
  int64_t rows_for(int64_t places) const { return places + most_row_shift - least_row_shift; }
  /// Elements of one sub-plane of so many rows of places.
  int64_t plane(int64_t places) const { return rows_for(places) * pitch; }
  /// Where a tap reads for place 0, in elements behind the first sub-plane of a channel.
  int64_t offset(const ConvTap& tap, int64_t places) const {
    return tap.sub_plane * plane(places) + (tap.row_shift - least_row_shift) * pitch + tap.column_shift;
  }
  /// Multiply-adds of all of it.
  double work() const;
};

/// How `conv` reads its images, and `conv_weight` too.
ConvPlan plan_windows(const ir::ConvAttrs& attrs, int64_t images, int64_t channels, int64_t outer);
/// How `conv_transpose` reads its results.
ConvPlan plan_transposed(const ir::ConvAttrs& attrs, int64_t images, int64_t channels, int64_t outer);

/// Weights (groups, rows, inner, kernel) by their strides; rows are channels of the result.
struct ConvWeights {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  int64_t group = 0, row = 0, inner = 0;
};

/// Sums are f32, or f64 where one of the dtypes is.
struct ConvProblem {
  const ConvPlan* plan = nullptr;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  ConvWeights weights;
  DType in_dtype = DType::f32, out_dtype = DType::f32;
  std::byte* packed = nullptr;  // room for packed weights
  const float* bias = nullptr;  // of f32 results: one number for each channel, and relu behind that
  bool relu = false;
};
/// Bytes of the packed weights; sets where each phase's begin.
size_t packed_weights_bytes(ConvPlan& plan, bool is_f64);
void run_windows(const ConvProblem& problem, bool is_f64);
/// The same, to what lies in memory: planes of all channels, image after image.
void add_channels(const float* bias, float* planes, int64_t images, int64_t channels, int64_t plane, bool relu);

/// What a call's epilogue adds, as an argument behind the operands.
class ConvBias {
 public:
  explicit ConvBias(const ir::Call& call);
  /// Null without one.
  const float* of(const Arguments& args) const {
    return is_there_ ? reinterpret_cast<const float*>(args[2]) + offset_ : nullptr;
  }
  /// Where the result is among the arguments; scratch memory follows.
  size_t result() const { return is_there_ ? 3 : 2; }
  bool relu() const { return relu_; }

 private:
  bool is_there_, relu_;
  int64_t offset_ = 0;
};

/// The gradient of weights: of images (in) and results (out), both read.
struct ConvWeightProblem {
  const ConvPlan* plan = nullptr;
  const std::byte* in = nullptr;
  const std::byte* out = nullptr;
  std::byte* weights = nullptr;
  int64_t kernel = 1;  // elements of one
  DType dtype = DType::f32, weights_dtype = DType::f32;
  int64_t parts = 1;          // images are shared out among so many sums, which are added in order
  std::byte* sums = nullptr;  // room for them
};
/// Bytes of one of those sums.
size_t weight_sums_bytes(const ConvPlan& plan, bool is_f64);
void run_weights(const ConvWeightProblem& problem, bool is_f64);

}  // namespace tenon::backends::cpu
