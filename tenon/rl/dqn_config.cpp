// One table of keys, from which reading, checks, printing and the docs come.

#include "tenon/rl/dqn_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <variant>

#include "tenon/base/error.h"
#include "tenon/base/nearest.h"
#include "tenon/device/registry.h"
#include "tenon/io/json.h"

namespace tenon::rl {
namespace {

using base::fail;
using Json = nlohmann::ordered_json;
using Sizes = std::vector<int64_t>;
using Field = std::variant<std::string DqnConfig::*, int64_t DqnConfig::*, double DqnConfig::*, bool DqnConfig::*,
                           Sizes DqnConfig::*>;

struct Key {
  std::string_view name;
  Field field;
  double least, most;                     // of numbers
  std::vector<std::string_view> choices;  // of texts; empty: any
  std::string_view learner;               // those that look at it; empty: all
  bool may_change;                        // when a run is taken up again
  std::string_view does;
};

constexpr double kMany = 1e12;

std::span<const Key> keys() {
  using C = DqnConfig;
  static const std::vector<Key> all = {
      {"description", &C::description, 0, 0, {}, "", true, "What it is for, in words"},
      {"learner",
       &C::learner,
       0,
       0,
       {"dqn", "afterstates", "tuples"},
       "",
       false,
       "dqn: a network and a replay; afterstates: a network that values the boards that moves lead to; tuples: values "
       "of "
       "these boards looked up by groups of cells"},
      {"episodes", &C::episodes, 1, kMany, {}, "", true, "Games to play"},
      {"seed", &C::seed, 0, kMany, {}, "", false, "Of tiles, moves, draws and first weights"},
      {"device.name",
       &C::device,
       0,
       0,
       {},
       "",
       true,
       "Where it runs, as `tenon info` lists them, or auto: the first of cuda, vulkan and opencl that is a GPU and can "
       "hold the "
       "network, else cpu; tables of tuples stay on the cpu. TENON_DEVICE changes what is taken where nothing is said"},
      {"encoding",
       &C::encoding,
       0,
       0,
       {"tiles", "exponents", "one_hot"},
       "dqn",
       false,
       "What the network sees of a cell: its tile, the exponent of it, or which of 16 exponents it is"},
      {"hidden", &C::hidden, 1, 65536, {}, "dqn, afterstates", false, "Widths of the hidden layers"},
      {"lr", &C::lr, 0, 1, {}, "dqn, afterstates", false, "Learning rate of Adam"},
      {"lr_to", &C::lr_to, 0, 1, {}, "afterstates", false, "The same at the end; it falls by a factor a game"},
      {"discount", &C::discount, 0, 1, {}, "dqn", false, "What a score is worth a move later"},
      {"batch", &C::batch, 1, 65536, {}, "dqn", false, "Transitions of a step of learning"},
      {"replay", &C::replay, 1, 1e8, {}, "dqn", false, "Transitions that are kept"},
      {"priority_exponent",
       &C::priority_exponent,
       0,
       4,
       {},
       "dqn",
       false,
       "Draws transitions in proportion to |error| to this power; 0: evenly"},
      {"correction_exponent",
       &C::correction_exponent,
       0,
       4,
       {},
       "dqn",
       false,
       "How far weights make up for what priorities prefer; 1: wholly"},
      {"n_step", &C::n_step, 1, 1000, {}, "dqn", false, "Moves whose scores a target takes as they were"},
      {"double_q",
       &C::double_q,
       0,
       0,
       {},
       "dqn",
       false,
       "The network chooses the next move and its copy says its worth; needs target_every"},
      {"legal_targets", &C::legal_targets, 0, 0, {}, "dqn", false, "Only legal moves count as the next one"},
      {"target_every",
       &C::target_every,
       0,
       kMany,
       {},
       "dqn",
       false,
       "Steps of learning after which the copy for targets is renewed; 0: no copy"},
      {"learn_every",
       &C::learn_every,
       0,
       kMany,
       {},
       "dqn",
       false,
       "Moves to a step of learning; 0: one step behind every game"},
      {"epsilon_from", &C::epsilon_from, 0, 1, {}, "dqn", false, "Share of random moves in the first game"},
      {"epsilon_factor", &C::epsilon_factor, 0, 1, {}, "dqn", false, "By which it falls with every game"},
      {"epsilon_to", &C::epsilon_to, 0, 1, {}, "dqn", false, "Down to this"},
      {"games", &C::games, 1, 65536, {}, "afterstates, tuples", false, "Games beside each other"},
      {"first_value",
       &C::first_value,
       0,
       1e9,
       {},
       "tuples",
       false,
       "What every board is worth at first; high: tries what it does not know"},
      {"rate", &C::rate, 0, 2, {}, "tuples", false, "Share of an error that is learned"},
      {"rate_to", &C::rate_to, 0, 2, {}, "tuples", false, "The same at the end, in a straight line over the games"},
      {"log_every", &C::log_every, 1, kMany, {}, "", true, "Games to a line of metrics"},
      {"checkpoint_every", &C::checkpoint_every, 0, kMany, {}, "", true, "Games to a checkpoint; 0: at the end alone"},
      {"evaluation_games",
       &C::evaluation_games,
       0,
       1e6,
       {},
       "",
       true,
       "Games with the best moves at the end, for the report; 0: none"},
  };
  return all;
}

const Key& key_named(std::string_view name, std::string_view where) {
  for (const Key& key : keys()) {
    if (key.name == name) return key;
  }
  std::vector<std::string> known;
  for (const Key& key : keys()) known.emplace_back(key.name);
  const std::string near = base::nearest(name, known);
  fail("config", "{}: there is no key {}{}", where, name, near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

[[noreturn]] void refuse(const Key& key, std::string_view where, std::string_view given, std::string_view wanted) {
  fail("config", "{}: {} is {}; it must be {}", where, key.name, given, wanted);
}

std::string wanted_number(const Key& key, std::string_view kind) {
  return fmt::format("a {} from {} to {}", kind, key.least, key.most);
}

// JSON has no word for what is infinite or no number.
std::string shown(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return fmt::format("{}", value.get<double>());
  return io::shown_json(value);
}

void assign(DqnConfig& config, const Key& key, const Json& value, std::string_view where) {
  const auto number_fits = [&](const Json& one) {
    return one.is_number() && one.get<double>() >= key.least && one.get<double>() <= key.most;
  };
  const auto whole = [&](const Json& one) {
    if (!one.is_number_integer() || !number_fits(one))
      refuse(key, where, io::shown_json(one), wanted_number(key, "whole number"));
    return one.get<int64_t>();
  };
  std::visit(
      [&](auto member) {
        auto& to = config.*member;
        using T = std::decay_t<decltype(to)>;
        if constexpr (std::is_same_v<T, std::string>) {
          const auto& c = key.choices;
          const bool is_choice =
              value.is_string() && (c.empty() || std::find(c.begin(), c.end(), value.get<std::string>()) != c.end());
          if (!is_choice)
            refuse(key, where, io::shown_json(value),
                   c.empty() ? "a text" : fmt::format("one of {}", fmt::join(c, ", ")));
          if (!io::is_utf8(value.get_ref<const std::string&>()))
            refuse(key, where, io::in_quotes(value.get<std::string>()), "a text in UTF-8");
          to = value.get<std::string>();
        } else if constexpr (std::is_same_v<T, bool>) {
          if (!value.is_boolean()) refuse(key, where, io::shown_json(value), "true or false");
          to = value.get<bool>();
        } else if constexpr (std::is_same_v<T, double>) {
          if (!number_fits(value)) refuse(key, where, shown(value), wanted_number(key, "number"));
          to = value.get<double>();
        } else if constexpr (std::is_same_v<T, int64_t>) {
          to = whole(value);
        } else {
          if (!value.is_array() || value.size() > 16)
            refuse(key, where, io::shown_json(value), "a list of at most 16 whole numbers");
          Sizes sizes;
          for (const Json& one : value) sizes.push_back(whole(one));
          to = std::move(sizes);
        }
      },
      key.field);
}

Json value_of(const DqnConfig& config, const Key& key) {
  return std::visit([&](auto member) { return Json(config.*member); }, key.field);
}

// What a text on the command line stands for, as JSON.
Json from_text(const Key& key, std::string_view text) {
  if (std::holds_alternative<std::string DqnConfig::*>(key.field)) return std::string(text);
  std::string json(text);
  if (std::holds_alternative<Sizes DqnConfig::*>(key.field) && !text.starts_with('[')) json = fmt::format("[{}]", text);
  Json value = Json::parse(json, nullptr, false);
  return value.is_discarded() ? Json(std::string(text)) : value;
}

bool acts(const Key& key, const DqnConfig& config) {
  return key.learner.empty() || key.learner.find(config.learner) != key.learner.npos;
}

void require_acting(const Key& key, const DqnConfig& config, std::string_view where) {
  if (!acts(key, config))
    fail("config", "{}: {} has no effect where learner is {}; leave it away", where, key.name, config.learner);
}

// JSON would let the last of two win.
void require_single_keys(std::string_view json, std::string_view name) {
  std::vector<std::string> seen;
  const auto look = [&](int depth, Json::parse_event_t event, const Json& value) {
    if (event != Json::parse_event_t::key || depth != 1) return true;
    const auto& key = value.get_ref<const std::string&>();
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      fail("config", "{}: {} stands there twice; leave one away", name, key);
    seen.push_back(key);
    return true;
  };
  [[maybe_unused]] const Json parsed = Json::parse(json, look);
}

}  // namespace

std::string default_device_name() { return device::wanted_name(); }

DqnConfig parse_dqn_config(std::string_view json, std::string_view name) {
  const Json object = io::parse_json<Json>("config", std::string(name), json);
  if (!object.is_object()) fail("config", "{}: is no JSON object of keys", name);
  require_single_keys(json, name);
  DqnConfig config;
  for (const auto& [key, value] : object.items()) assign(config, key_named(key, name), value, name);
  for (const auto& [key, value] : object.items()) require_acting(key_named(key, name), config, name);
  validate(config, name);
  return config;
}

void set(DqnConfig& config, std::string_view assignment) {
  const size_t at = assignment.find('=');
  if (at == std::string_view::npos) fail("config", "--set {}: write KEY=VALUE", assignment);
  const Key& key = key_named(assignment.substr(0, at), "--set");
  require_acting(key, config, "--set");
  assign(config, key, from_text(key, assignment.substr(at + 1)), "--set");
}

void set(DqnConfig& config, std::span<const std::string> assignments) {
  const auto chooses_learner = [](std::string_view one) { return one.starts_with("learner="); };
  for (const std::string& one : assignments) {
    if (chooses_learner(one)) set(config, one);
  }
  const DqnConfig defaults;
  const bool chooses = std::any_of(assignments.begin(), assignments.end(), chooses_learner);
  for (const Key& key : keys()) {
    if (chooses && !acts(key, config)) assign(config, key, value_of(defaults, key), "--set");
  }
  for (const std::string& one : assignments) {
    if (!chooses_learner(one)) set(config, one);
  }
}

void validate(const DqnConfig& config, std::string_view name) {
  const DqnConfig defaults;
  DqnConfig again;
  for (const Key& key : keys()) {
    assign(again, key, value_of(config, key), name);  // whoever filled it in: its ranges are looked at here
    if (value_of(config, key) != value_of(defaults, key)) require_acting(key, config, name);
  }
  if (config.learner == "tuples") {
    if (config.rate == 0 && config.rate_to == 0)
      fail("config", "{}: rate and rate_to are 0, with which nothing is learned; set one above 0", name);
    return;
  }
  if (config.lr == 0) fail("config", "{}: lr is 0, with which nothing is learned; set it above 0", name);
  if (config.hidden.empty()) fail("config", "{}: hidden names no layer; name one or more", name);
  if (config.learner == "afterstates") {
    if (config.lr_to == 0) fail("config", "{}: lr_to is 0, to which no factor leads; set it above 0", name);
    return;
  }
  if (config.epsilon_from < config.epsilon_to)
    fail("config", "{}: epsilon_from is {}, below epsilon_to, which is {}, and epsilon never rises; lower epsilon_to",
         name, config.epsilon_from, config.epsilon_to);
  if (config.double_q && config.target_every == 0)
    fail("config", "{}: double_q needs a second network; set target_every, too", name);
  if (config.correction_exponent > 0 && config.priority_exponent == 0)
    fail("config", "{}: correction_exponent has no effect without priority_exponent", name);
  if (config.batch > config.replay)
    fail("config", "{}: a batch of {} does not fit a replay of {}", name, config.batch, config.replay);
}

const DqnConfig& checked(const DqnConfig& config, std::string_view learner) {
  validate(config, "config");
  if (config.learner != learner)
    fail("config", "this is a learner of the kind {}, and the config asks for {}", learner, config.learner);
  return config;
}

std::string to_json(const DqnConfig& config) {
  Json object = Json::object();
  for (const Key& key : keys()) {
    if (acts(key, config)) object[std::string(key.name)] = value_of(config, key);
  }
  return object.dump(2) + "\n";
}

std::string difference(const DqnConfig& before, const DqnConfig& now) {
  std::vector<std::string> found;
  for (const Key& key : keys()) {
    const Json a = value_of(before, key), b = value_of(now, key);
    if (!key.may_change && a != b) found.push_back(fmt::format("{} ({}, now {})", key.name, a.dump(), b.dump()));
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

std::optional<ConfigDifference> first_difference(const DqnConfig& before, const DqnConfig& now) {
  for (const Key& key : keys()) {
    const Json a = value_of(before, key), b = value_of(now, key);
    if (!key.may_change && a != b) return ConfigDifference{std::string(key.name), a.dump(), b.dump()};
  }
  return std::nullopt;
}

std::string dqn_config_markdown() {
  std::string text = "| key | default | for | does |\n| --- | --- | --- | --- |\n";
  const DqnConfig defaults;
  for (const Key& key : keys())
    text += fmt::format("| `{}` | `{}` | {} | {} |\n", key.name, value_of(defaults, key).dump(),
                        key.learner.empty() ? "all" : key.learner, key.does);
  return text;
}

bool is_dqn_key(std::string_view name) {
  return std::any_of(keys().begin(), keys().end(), [&](const Key& key) { return key.name == name; });
}

size_t changed_keys(const DqnConfig& config) {
  const DqnConfig defaults;
  const auto differs = [&](const Key& key) { return value_of(config, key) != value_of(defaults, key); };
  return static_cast<size_t>(std::count_if(keys().begin(), keys().end(), differs));
}

const DqnPreset* find_dqn_preset(std::string_view name) {
  for (const DqnPreset& preset : dqn_presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

}  // namespace tenon::rl
