// Looking characters up in sorted ranges.

#include "tenon/text/unicode.h"

#include <algorithm>
#include <span>

#include "tenon/text/unicode_tables.h"

namespace tenon::text {
namespace {

/// The range that a character is in, or null.
template <typename Range, size_t kCount>
const Range* range_of(const Range (&ranges)[kCount], uint32_t code) {
  const auto found = std::ranges::lower_bound(ranges, code, {}, &Range::last);
  return found != std::end(ranges) && found->first <= code ? &*found : nullptr;
}

uint32_t combining_class(uint32_t code) {
  if (code < 0x300) return 0;
  const auto* found = range_of(tables::kClasses, code);
  return found ? found->combining_class : 0;
}

/// Syllables of Hangul are numbered by their parts (Unicode 3.12).
void append_syllable(std::u32string& text, uint32_t index) {
  constexpr uint32_t kVowels = 21, kEnds = 28;
  text += static_cast<char32_t>(0x1100 + index / (kVowels * kEnds));
  text += static_cast<char32_t>(0x1161 + index / kEnds % kVowels);
  if (index % kEnds != 0) text += static_cast<char32_t>(0x11A7 + index % kEnds);
}

void append_parts(std::u32string& text, uint32_t code) {
  constexpr uint32_t kFirstSyllable = 0xAC00, kLastSyllable = 0xD7A3;
  if (code < 0xC0) {
    text += static_cast<char32_t>(code);
    return;
  }
  if (code >= kFirstSyllable && code <= kLastSyllable) return append_syllable(text, code - kFirstSyllable);
  const auto found = std::ranges::lower_bound(tables::kDecompositions, code, {}, &tables::Decomposition::code);
  if (found == std::end(tables::kDecompositions) || found->code != code) {
    text += static_cast<char32_t>(code);
    return;
  }
  append_parts(text, found->first);
  if (found->second != 0) append_parts(text, found->second);
}

}  // namespace

bool is_control(uint32_t code) { return range_of(tables::kOther, code) != nullptr; }
bool is_nonspacing_mark(uint32_t code) { return code >= 0x300 && range_of(tables::kNonspacing, code) != nullptr; }
bool is_punctuation(uint32_t code) { return range_of(tables::kPunctuation, code) != nullptr; }

bool is_ideograph(uint32_t code) {
  if (code < 0x3400) return false;
  constexpr tables::Range kIdeographs[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                           {0x20000, 0x2A6DF}, {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF},
                                           {0x2F800, 0x2FA1F}};
  return range_of(kIdeographs, code) != nullptr;
}

void append_lower(std::u32string& text, uint32_t code) {
  constexpr uint32_t kDottedI = 0x130;
  if (code == kDottedI) {
    text += U"i\u0307";
    return;
  }
  const auto* run = range_of(tables::kLower, code);
  const bool is_capital = run && (code - run->first) % run->step == 0;
  text += static_cast<char32_t>(is_capital ? code + static_cast<uint32_t>(run->difference) : code);
}

// Marks of one letter are ordered by their class; those of the same class stay in the order of the text.
std::u32string decomposed(std::u32string_view text) {
  std::u32string parts;
  parts.reserve(text.size());
  for (const char32_t code : text) append_parts(parts, code);
  for (size_t at = 0; at < parts.size(); ++at) {
    size_t end = at;
    while (end < parts.size() && combining_class(parts[end]) != 0) ++end;
    if (end - at > 1) std::ranges::stable_sort(std::span(parts).subspan(at, end - at), {}, combining_class);
    at = std::max(at, end);
  }
  return parts;
}

}  // namespace tenon::text
