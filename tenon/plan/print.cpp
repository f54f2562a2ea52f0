// Plans as text.

#include <fmt/format.h>

#include <algorithm>

#include "tenon/plan/plan.h"

namespace tenon::plan {
namespace {

std::string describe(const ir::Call& call) {
  std::string text = fmt::format("{:<18}", ir::name(call.op));
  for (const ir::Operand& operand : call.inputs)
    text += fmt::format(" {}{}", tenon::name(operand.dtype), operand.map.to_string());
  if (call.epilogue.bias) text += " + bias";
  if (call.epilogue.residual) text += " + residual";
  if (call.epilogue.activation == ir::Epilogue::Activation::gelu) text += ", gelu";
  if (call.epilogue.activation == ir::Epilogue::Activation::relu) text += ", relu";
  if (call.epilogue.activation == ir::Epilogue::Activation::gelu_slope) text += " * slope of gelu";
  text += " ->";
  for (const ir::Type& type : call.outputs)
    text += fmt::format(" {}{}", tenon::name(type.dtype), ir::to_string(type.shape));
  return text;
}

// The ops that a nest computes, operands first.
std::string describe(const ir::LoopNest& nest) {
  const Dims rows(nest.space.begin(), nest.space.begin() + static_cast<ptrdiff_t>(nest.row_rank));
  const Dims elements(nest.space.begin() + static_cast<ptrdiff_t>(nest.row_rank), nest.space.end());
  std::string text = fmt::format("fused {} rows of {}:", ir::to_string(rows), ir::to_string(elements));
  for (const ir::Instr& instr : nest.code) {
    if (instr.kind == ir::Instr::Kind::apply || instr.kind == ir::Instr::Kind::reduce)
      text += fmt::format(" {}", ir::name(instr.op));
    if (instr.kind == ir::Instr::Kind::random) text += " random";
  }
  text += " ->";
  for (const ir::Instr& instr : nest.code) {
    if (instr.kind == ir::Instr::Kind::store)
      text += fmt::format(" {}{}", tenon::name(instr.dtype), ir::to_string(instr.map.shape()));
  }
  return text;
}

}  // namespace

std::string Plan::print() const {
  std::string text;
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i];
    size_t read = 0, written = 0;
    for (size_t a = 0; a < launch.args.size(); ++a) (a < launch.inputs ? read : written) += launch.args[a].bytes;
    text += fmt::format("{:>5}  {}  read {} written {}\n", i,
                        std::visit([](const auto& k) { return describe(k); }, kernels[launch.kernel]), read, written);
  }
  return text;
}

std::string Plan::memory() const {
  std::vector<size_t> holders;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].place == Slot::Place::temporary && slots[i].within == kNone) holders.push_back(i);
  }
  std::stable_sort(holders.begin(), holders.end(), [&](size_t a, size_t b) { return slots[a].bytes > slots[b].bytes; });
  std::string text = fmt::format("arena {} bytes, {} live at the peak, {} temporaries\n", arena_bytes, peak_live_bytes,
                                 holders.size());
  holders.resize(std::min<size_t>(holders.size(), 10));
  for (const size_t holder : holders) {
    size_t first = launches.size(), last = 0;
    for (size_t i = 0; i < launches.size(); ++i) {
      const auto touches = [&](const Argument& arg) { return arg.slot == holder || slots[arg.slot].within == holder; };
      if (std::none_of(launches[i].args.begin(), launches[i].args.end(), touches)) continue;
      first = std::min(first, i);
      last = i;
    }
    text += fmt::format("  {} bytes at {}, written by launch {} ({}), last used by {}\n", slots[holder].bytes,
                        slots[holder].offset, first, ir::name(launches[first].op), last);
  }
  return text;
}

}  // namespace tenon::plan
