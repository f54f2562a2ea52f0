// A board of 2048 on a terminal, as text with colours.

#pragma once

#include <string>
#include <string_view>

#include "tenon/rl/board.h"

namespace tenon::cli {

struct BoardScreen {
  rl::Board board;
  int64_t score = 0, moves = 0, best_score = 0;
  std::string title;   // whose game it is
  std::string status;  // what happened, and what may be done
  std::string keys;
  bool is_tall = true;  // three lines a cell, 25 in all; else one, 17 in all
};

/// Lines that end in \r\n, for a terminal in raw mode.
std::string drawn(const BoardScreen& screen, bool colours);

}  // namespace tenon::cli
