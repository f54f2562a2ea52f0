// Error texts and the thread's stack of module names.

#include "tenon/base/error.h"

#include <map>
#include <mutex>
#include <vector>

namespace tenon::base {
namespace {

std::vector<std::string>& scopes() {
  thread_local std::vector<std::string> stack;
  return stack;
}

}  // namespace

Scope::Scope(std::string_view name) { scopes().emplace_back(name); }
Scope::~Scope() { scopes().pop_back(); }

std::string scope_path() { return fmt::format("{}", fmt::join(scopes(), ".")); }

namespace {

struct Paths {
  std::mutex mutex;
  std::vector<std::string> by_number{""};
  std::map<std::string, uint32_t> numbers;
};

Paths& paths() {
  static auto* all = new Paths;
  return *all;
}

}  // namespace

uint32_t scope_number() {
  if (scopes().empty()) return 0;
  Paths& all = paths();
  std::lock_guard lock(all.mutex);
  const auto [known, fresh] = all.numbers.emplace(scope_path(), static_cast<uint32_t>(all.by_number.size()));
  if (fresh) all.by_number.push_back(known->first);
  return known->second;
}

std::string scope_path(uint32_t number) {
  Paths& all = paths();
  std::lock_guard lock(all.mutex);
  return all.by_number[number];
}

void throw_error(std::string_view op, const std::string& message) {
  const std::string path = scope_path();
  if (path.empty()) throw Error(fmt::format("[{}] {}", op, message));
  throw Error(fmt::format("[{}] {} (in {})", op, message, path));
}

}  // namespace tenon::base
