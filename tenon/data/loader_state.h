// Where a loader stands, as plain data that goes into a checkpoint.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::data {

/// The order in which windows of the corpus come.
enum class Order {
  kRandom,      // any offset, with replacement
  kShuffled,    // every window of the corpus once an epoch, shuffled anew each time
  kSequential,  // every window of the corpus once an epoch, as they lie
};

/// "random", "shuffled", "sequential".
std::string_view name(Order order);
/// Fails with one line where there is no such order.
Order order_named(std::string_view name);

/// The windows a consumer has taken. The last three fields say of which corpus, so that a state of another is refused.
struct LoaderState {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t position = 0;  // windows taken of this epoch
  Order order = Order::kRandom;
  int64_t length = 0;
  int64_t windows_per_epoch = 0;

  bool operator==(const LoaderState&) const = default;
};

std::string to_json(const LoaderState& state);
/// Fails with one line that starts with `[loader]` where the text is no state.
LoaderState loader_state_from_json(std::string_view text);

}  // namespace tenon::data
