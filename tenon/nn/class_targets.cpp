// What is known is looked at on the host; the rest is left to the device.

#include "tenon/nn/class_targets.h"

#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/trace.h"

namespace tenon::nn {

void require_classes(std::string_view op, const Tensor& target, int64_t classes, int64_t ignore_index) {
  for (int64_t t : record::suspects(target, classes)) {
    if ((t < 0 || t >= classes) && t != ignore_index)
      base::fail(op, "target {} is out of range for {} classes", t, classes);
  }
}

Tensor checked(const Tensor& target, int64_t classes, int64_t ignore_index) {
  const auto range = known_range(target);
  const bool was_looked_at = target.is_evaluated() && !Trace::current();  // as record::suspects does
  if (was_looked_at || (range && range->first >= 0 && range->second < classes)) return target;
  const Tensor ignored = eq(target, ignore_index);
  const Tensor numbers = arange(classes, Options(target.dtype(), target.device()));
  const Tensor found = tensor_of(ir::gather(value_of(numbers), value_of(where(ignored, 0, target)), 0));
  return where(ignored, target, found);
}

}  // namespace tenon::nn
