// The indices of gather, scatter and scatter_add: i32 or i64, and all in range before anything is written.

#pragma once

#include "tenon/backends/cpu/bad_index.h"
#include "tenon/backends/cpu/calls/input.h"

namespace tenon::backends::cpu {

class Indices {
 public:
  Indices(const ir::Call& call, int64_t axis)
      : op_(call.op),
        use_(std::get<ir::AxisAttrs>(call.attrs).use),
        axis_(axis),
        size_(call.inputs[0].map.shape()[static_cast<size_t>(axis)]),
        input_(call.inputs[1], Input::Wanted::contiguous) {}

  int64_t count() const { return input_.count(); }

  /// The indices of one run. Fails on the first that is out of range.
  class Checked {
   public:
    Checked(const Indices& indices, const std::byte* buffer)
        : bound_(indices.input_, buffer), wide_(indices.input_.dtype() == DType::i64) {
      if (wide_)
        check(indices, bound_.as<int64_t>());
      else
        check(indices, bound_.as<int32_t>());
    }
    int64_t operator[](int64_t i) const { return wide_ ? bound_.as<int64_t>()[i] : bound_.as<int32_t>()[i]; }

   private:
    template <typename T>
    static void check(const Indices& indices, const T* index) {
      const int64_t n = indices.count();
      const auto size = static_cast<uint64_t>(indices.size_);
      bool outside = false;  // one pass without branches, and a second only to name the culprit
      for (int64_t i = 0; i < n; ++i) outside |= static_cast<uint64_t>(index[i]) >= size;
      for (int64_t i = 0; outside && i < n; ++i) {
        if (static_cast<uint64_t>(index[i]) >= size)
          BadIndex{index[i], indices.axis_, indices.size_, indices.use_}.refuse(indices.op_);
      }
    }

    Input::Bound bound_;
    bool wide_;
  };

 private:
  ir::Op op_;
  ir::LookUp use_;
  int64_t axis_, size_;
  Input input_;
};

}  // namespace tenon::backends::cpu
