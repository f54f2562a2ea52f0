// Kernels as text: one line for each instruction, what loops and branches hold set in by two columns.

#include "tenon/codegen/kernel_ir.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tenon::codegen {
namespace {

using Kind = Inst::Kind;

constexpr std::string_view kKinds[] = {
    "constant",   "number",      "thread",    "block",       "math",      "fma",        "exp2",        "reciprocal",
    "saturate",   "mul_high",    "pack_half", "unpack_half", "pack_bf16", "larger",     "f64_word",    "f64_of",
    "philox",     "extract",     "shuffle",   "load",        "store",     "store_bits", "shared_load", "shared_store",
    "array_load", "array_store", "variable",  "get",         "set",       "barrier",    "loop",        "branch",
    "otherwise",  "end",         "leave_if",  "fault_if",    "tile_zero", "tile_load",  "tile_mma",    "tile_store",
    "tile_get",   "tile_set",    "tile_pack"};

std::string constant_text(const Inst& inst) {
  if (is_float(inst.type)) return fmt::format("{}", std::bit_cast<double>(inst.bits));
  if (inst.type == Scalar::boolean) return inst.bits != 0 ? "true" : "false";
  if (is_signed(inst.type)) return fmt::format("{}", static_cast<int64_t>(inst.bits));
  return fmt::format("{}", inst.bits);
}

// What an instruction is about beyond its operands.
std::string details(const Inst& inst) {
  switch (inst.kind) {
    case Kind::constant: return " " + constant_text(inst);
    case Kind::load: return fmt::format(" b{}", inst.slot);
    case Kind::store:
    case Kind::store_bits: return fmt::format(" b{}", inst.slot);
    case Kind::shared_load:
    case Kind::shared_store: return fmt::format(" s{}", inst.slot);
    case Kind::array_load:
    case Kind::array_store: return fmt::format(" a{}", inst.slot);
    case Kind::number:
      return fmt::format(" {}{}", inst.slot, inst.type == Scalar::u64 ? "" : inst.bits == 0 ? " low" : " high");
    case Kind::block:
    case Kind::f64_word:
    case Kind::extract: return fmt::format(" {}", inst.slot);
    case Kind::shuffle: return fmt::format(" {}", inst.bits);
    case Kind::loop:
      return inst.bits == static_cast<uint64_t>(Unroll::always)  ? " unrolled"
             : inst.bits == static_cast<uint64_t>(Unroll::never) ? " rolled"
                                                                 : "";
    case Kind::fault_if: return fmt::format(" {} axis {} size {}", ir::name_of(inst.op, inst.use), inst.slot, inst.bits);
    case Kind::tile_load:
      return fmt::format(" s{} {} {}{}", inst.slot, inst.bits & TileBits::kBf16 ? "bf16" : "f16",
                         inst.bits & TileBits::kRight ? "right" : "left",
                         inst.bits & TileBits::kTransposed ? " transposed" : "");
    case Kind::tile_store: return fmt::format(" s{}", inst.slot);
    case Kind::tile_get:
    case Kind::tile_set: return fmt::format(" {}", inst.slot);
    case Kind::tile_pack: return inst.bits & TileBits::kBf16 ? " bf16" : " f16";
    default: return "";
  }
}

}  // namespace

std::string_view name(Scalar type) {
  constexpr std::string_view kNames[] = {"boolean", "i32", "u32", "i64", "u64", "f32", "f64", "u8", "u16"};
  return kNames[static_cast<size_t>(type)];
}

bool gives_value(Kind kind) {
  switch (kind) {
    case Kind::store:
    case Kind::store_bits:
    case Kind::shared_store:
    case Kind::array_store:
    case Kind::set:
    case Kind::barrier:
    case Kind::branch:
    case Kind::otherwise:
    case Kind::end:
    case Kind::leave_if:
    case Kind::fault_if:
    case Kind::tile_mma:
    case Kind::tile_store:
    case Kind::tile_set: return false;
    default: return true;
  }
}

uint32_t alignment_of(const KernelIr& kernel, uint32_t buffer) {
  uint32_t widest = 1;
  for (const Inst& inst : kernel.code) {
    if ((inst.kind == Kind::load || inst.kind == Kind::store) && inst.slot == buffer)
      widest = std::max<uint32_t>(widest, inst.width);
  }
  return widest * static_cast<uint32_t>(size_of(kernel.buffers[buffer].element));
}

std::string to_string(const Inst& inst) {
  std::string text(inst.kind == Kind::math ? ir::name(inst.op) : kKinds[static_cast<size_t>(inst.kind)]);
  text += details(inst);
  for (const Id arg : inst.args) text += fmt::format(" %{}", arg);
  if (gives_value(inst.kind)) text += fmt::format(" : {}", name(inst.type));
  if (inst.width > 1) text += fmt::format(" x{}", inst.width);
  return text;
}

std::string to_string(const KernelIr& kernel) {
  std::string text = fmt::format("{}: {} threads, {} numbers{}\n", kernel.name, kernel.threads, kernel.numbers,
                                 kernel.may_fault ? ", may fault" : "");
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const KernelBuffer& buffer = kernel.buffers[i];
    text += fmt::format("b{}: {}{}{}\n", i, name(buffer.element), buffer.is_written ? ", written" : "",
                        buffer.is_aliased ? ", aliased" : "");
  }
  for (size_t i = 0; i < kernel.shared.size(); ++i)
    text += fmt::format("s{}: {} {}\n", i, kernel.shared[i].count, name(kernel.shared[i].element));
  for (size_t i = 0; i < kernel.arrays.size(); ++i)
    text += fmt::format("a{}: {} {}\n", i, kernel.arrays[i].count, name(kernel.arrays[i].element));

  size_t depth = 1;
  for (size_t i = 0; i < kernel.code.size(); ++i) {
    const Inst& inst = kernel.code[i];
    if ((inst.kind == Kind::end || inst.kind == Kind::otherwise) && depth > 1) --depth;
    text += std::string(2 * depth, ' ');
    if (gives_value(inst.kind)) text += fmt::format("%{} = ", i);
    text += to_string(inst) + "\n";
    if (inst.kind == Kind::loop || inst.kind == Kind::branch || inst.kind == Kind::otherwise) ++depth;
  }
  return text;
}

}  // namespace tenon::codegen
