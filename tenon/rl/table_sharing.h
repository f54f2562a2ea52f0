// How many games of a step meet at the numbers of the table that one of them learns for.
//
// Changes of one step add up. Where many games stand alike, as all do at their first moves, their sum would be many
// times what each of them has to learn: with 32 games values grew without end. A game therefore learns its share, one
// part of as many as meet at its numbers on average, which keeps a step as tame as that of a game alone: what all of
// them together change of a value is at most what the one that looks up a number most often would.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::rl {

class TableSharing {
 public:
  /// For so many games that look up so many places each.
  TableSharing(size_t games, size_t lookups);

  /// Forgets all games.
  void clear();
  /// A game that has not been added yet looks these up, some perhaps more than once.
  void add(size_t game, std::span<const int32_t> places);
  /// The share of a game that was added, from 1 (alone) down to 1 / games.
  double share(size_t game) const;

 private:
  struct Slot {
    uint32_t round = 0;  // in which it was taken
    int32_t place = 0;
    uint32_t last = 0, games = 0;  // who came last, and how many did
  };

  void require_game(size_t game) const;

  size_t games_, lookups_;
  int shift_;  // from the hash of a place to its slot
  uint32_t round_ = 1;
  std::vector<Slot> slots_;      // of places, the next free one where two have the same
  std::vector<uint32_t> taken_;  // by each game, one after the other
};

}  // namespace tenon::rl
