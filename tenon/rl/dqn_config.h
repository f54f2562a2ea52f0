// DqnConfig: everything that decides what a run of 2048 computes. configs/rl/ holds presets of it.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::rl {

/// What TENON_DEVICE says, or auto.
///   rl::default_device_name();  // auto
std::string default_device_name();

/// What a run of 2048 is made of.
///   rl::DqnConfig config;
///   rl::set(config, "episodes=500");
///   config.episodes;  // 500
struct DqnConfig {
  std::string description;
  std::string learner = "dqn";  // or "afterstates", "tuples"
  int64_t episodes = 100;
  int64_t seed = 1;
  std::string device = default_device_name();  // empty: the default device of the library

  // dqn
  std::string encoding = "tiles";
  std::vector<int64_t> hidden = {64, 64};
  double lr = 1e-3;
  double discount = 0.99;
  int64_t batch = 32;
  int64_t replay = 1000;
  double priority_exponent = 0;
  double correction_exponent = 0;
  int64_t n_step = 1;
  bool double_q = false;
  bool legal_targets = false;
  int64_t target_every = 0;
  int64_t learn_every = 0;  // moves; 0: once behind every episode
  double epsilon_from = 1, epsilon_factor = 0.995, epsilon_to = 0.1;

  // afterstates
  double lr_to = 1e-3;

  // tuples, and afterstates the first of these
  int64_t games = 16;
  double first_value = 0;
  double rate = 0.1, rate_to = 0.1;

  int64_t log_every = 10;        // episodes
  int64_t checkpoint_every = 0;  // episodes; 0: at the end alone
  int64_t evaluation_games = 100;

  bool operator==(const DqnConfig&) const = default;
};

/// Reads a JSON object over the defaults; `name` is what messages call it. Keys that are unknown, of another type, out
/// of range or without effect for the learner are refused with one line.
///   rl::parse_dqn_config("{\"episodes\": 20}", "mine").episodes;  // 20
DqnConfig parse_dqn_config(std::string_view json, std::string_view name);
/// Changes one key: "episodes=500".
///   rl::DqnConfig config;
///   rl::set(config, "lr=0.01");
///   config.lr;  // 0.01
void set(DqnConfig& config, std::string_view assignment);
/// Several. Where another learner is chosen, keys that it does not look at become their defaults first.
void set(DqnConfig& config, std::span<const std::string> assignments);
/// Fails with one line unless every key is in its range and every key that differs from its default acts.
///   rl::validate(rl::DqnConfig(), "mine");
void validate(const DqnConfig& config, std::string_view name);
/// The same config, validated; fails where it is for another learner.
const DqnConfig& checked(const DqnConfig& config, std::string_view learner);
/// All keys that act, with their values; parse_dqn_config reads the same from it.
///   const std::string json = rl::to_json(rl::DqnConfig());
std::string to_json(const DqnConfig& config);
/// The keys in which two differ and that a run which is taken up again may not change: "seed (1, now 2)"; else empty.
///   rl::DqnConfig changed;
///   changed.seed = 2;
///   rl::difference(rl::DqnConfig(), changed);  // seed (1, now 2)
std::string difference(const DqnConfig& before, const DqnConfig& now);
/// The first of them, with both values as JSON.
struct ConfigDifference {
  std::string key, before, now;  // its name, and its value in the one config and in the other
};
/// The first key in which two differ and may not; nothing where there is none.
///   rl::first_difference(rl::DqnConfig(), rl::DqnConfig()).has_value();  // false
std::optional<ConfigDifference> first_difference(const DqnConfig& before, const DqnConfig& now);
/// The table of docs/2048.md.
std::string dqn_config_markdown();

/// A config that is part of the library.
struct DqnPreset {
  std::string_view name, json;  // by which it is found, and its text
};
/// The files of configs/rl/, which are part of the library.
///   for (const rl::DqnPreset& preset : rl::dqn_presets()) std::cout << preset.name << "\n";
std::span<const DqnPreset> dqn_presets();
/// Whether such a config has this key.
bool is_dqn_key(std::string_view name);
/// How many keys are not at their defaults.
size_t changed_keys(const DqnConfig& config);

/// The preset of that name; null where there is none.
///   rl::find_dqn_preset("none of these") == nullptr;  // true
const DqnPreset* find_dqn_preset(std::string_view name);

}  // namespace tenon::rl
