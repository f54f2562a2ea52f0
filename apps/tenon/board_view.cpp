#include "apps/tenon/board_view.h"

#include <fmt/format.h>

namespace tenon::cli {
namespace {

constexpr int kCellWidth = 8;

// 256-colour backgrounds from pale to red to gold, dark text on the pale ones.
std::string colour_of(int exponent) {
  constexpr int kBackgrounds[] = {237, 255, 253, 215, 209, 203, 196, 228, 227, 226, 220, 214, 45, 39, 33, 27};
  const bool dark_text = exponent != 0 && exponent < 12 && !(exponent >= 4 && exponent <= 6);
  return fmt::format("\x1b[48;5;{};38;5;{};1m", kBackgrounds[exponent], dark_text ? 16 : 231);
}

std::string centred(const std::string& text) {
  const int left = (kCellWidth - static_cast<int>(text.size())) / 2;
  return std::string(static_cast<size_t>(left), ' ') + text +
         std::string(static_cast<size_t>(kCellWidth - left) - text.size(), ' ');
}

}  // namespace

std::string drawn(const BoardScreen& screen, bool colours) {
  std::string text = fmt::format("  2048 - {}\r\n\r\n  score {:<10} moves {:<8} best {}\r\n\r\n", screen.title,
                                 screen.score, screen.moves, screen.best_score);
  const std::string rule = [] {
    std::string line = "  +";
    for (int i = 0; i < 4; ++i) line += std::string(kCellWidth, '-') + "+";
    return line + "\r\n";
  }();
  for (int row = 0; row < 4; ++row) {
    text += rule;
    for (int line = screen.is_tall ? 0 : 1; line < (screen.is_tall ? 3 : 2); ++line) {
      text += "  |";
      for (int column = 0; column < 4; ++column) {
        const int cell = 4 * row + column, exponent = screen.board.exponent(cell);
        const std::string tile = line == 1 && exponent > 0 ? fmt::format("{}", screen.board.tile(cell)) : "";
        if (colours) text += colour_of(exponent);
        text += centred(tile);
        if (colours) text += "\x1b[0m";
        text += "|";
      }
      text += "\r\n";
    }
  }
  text += rule;
  return text + fmt::format("\r\n  {}\r\n  {}\r\n", screen.status, screen.keys);
}

}  // namespace tenon::cli
