#include "tenon/backends/gpu/kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "tenon/base/environment.h"
#include "tenon/kernels/kernels.h"

namespace tenon::backends::gpu {

std::vector<device::Backend> backends_of(const Kind& kind) {
  const auto others = [kind] {
    std::vector<device::Backend> list;
    for (size_t i = 1; i < kind.count(); ++i) {
      const std::string name = fmt::format("{}:{}", kind.name, i);
      list.push_back({name, [kind, name, i] { return kind.open(name, i, true); }});
    }
    return list;
  };
  const std::string unfused = kind.name + "_unfused";
  return {{kind.name, [kind] { return kind.open(kind.name, 0, true); }, false, kind.why_none, others, kind.is_host},
          {unfused, [kind, unfused] { return kind.open(unfused, 0, false); }, true, kind.why_none}};
}

ir::Limits limits_of_gpu(uint32_t processors) {
  ir::Limits limits;
  limits.max_buffers = 16;
  limits.gathers_inside = true;
  limits.alignment = 128;
  limits.missing_calls = kernels::missing_calls();
  limits.channels_last = true;
  limits.processors = processors;
  // A block a row, and as many as there are processors at once.
  limits.few_rows = std::max(limits.few_rows, processors);
  limits.column_blocks = std::clamp(std::bit_ceil(processors) * 2, 32u, 512u);
  limits.vector = 4;
  return limits;
}

bool wants_tiles() { return !base::env::is(base::env::kTiles, "0"); }

void add_tiles(ir::Limits& limits) {
  if (!wants_tiles()) return;
  limits.tile_dtypes = {DType::f16, DType::bf16};
  limits.has_tile_places = true;
  limits.product_granule = 64;  // lines of 128 bytes
}

}  // namespace tenon::backends::gpu
