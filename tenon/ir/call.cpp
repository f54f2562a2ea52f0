// Where a call keeps what its launches say.

#include "tenon/ir/call.h"

#include <utility>

namespace tenon::ir {
namespace {

// Where the random numbers of a call begin; null if it draws none.
template <typename A>
auto offset_in(A& attrs) -> decltype(&std::get<RandomAttrs>(attrs).offset) {
  if (auto* random = std::get_if<RandomAttrs>(&attrs)) return &random->offset;
  auto* attention = std::get_if<AttentionAttrs>(&attrs);
  return attention && attention->dropout > 0 ? &attention->offset : nullptr;
}

}  // namespace

size_t numbers_of(const Call& call) { return offset_in(call.attrs) ? 1 : 0; }

Numbers take_numbers(Call& call) {
  Numbers numbers;
  if (uint64_t* offset = offset_in(call.attrs)) numbers.push_back(std::exchange(*offset, 0));
  return numbers;
}

void put_numbers(Call& call, std::span<const uint64_t> numbers) {
  if (uint64_t* offset = offset_in(call.attrs)) *offset = numbers[0];
}

}  // namespace tenon::ir
