#include "tenon/rl/table_sharing.h"

#include <algorithm>
#include <bit>

#include "tenon/base/error.h"

namespace tenon::rl {

TableSharing::TableSharing(size_t games, size_t lookups)
    : games_(games),
      lookups_(lookups),
      slots_(std::bit_ceil(std::max<size_t>(2, 2 * games * lookups))),
      taken_(games * lookups) {
  shift_ = 64 - std::countr_zero(slots_.size());
}

void TableSharing::require_game(size_t game) const {
  if (game >= games_) base::fail("2048", "there is no game {}; there are {}", game, games_);
}

void TableSharing::clear() {
  if (++round_ != 0) return;
  std::fill(slots_.begin(), slots_.end(), Slot{});
  round_ = 1;
}

void TableSharing::add(size_t game, std::span<const int32_t> places) {
  if (places.size() != lookups_) base::fail("2048", "a game looks up {} places, not {}", lookups_, places.size());
  require_game(game);
  uint32_t* taken = &taken_[game * lookups_];
  for (const int32_t place : places) {
    size_t at = (static_cast<uint64_t>(place) * 0x9E3779B97F4A7C15) >> shift_;
    while (slots_[at].round == round_ && slots_[at].place != place) at = (at + 1) & (slots_.size() - 1);
    Slot& slot = slots_[at];
    if (slot.round != round_) slot = {round_, place, 0, 0};
    if (slot.last != game + 1) ++slot.games;
    slot.last = static_cast<uint32_t>(game) + 1;
    *taken++ = static_cast<uint32_t>(at);
  }
}

double TableSharing::share(size_t game) const {
  require_game(game);
  uint64_t met = 0;
  for (size_t i = game * lookups_; i < (game + 1) * lookups_; ++i) met += slots_[taken_[i]].games;
  return static_cast<double>(lookups_) / static_cast<double>(met);
}

}  // namespace tenon::rl
