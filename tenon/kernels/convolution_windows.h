// A convolution as a product of which one operand, or both, is no matrix in memory: its elements are found in images
// and kernels while they are read.
//
// Images are (N, height, width, C), and weights (O, height, width, C of a group); the strides may be any.

#pragma once

#include <optional>
#include <utility>

#include "tenon/base/small_vector.h"
#include "tenon/codegen/address.h"
#include "tenon/codegen/builder.h"

namespace tenon::kernels {

struct ContractProblem;
struct ContractSide;

/// One axis. Window j meets tap t at element j * stride + t * dilation + shift of the image that windows are taken of;
/// what lies outside is 0.
///
/// An element of an image whose every s-th was the middle of a window met only every s-th tap, or so. In the gradient
/// of such an image the elements are therefore sorted into phases: element j * phases + phase, with the taps of the
/// phase.
struct WindowAxis {
  struct Phase {
    int64_t taps = 0, shift = 0;
    int64_t first = 0;  // of the kernel's taps
  };
  int64_t image = 1, windows = 1, stride = 1, dilation = 1;
  base::SmallVector<Phase, 2> phases{Phase{1, 0, 0}};
  int64_t step = 1;    // from one tap of a phase to the next, in the kernel
  int64_t result = 1;  // of the gradient of an image: its size

  int64_t most_taps() const;
  /// Whether no window reaches over the edge of the image.
  bool stays_inside() const;
};

struct Windows {
  WindowAxis axes[2];    // height and width
  int64_t channels = 1;  // behind each tap in the order of the inner dimension, or of the columns
  int64_t groups = 1;

  int64_t phases() const { return static_cast<int64_t>(axes[0].phases.size() * axes[1].phases.size()); }
  int64_t taps() const { return axes[0].most_taps() * axes[1].most_taps(); }
};

/// Divides numbers below 2^31 by one that the kernel gets with the dispatch: a multiplication instead of a division,
/// which takes a GPU some twenty instructions.
class Divisor {
 public:
  /// `shift` is the number of bits of value - 1.
  Divisor(codegen::Builder& b, int64_t value, codegen::Id shift);
  codegen::Id value() const { return value_; }
  codegen::Id quotient(codegen::Id n) const;
  /// The quotient, and what is left.
  std::pair<codegen::Id, codegen::Id> divide(codegen::Id n) const;

 private:
  codegen::Builder& b_;
  bool is_one_;
  codegen::Id value_ = codegen::kNoValue, magic_ = codegen::kNoValue, shift_ = codegen::kNoValue;
};

/// What the operands of one kernel have in common.
class WindowSizes {
 public:
  WindowSizes(codegen::Builder& b, const Windows& windows, codegen::Id batch);

  const Windows& windows() const { return windows_; }
  codegen::Id group() const { return group_; }
  /// How long the inner dimension is in this block's phase.
  codegen::Id depth() const { return depth_; }
  /// Image, row and column of a window.
  struct Place {
    codegen::Id image, y, x;
  };
  Place place(codegen::Id window) const;
  /// Tap and channel of a number of the inner dimension or of a column.
  struct Tap {
    codegen::Id y, x, channel;
  };
  Tap tap(codegen::Id k) const;
  /// A number of the phase that this block is of.
  codegen::Id of_phase(size_t axis, int64_t WindowAxis::Phase::*number) const;
  codegen::Id phase(size_t axis) const { return phases_[axis]; }

 private:
  template <typename F>
  codegen::Id chosen(size_t axis, F&& of) const;

  codegen::Builder& b_;
  const Windows& windows_;
  codegen::Id group_, phases_[2], depth_;
  std::optional<Divisor> channels_, area_, line_;
};

/// How a block finds an operand's elements. All numbers are u32.
class WindowReader {
 public:
  /// `unit`: elements that are read at once, in which addresses are counted. `strip`: how much of the inner dimension a
  /// block takes at once, beginning at multiples of it; 0: any number.
  WindowReader(codegen::Builder& b, const ContractSide& side, const WindowSizes& sizes, uint32_t unit, uint32_t strip);

  /// What stays the same from strip to strip: row (or column) `across`, k steps behind the beginning of the strip.
  struct Place {
    codegen::Id at, y, x, k;
  };
  Place place(codegen::Id across, codegen::Id k) const;
  /// In the strip that begins at `depth`.
  codegen::Located at(const Place& place, codegen::Id depth) const;

 private:
  codegen::Id scaled(codegen::Id x, int64_t factor) const;
  codegen::Id inside(codegen::Id y, codegen::Id x) const;

  codegen::Builder& b_;
  const ContractSide& side_;
  const WindowSizes& sizes_;
  const uint32_t unit_;
  const bool is_one_tap_;  // all of a strip
  codegen::Id base_, steps_[4], bounds_[2];
};

/// Where a row of the result begins, and whether there is such a row (or kNoValue).
class ResultRows {
 public:
  /// `sizes` of a convolution, null of other products.
  ResultRows(codegen::Builder& b, const ContractProblem& p, const WindowSizes* sizes, codegen::Id rows,
             codegen::Id columns);
  codegen::Located line(codegen::Id batch, codegen::Id row) const;

 private:
  codegen::Builder& b_;
  const ContractProblem& p_;
  const WindowSizes* sizes_;
  codegen::Id rows_, columns_, bounds_[2]{};
};

}  // namespace tenon::kernels
