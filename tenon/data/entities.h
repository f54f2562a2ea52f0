// The entities of XML and HTML: &amp; &#8211; &ndash; and their kind.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::data {

enum class Entities { kXml, kHtml };

/// Appends the characters that an entity at the start of the text stands for, and returns how long it is; 0 where there
/// is none, or none of this set.
size_t append_entity(std::string_view text, Entities known, std::string& to);

/// Appends a character as UTF-8; a number that is none becomes U+FFFD.
void append_utf8(uint32_t character, std::string& to);

}  // namespace tenon::data
