// Which instruction sets the tile instructions can use here. Tests run all of them; everyone else gets the best.

#pragma once

#include <string_view>
#include <vector>

namespace tenon::backends::cpu {

/// "AVX3", "AVX2", "SSE4", "NEON", "SCALAR": those compiled in that this machine has, best first.
std::vector<std::string_view> tile_targets();

/// Makes every instruction looked up from now on use this instruction set; an empty name returns to the best.
void use_tile_target(std::string_view name);

}  // namespace tenon::backends::cpu
