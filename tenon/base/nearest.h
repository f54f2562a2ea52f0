// "Did you mean": the known name closest to an unknown one, for error messages.

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tenon::base {

/// Number of single-letter edits between two words.
size_t edit_distance(std::string_view a, std::string_view b);

/// The known name with the fewest edits, or empty when none comes near (more than half of its letters differ).
std::string nearest(std::string_view unknown, std::span<const std::string> known);

}  // namespace tenon::base
