// Encoding by several threads: the text is cut where cutting changes nothing, and the tokens of the parts joined.

#include "tenon/base/parallel.h"

#include "tenon/text/tokenizer.h"

namespace tenon::text {
namespace {

// Long enough that starting threads and joining parts costs nothing against it (milliseconds of work), short enough
// that a core which is busy elsewhere delays little.
constexpr size_t kPartBytes = size_t{1} << 17;

std::vector<std::string_view> parts_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.size() <= kPartBytes ? text.size() : tokenizer.cut(text, kPartBytes);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

}  // namespace

std::vector<int32_t> encode_parallel(const Tokenizer& tokenizer, std::string_view text, Special special) {
  const std::vector<std::string_view> parts = parts_of(tokenizer, text);
  if (parts.size() <= 1 || base::num_threads() == 1) return tokenizer.encode(text, special);
  std::vector<std::vector<int32_t>> found(parts.size());
  base::parallel_tasks(static_cast<int64_t>(parts.size()), [&](int64_t i) {
    const auto place = static_cast<size_t>(i);
    found[place].reserve(parts[place].size() / 3);
    tokenizer.encode(parts[place], found[place], special);
  });
  size_t count = 0;
  for (const std::vector<int32_t>& ids : found) count += ids.size();
  std::vector<int32_t> all;
  all.reserve(count);
  for (const std::vector<int32_t>& ids : found) all.insert(all.end(), ids.begin(), ids.end());
  return all;
}

}  // namespace tenon::text
