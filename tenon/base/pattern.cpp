// The matching itself never goes back further than to the last `*`: it takes at most pattern times name steps.

#include "tenon/base/pattern.h"

#include <fmt/format.h>

#include "tenon/base/nearest.h"

namespace tenon::base {

bool matches(std::string_view pattern, std::string_view name) {
  constexpr size_t kNone = std::string_view::npos;
  size_t p = 0, n = 0, star = kNone, taken = 0;  // the last star, and where what it took ends
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != kNone) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == kNone;
}

std::string no_match(std::string_view pattern, std::span<const std::string> names) {
  const std::string meant = nearest(pattern, names);
  return fmt::format("no parameter is called \"{}\"{}", pattern,
                     meant.empty() ? "; * stands for any letters" : fmt::format("; did you mean {}?", meant));
}

}  // namespace tenon::base
