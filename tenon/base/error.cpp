// Error texts and the thread's stack of module names.

#include "tenon/base/error.h"

#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/base/hash.h"

namespace tenon::base {
namespace {

constexpr uint32_t kUnknown = ~0u;
constexpr uint32_t kPassBits = 2;

// The number of a path is found when something is first recorded in it: most Scopes of a load record nothing.
struct Level {
  std::string name;           // of a Scope
  uint32_t path = kUnknown;   // of all levels up to this one
  bool is_whole = false;      // a path of its own, whatever is around
  Pass pass = Pass::forward;  // of one that is whole
};

struct Levels {
  std::vector<Level> all;
};
Levels& levels() {
  thread_local Levels of_thread;
  return of_thread;
}

// What label() looks at, kept apart from what has a destructor.
constinit thread_local uint32_t current_path = 0;
constinit thread_local Pass current_pass = Pass::forward;

void leave_level() {
  std::vector<Level>& all = levels().all;
  all.pop_back();
  current_path = all.empty() ? 0 : all.back().path;
}

struct Key {
  uint32_t parent;
  std::string name;
  bool operator==(const Key&) const = default;
};
struct HashOfKey {
  size_t operator()(const Key& key) const { return mix(key.parent, std::hash<std::string>()(key.name)); }
};

struct Paths {
  std::mutex mutex;
  std::vector<std::string> by_number{""};
  std::unordered_map<Key, uint32_t, HashOfKey> numbers;
};

Paths& paths() {
  static auto* all = new Paths;
  return *all;
}

uint32_t number_of(uint32_t parent, const std::string& name) {
  Paths& all = paths();
  std::lock_guard lock(all.mutex);
  const auto [known, fresh] = all.numbers.try_emplace({parent, name}, static_cast<uint32_t>(all.by_number.size()));
  if (fresh) all.by_number.push_back(parent == 0 ? name : all.by_number[parent] + "." + name);
  return known->second;
}

uint32_t resolved_path() {
  uint32_t path = 0;
  for (Level& level : levels().all) {
    if (level.path == kUnknown) level.path = number_of(path, level.name);
    path = level.path;
  }
  current_path = path;
  return path;
}

std::string path_of_number(uint32_t path) {
  Paths& all = paths();
  std::lock_guard lock(all.mutex);
  return all.by_number[path];
}

std::string in_words(uint32_t path, Pass pass) {
  if (path == 0) return {};
  return (pass == Pass::backward ? "gradient of " : "") + path_of_number(path);
}

}  // namespace

std::string_view pass_name(Pass pass) {
  constexpr std::string_view kNames[] = {"forward", "backward", "optimizer"};
  return kNames[static_cast<size_t>(pass)];
}

Label label() {
  const uint32_t path = current_path != kUnknown ? current_path : resolved_path();
  return path << kPassBits | static_cast<uint32_t>(current_pass);
}
std::string path_of(Label label) { return path_of_number(label >> kPassBits); }
Pass pass_of(Label label) { return static_cast<Pass>(label & ((1u << kPassBits) - 1)); }
std::string describe_label(Label label) { return in_words(label >> kPassBits, pass_of(label)); }

Scope::Scope(std::string_view name) {
  levels().all.push_back({std::string(name)});
  current_path = kUnknown;
}
Scope::~Scope() { leave_level(); }

LabelScope::LabelScope(Label label, Pass pass) : before_(std::exchange(current_pass, pass)) {
  current_path = label >> kPassBits;
  levels().all.push_back({{}, current_path, true, pass});
}
LabelScope::~LabelScope() {
  leave_level();
  current_pass = before_;
}

PassScope::PassScope(Pass pass) : before_(std::exchange(current_pass, pass)) {}
PassScope::~PassScope() { current_pass = before_; }

std::string scope_path() {
  std::string text;
  for (const Level& level : levels().all) {
    if (level.is_whole && level.path != 0)
      text = in_words(level.path, level.pass);
    else if (level.is_whole)
      continue;  // what is around says more than nothing
    else if (text.empty())
      text = level.name;
    else
      text += "." + level.name;
  }
  return text;
}

void throw_error(std::string_view op, const std::string& message) {
  const std::string path = scope_path();
  if (path.empty()) throw Error(fmt::format("[{}] {}", op, message));
  throw Error(fmt::format("[{}] {} (in {})", op, message, path));
}

}  // namespace tenon::base
