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
  int columns = 80, rows = 24;  // of the terminal
};

/// Whether the terminal is large enough for a board.
bool fits(const BoardScreen& screen);

/// Lines with \r\n between them, for a terminal in raw mode: as much as fits. Cells have three lines, one where there
/// are fewer than 24 rows, and no frame where there are fewer than 16 or 39 columns. Below 6 rows of 24 there is only a
/// line that says so.
std::string drawn(const BoardScreen& screen, bool colours);

}  // namespace tenon::cli
