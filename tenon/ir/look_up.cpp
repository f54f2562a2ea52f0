#include "tenon/ir/look_up.h"

#include <fmt/format.h>

namespace tenon::ir {

std::string_view name_of(Op op, LookUp use) {
  switch (use) {
    case LookUp::of_op: return name(op);
    case LookUp::index_select: return "index_select";
    case LookUp::one_hot: return "one_hot";
    case LookUp::embedding: return "embedding";
    case LookUp::cross_entropy: return "cross_entropy";
    case LookUp::nll_loss: return "nll_loss";
    case LookUp::multi_margin_loss: return "multi_margin_loss";
    case LookUp::ctc_loss: return "ctc_loss";
  }
  return name(op);
}

std::string bad_index(LookUp use, int64_t index, int64_t axis, int64_t size) {
  const bool is_a_class = use >= LookUp::cross_entropy;
  return is_a_class ? fmt::format("target {} is out of range for {} classes", index, size)
                    : fmt::format("index {} is out of range for axis {} of size {}", index, axis, size);
}

}  // namespace tenon::ir
