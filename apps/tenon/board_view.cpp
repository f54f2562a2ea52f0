#include "apps/tenon/board_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

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

using Lines = std::vector<std::string>;

// Without half a character at the end.
std::string cut(std::string text, int columns) {
  auto end = static_cast<size_t>(columns);
  if (text.size() <= end) return text;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

void add_framed(const rl::Board& board, bool is_tall, bool colours, Lines& lines) {
  std::string rule = "  +";
  for (int i = 0; i < 4; ++i) rule += std::string(kCellWidth, '-') + "+";
  for (int row = 0; row < 4; ++row) {
    lines.push_back(rule);
    for (int line = is_tall ? 0 : 1; line < (is_tall ? 3 : 2); ++line) {
      std::string text = "  |";
      for (int column = 0; column < 4; ++column) {
        const int cell = 4 * row + column, exponent = board.exponent(cell);
        const std::string tile = line == 1 && exponent > 0 ? fmt::format("{}", board.tile(cell)) : "";
        if (colours) text += colour_of(exponent);
        text += centred(tile);
        if (colours) text += "\x1b[0m";
        text += "|";
      }
      lines.push_back(text);
    }
  }
  lines.push_back(rule);
}

void add_plain(const rl::Board& board, Lines& lines) {
  for (int row = 0; row < 4; ++row) {
    std::string text;
    for (int cell = 4 * row; cell < 4 * row + 4; ++cell)
      text += board.exponent(cell) > 0 ? fmt::format("{:>6}", board.tile(cell)) : "     .";
    lines.push_back(text);
  }
}

constexpr int kLeastRows = 6, kLeastColumns = 24;

}  // namespace

bool fits(const BoardScreen& screen) { return screen.rows >= kLeastRows && screen.columns >= kLeastColumns; }

std::string drawn(const BoardScreen& screen, bool colours) {
  constexpr int kTallRows = 24, kFlatRows = 16, kFrameColumns = 39;
  const auto fitting = [&](const std::string& text) { return cut(text, screen.columns); };
  if (!fits(screen)) return fitting(fmt::format("needs {} x {}; q quits", kLeastColumns, kLeastRows));
  Lines lines;
  if (screen.rows >= kFlatRows && screen.columns >= kFrameColumns) {
    lines = {fitting(fmt::format("  2048 - {}", screen.title)), "",
             fitting(fmt::format("  score {:<10} moves {:<8} best {}", screen.score, screen.moves, screen.best_score)),
             ""};
    add_framed(screen.board, screen.rows >= kTallRows, colours, lines);
    lines.insert(lines.end(), {"", fitting("  " + screen.status), fitting("  " + screen.keys)});
  } else {
    lines = {fitting(fmt::format("score {}, best {}", screen.score, screen.best_score))};
    add_plain(screen.board, lines);
    lines.push_back(fitting(screen.status));
    if (screen.rows > kLeastRows) lines.push_back(fitting(screen.keys));
  }
  return fmt::format("{}", fmt::join(lines, "\r\n"));
}

}  // namespace tenon::cli
