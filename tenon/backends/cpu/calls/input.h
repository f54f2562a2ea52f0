// How a call reads an operand: in place through strides where one view describes it, else from a packed copy.

#pragma once

#include <optional>

#include "tenon/backends/cpu/calls/copy.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/ir/call.h"

namespace tenon::backends::cpu {

/// The part that is decided while compiling.
class Input {
 public:
  enum class Wanted : uint8_t { strided, contiguous };
  explicit Input(const ir::Operand& operand, Wanted wanted = Wanted::strided);

  DType dtype() const { return dtype_; }
  const Dims& shape() const { return shape_; }
  /// In elements, of what Bound::data points at.
  const Dims& strides() const { return strides_; }
  int64_t count() const { return count_; }
  bool is_packed() const { return packs_; }

  /// The operand of one run; keeps the packed copy alive.
  class Bound {
   public:
    Bound(const Input& input, const std::byte* buffer);
    const std::byte* data() const { return data_; }
    template <typename T>
    const T* as() const {
      return reinterpret_cast<const T*>(data_);
    }

   private:
    std::optional<Scratch> packed_;
    const std::byte* data_;
  };

 private:
  DType dtype_;
  Dims shape_, strides_;
  int64_t count_, offset_ = 0;
  bool packs_ = false;
  Packer packer_;
};

}  // namespace tenon::backends::cpu
