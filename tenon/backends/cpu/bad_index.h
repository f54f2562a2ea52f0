// Indices that are out of range, and what is said of them: by calls, which look before they start, and by kernels,
// whose threads find them on their way.

#pragma once

#include <mutex>
#include <optional>

#include "tenon/base/error.h"
#include "tenon/ir/look_up.h"

namespace tenon::backends::cpu {

struct BadIndex {
  int64_t index, axis, size;
  ir::LookUp use = ir::LookUp::of_op;

  [[noreturn]] void refuse(ir::Op op) const {
    base::throw_error(ir::name_of(op, use), ir::bad_index(use, index, axis, size));
  }
};

/// The one of all that the threads of a run find which a single thread would have met first. Who finds one goes on with
/// zeros: the message must not depend on who is faster.
class FirstBadIndex {
 public:
  void found(uint32_t instr, int64_t position, const BadIndex& bad) {
    const std::scoped_lock lock(mutex_);
    if (found_ && std::pair(instr_, position_) <= std::pair(instr, position)) return;
    found_ = bad;
    instr_ = instr;
    position_ = position;
  }

  /// At the end of the run: fails if there is one.
  void require_none() const {
    if (found_) found_->refuse(ir::Op::gather);
  }

 private:
  std::mutex mutex_;
  std::optional<BadIndex> found_;
  uint32_t instr_ = 0;    // of the nest
  int64_t position_ = 0;  // in its space
};

}  // namespace tenon::backends::cpu
