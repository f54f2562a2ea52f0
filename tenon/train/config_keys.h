// The table of all config keys: where each lies in a Config, what it may be, when it acts, whether a run that is
// resumed may have another value, and what it does.

#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/train/config.h"

namespace tenon::train {

using Texts = std::vector<std::string>;
using Value = std::variant<bool, int64_t, double, std::string, Texts>;

template <typename T>
using FieldOf = T& (*)(Config&);
/// Where in a Config the value lies; tells its type, too.
using Field = std::variant<FieldOf<bool>, FieldOf<int64_t>, FieldOf<double>, FieldOf<std::string>, FieldOf<Texts>>;

struct Range {
  double least = 0, most = 0;
  bool above_least = false, below_most = false;  // the bound itself is excluded

  bool holds(double value) const {
    return (above_least ? value > least : value >= least) && (below_most ? value < most : value <= most);
  }
};

/// Under which settings a key has an effect; empty text: under all.
struct When {
  std::function<bool(const Config&)> holds = [](const Config&) { return true; };
  std::string text = {};
};

/// Whether --resume takes another value than the run was begun with. What says how long a run takes and how it is
/// watched may change; what it computes stays. Data may lie elsewhere if it is the same: its tokens are compared when they
/// are read.
enum class OnResume : uint8_t { stays, may_change, may_move };

struct Key {
  std::string_view path;
  Field field;
  OnResume on_resume;
  Range range;                            // of numbers
  std::vector<std::string_view> choices;  // of texts; empty: any text
  std::string does;
  When when;

  /// Before the dot: "training"; empty for a key that stands alone.
  std::string_view section() const;
  /// Behind the dot: "batch_size".
  std::string_view name() const;
  Value value(const Config& config) const;
  Value default_value() const { return value(Config{}); }
  /// "whole number", "number", "text", "true or false", "list of texts".
  std::string_view type() const;
  /// "a whole number from 1 to 1024", "one of f32, bf16, f16".
  std::string allowed() const;
};

std::span<const Key> config_keys();
/// The sections in the order of the table.
std::vector<std::string> config_sections();
/// Null where there is none.
const Key* find_key(std::string_view path);
/// Fails: no such key, with the nearest known one.
[[noreturn]] void refuse_unknown(std::string_view path, std::string_view name);

/// Puts a value of the key's type, or one that says the same, into the config; fails on any other and out of range.
void assign(Config& config, const Key& key, const Value& value, std::string_view name);
/// The value that a text stands for, as --set has it; fails where the text is none of the key's type.
Value value_of(const Key& key, std::string_view text, std::string_view name);
/// A value as --set reads it.
std::string text_of_value(const Value& value);

}  // namespace tenon::train
