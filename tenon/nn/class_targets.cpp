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

namespace {

bool is_known_to_be_below(const Tensor& numbers, int64_t size) {
  const auto range = known_range(numbers);
  const bool was_looked_at = numbers.is_evaluated() && !Trace::current();  // as record::suspects does
  return was_looked_at || (range && range->first >= 0 && range->second < size);
}

Tensor looked_up(ir::LookUp use, const Tensor& numbers, int64_t size) {
  const Tensor all = arange(size, Options(numbers.dtype(), numbers.device()));
  return tensor_of(ir::gather(value_of(all), value_of(numbers), 0, use));
}

}  // namespace

Tensor checked(ir::LookUp use, const Tensor& target, int64_t classes, int64_t ignore_index) {
  if (is_known_to_be_below(target, classes)) return target;
  const Tensor ignored = eq(target, ignore_index);
  return where(ignored, target, looked_up(use, where(ignored, 0, target), classes));
}

Tensor checked(ir::LookUp use, const Tensor& numbers, int64_t size) {
  return is_known_to_be_below(numbers, size) ? numbers : looked_up(use, numbers, size);
}

}  // namespace tenon::nn
