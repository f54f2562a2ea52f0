// From a loop nest to a tile program.

#pragma once

#include "tenon/backends/cpu/tile/code.h"

namespace tenon::backends::cpu {

TileCode build_tiles(const ir::LoopNest& nest);

}  // namespace tenon::backends::cpu
