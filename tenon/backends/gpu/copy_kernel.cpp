// Every kernel that writes state looks at the fault words first, so that this one is a plain copy.

#include "tenon/backends/gpu/copy_kernel.h"

#include <fmt/format.h>

#include "tenon/codegen/builder.h"

namespace tenon::backends::gpu {

codegen::Dispatch copy_kernel(uint32_t unit, uint32_t threads) {
  using codegen::Id;
  using codegen::Scalar;
  codegen::Builder b(fmt::format("copy_unless_fault_{}", unit), threads);
  const Scalar element = unit == 1 ? Scalar::u8 : Scalar::u32;
  const uint32_t from = b.add_buffer(element, false, true), to = b.add_buffer(element, true, true);
  b.set_numbers(3);
  const Id at = b.add(b.mul(b.convert(b.block(), Scalar::u64), b.whole(Scalar::u64, threads)),
                      b.convert(b.thread(), Scalar::u64));
  b.leave_if(b.is_not(b.less(at, b.number(0))));
  if (unit == 16) {
    const Id first = b.mul(at, b.whole(Scalar::u64, 4));
    b.store_several(to, first, b.load_several(from, first, 4));
  } else {
    b.store(to, b.add(at, b.number(2)), b.load(from, b.add(at, b.number(1))));
  }
  return {b.finish(), {1, 1, 1}, {{0, 0}, {1, 0}}};
}

}  // namespace tenon::backends::gpu
