// The order of the keys is part of the file: two equal runs write equal bytes.

#include "tenon/train/run_state.h"

#include <fmt/format.h>

#include <charconv>

#include "tenon/io/json.h"

namespace tenon::train {
namespace {

using Json = nlohmann::ordered_json;

// Numbers of the schedule are kept as texts, because JSON has no inf.
double number_in(const io::Input& input, const std::string& name, const Json& value) {
  double number = 0;
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    io::fail(input, "rate.{} is {}, which is no number", io::as_one_line(name), io::in_quotes(text));
  return number;
}

}  // namespace

std::string to_json(const RunState& state, const Config& config) {
  Json rate = Json::object();
  for (const auto& [name, value] : state.rate) rate[name] = fmt::format("{}", value);
  Json json = {{"items", state.items},
               {"seconds", state.seconds},
               {"step_seconds", state.step_seconds},
               {"corpus", state.corpus},
               {"loader", io::parse_json("train", "loader", state.loader)},
               {"random", {{"seed", state.seed}, {"position", state.position}}},
               {"rate", rate},
               {"config", io::parse_json("train", "config", to_json(config))}};
  if (state.best_loss) json["best"] = {{"loss", *state.best_loss}, {"step", *state.best_step}};
  return json.dump();
}

RunState parse_run_state(const std::string& text) {
  const io::Input input{"train", "its state", std::as_bytes(std::span(text))};
  const Json json = io::parse_json(input);
  const auto part = [&](const char* key) { return io::json_field<Json>(input, json, key); };
  RunState state;
  state.loader = part("loader").dump();
  const Json random = part("random"), rates = part("rate");
  state.seed = io::json_field<uint64_t>(input, random, "seed");
  state.position = io::json_field<uint64_t>(input, random, "position");
  for (const auto& [name, value] : rates.items()) state.rate[name] = number_in(input, name, value);
  state.items = io::json_field<int64_t>(input, json, "items");
  state.seconds = io::json_field<double>(input, json, "seconds");
  state.step_seconds = io::json_field<double>(input, json, "step_seconds");
  if (json.contains("best")) {
    state.best_loss = io::json_field<double>(input, part("best"), "loss");
    state.best_step = io::json_field<int64_t>(input, part("best"), "step");
  }
  if (json.contains("config")) state.config = part("config").dump();
  if (json.contains("corpus")) state.corpus = io::json_field<std::string>(input, json, "corpus");
  return state;
}

}  // namespace tenon::train
