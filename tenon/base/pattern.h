// Patterns of names, as shells have them for files: parameters are frozen and grouped by them.

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tenon::base {

/// Whether the whole name is what the pattern says: `*` stands for any letters, dots too, and `?` for one.
bool matches(std::string_view pattern, std::string_view name);

/// What to say of a pattern that matches none of the names, with the nearest of them.
std::string no_match(std::string_view pattern, std::span<const std::string> names);

}  // namespace tenon::base
