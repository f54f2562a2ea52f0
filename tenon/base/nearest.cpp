// Edit distance by the usual two-row table; names are short, so nothing cleverer is needed.

#include "tenon/base/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tenon::base {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view unknown, std::span<const std::string> known) {
  std::string best;
  size_t best_distance = 0;
  for (const std::string& name : known) {
    const size_t distance = edit_distance(unknown, name);
    if (2 * distance <= name.size() && (best.empty() || distance < best_distance)) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace tenon::base
