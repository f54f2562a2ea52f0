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
///   data::name(data::Order::kShuffled);  // shuffled
std::string_view name(Order order);
/// Fails with one line where there is no such order.
///   data::order_named("random") == data::Order::kRandom;  // true
Order order_named(std::string_view name);

/// The windows a consumer has taken. The last three fields say of which corpus, so that a state of another is refused.
///   data::Loader loader(data::Tokens(std::vector<int32_t>(100)), {.batch = 2, .length = 8});
///   loader.next();
///   loader.state().position;  // 2
struct LoaderState {
  uint64_t seed = 0;              // of the order
  int64_t epoch = 0;              // that the next window belongs to
  int64_t position = 0;           // windows taken of this epoch
  Order order = Order::kRandom;   // in which windows come
  int64_t length = 0;             // tokens of a window
  int64_t windows_per_epoch = 0;  // of the loader

  bool operator==(const LoaderState&) const = default;
};

/// A state as text, which the function below reads.
///   data::Loader loader(data::Tokens(std::vector<int32_t>(100)), {.batch = 2, .length = 8});
///   const std::string saved = to_json(loader.state());
std::string to_json(const LoaderState& state);
/// Fails with one line that starts with `[loader]` where the text is no state.
///   data::Loader loader(data::Tokens(std::vector<int32_t>(100)), {.batch = 2, .length = 8});
///   loader.restore(data::loader_state_from_json(to_json(loader.state())));
LoaderState loader_state_from_json(std::string_view text);

}  // namespace tenon::data
