#include "tenon/data/loader_state.h"

#include <array>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/io/json.h"

namespace tenon::data {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 3> kNames = {"random", "shuffled", "sequential"};
constexpr std::string_view kBroken = "the saved state is damaged:";

const Json& field(const Json& json, const char* key) {
  if (!json.contains(key)) base::fail("loader", "{} it has no \"{}\"", kBroken, key);
  return json[key];
}

uint64_t number(const Json& json, const char* key, uint64_t most) {
  const Json& value = field(json, key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > most) {
    base::fail("loader", "{} \"{}\" is no number from 0 to {}", kBroken, key, most);
  }
  return value.get<uint64_t>();
}

int64_t count(const Json& json, const char* key) {
  return static_cast<int64_t>(number(json, key, std::numeric_limits<int64_t>::max()));
}

}  // namespace

std::string_view name(Order order) { return kNames.at(static_cast<size_t>(order)); }

Order order_named(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Order>(i);
  }
  base::fail("loader", "no order {}; there are random, shuffled and sequential", io::in_quotes(name));
}

std::string to_json(const LoaderState& state) {
  return Json{{"seed", state.seed},         {"epoch", state.epoch},   {"position", state.position},
              {"order", name(state.order)}, {"length", state.length}, {"windows_per_epoch", state.windows_per_epoch}}
      .dump();
}

LoaderState loader_state_from_json(std::string_view text) {
  const Json json = io::parse_json<Json>("loader", "the saved state is damaged", text);
  if (!json.is_object()) base::fail("loader", "{} it is no JSON object", kBroken);
  const Json& order = field(json, "order");
  if (!order.is_string()) base::fail("loader", "{} \"order\" is no name", kBroken);
  LoaderState state{number(json, "seed", std::numeric_limits<uint64_t>::max()),
                    count(json, "epoch"),
                    count(json, "position"),
                    order_named(order.get_ref<const std::string&>()),
                    count(json, "length"),
                    count(json, "windows_per_epoch")};
  if (state.length < 1 || state.windows_per_epoch < 1 || state.position >= state.windows_per_epoch) {
    base::fail("loader", "{} position {} of {} windows of {} tokens", kBroken, state.position, state.windows_per_epoch,
               state.length);
  }
  return state;
}

}  // namespace tenon::data
