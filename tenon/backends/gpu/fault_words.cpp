#include "tenon/backends/gpu/fault_words.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "tenon/base/error.h"
#include "tenon/ir/look_up.h"

namespace tenon::backends::gpu {

using codegen::FaultWords;

std::exception_ptr error_of_fault(const std::byte* words) {
  std::array<uint32_t, FaultWords::kCount> read;
  std::memcpy(read.data(), words, kFaultBytes);
  const auto whole = [&](uint32_t low) {
    return static_cast<int64_t>(uint64_t{read[low]} | uint64_t{read[low + 1]} << 32);
  };
  if (read[FaultWords::kSet] == 0) return nullptr;
  const auto use = static_cast<ir::LookUp>(read[FaultWords::kUse]);
  // Without the path of a module: whoever waits stands elsewhere by now.
  return std::make_exception_ptr(
      Error(fmt::format("[{}] {}", ir::name_of(static_cast<ir::Op>(read[FaultWords::kOp]), use),
                        ir::bad_index(use, whole(FaultWords::kIndex), read[FaultWords::kAxis], whole(FaultWords::kSize)))));
}

}  // namespace tenon::backends::gpu
