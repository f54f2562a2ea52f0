// The language in which GPU kernels are written before they are spelled in CUDA C++, OpenCL C, GLSL or WGSL.
//
// A kernel is a list of instructions. Each gives at most one value, which never changes and is named by the number of
// its instruction; what does change is a `variable`, set and read by instructions of its own. Loops and branches are
// structured: everything up to the matching `end` belongs to them, and values made inside are known inside only.
//
// Values are numbers of the types below. The 8- and 16-bit types exist in memory alone: a load widens them to u32, a
// store keeps the low bits. What an f16 or a bf16 means is therefore arithmetic on u32 and f32 (numbers.h), and a
// language needs to know neither. Integers wrap. Multiplications and additions are never contracted; `fma` is an
// instruction.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/small_vector.h"
#include "tenon/ir/look_up.h"
#include "tenon/ir/op.h"

namespace tenon::codegen {

enum class Scalar : uint8_t { boolean, i32, u32, i64, u64, f32, f64, u8, u16 };

constexpr size_t size_of(Scalar type) {
  constexpr size_t kSizes[] = {1, 4, 4, 8, 8, 4, 8, 1, 2};
  return kSizes[static_cast<size_t>(type)];
}
constexpr bool is_float(Scalar type) { return type == Scalar::f32 || type == Scalar::f64; }
constexpr bool is_signed(Scalar type) { return type == Scalar::i32 || type == Scalar::i64; }
std::string_view name(Scalar type);

/// The number of the instruction that gives a value.
using Id = uint32_t;
inline constexpr Id kNoValue = ~0u;

struct Inst {
  enum class Kind : uint8_t {
    // values
    constant,  // `bits`: of a double for float types, of an int64 otherwise
    number,    // u64: number `slot` of the launch, or behind those of the dispatch; or u32: its lower half (`bits`
               // 0) or its upper one (1)
    thread,    // u32: position in the block
    block,     // u32: position of the block along axis `slot` of the grid
    math,      // `op` of the args, all of one type; what it means beyond the language's own is up to numbers.h
    fma,       // args[0] * args[1] + args[2], rounded once
    // f32, by what the device has, to about 2^-22 of them; subnormal ones may be 0
    exp2,         // 2 to the power args[0]
    reciprocal,   // 1 / args[0], of 1 and more, within four places or so; a NaN may get lost
    saturate,     // args[0], or 0 or 1 where it lies below or above; of a NaN any number
    mul_high,     // u32: the upper half of a product
    pack_half,    // u32: the bits of args[0] (f32), rounded to f16
    unpack_half,  // f32: the f16 with these bits (u32)
    pack_bf16,    // u32: the bits of args[0] (f32), rounded to bf16; some NaN for a NaN
    larger,       // f32: of args[0] and args[1]; 0 is larger than -0, and a NaN than all
    f64_word,     // u32: the lower (`slot` 0) or the upper half (1) of the bits of args[0] (f64)
    f64_of,       // f64: the one whose bits have the lower half args[0] and the upper half args[1] (u32)
    philox,       // four u32: the block with key args[0], args[1] and counter args[2], args[3]
    extract,      // component `slot` of a value of several
    shuffle,      // args[0] (f32, i32, u32) of the thread of this subgroup whose position differs by the bits `bits`
    // memory
    load,   // `width` elements of buffer `slot` from element args[0] on; 0 where args[1], if there, is false
    store,  // args[1] .. args[width] to buffer `slot` from element args[0] on; only where the last arg, if there, is
            // true
    store_bits,  // of the u32 args[0] of buffer `slot`, the bits that args[2] has become those of args[1], which has no
                 // others; whoever stores other bits of it at the same time does so as well
    shared_load,   // `width` elements of the shared array `slot` from element args[0] on, a multiple of the width
    shared_store,  // args[1] .. args[width] to it from element args[0] on
    array_load,    // one element of array `slot` of this thread
    array_store,
    // variables
    variable,  // begins as args[0]
    get,       // what variable args[0] is now
    set,       // variable args[0] becomes args[1]
    // control
    barrier,    // every thread of the block comes here before any goes on, and sees what the others stored
    loop,       // u32: from args[0] to below args[1] in steps of args[2]; `bits`: see Unroll
    branch,     // if args[0]
    otherwise,  // else
    end,        // of a loop or a branch
    leave_if,   // the thread is done if args[0]; never where a barrier follows that others wait at
    fault_if,   // where args[0]: index args[1] (i64, or its halves args[1] and args[2]) is bad for axis `slot` of size
                // `bits`, says `op`
    // matrix tiles, on devices that have them: 16 x 16 numbers that the threads of a subgroup hold together, who knows
    // how, but for the places below. All of these threads come to such an instruction, with the same operands.
    tile_zero,   // an accumulator of f32, which begins as 0 and is changed by tile_mma and tile_set
    tile_load,   // 16-bit numbers, two in each u32 of shared array `slot`, lower half first: from number args[0] on,
                 // rows
                 // args[1] numbers apart, both multiples of 8; `bits`: see TileBits
    tile_mma,    // accumulator args[0] += args[1] args[2], of a left and a right tile of one dtype
    tile_store,  // accumulator args[0] as bits to shared array `slot` (u32) from element args[1] on, rows args[2]
                 // elements
                 // apart, both multiples of 4
    // where threads know their places in a tile (Limits::has_tile_places): each has 8 of its numbers, see TilePlace.
    // A thread may come to tile_get and tile_set alone.
    tile_get,   // f32: number `slot` of this thread's in accumulator args[0]
    tile_set,   // it becomes args[1]
    tile_pack,  // a left tile: this thread's numbers of it are args[0] .. args[7], rounded to 16 bits; `bits`: kBf16
  };
  Kind kind = Kind::math;
  ir::Op op = ir::Op::add;
  Scalar type = Scalar::f32;  // of the value, or of what is stored
  uint8_t width = 1;          // components of the value, or elements stored
  ir::LookUp use = ir::LookUp::of_op;  // of the index that a fault_if finds
  uint32_t slot = 0;
  uint64_t bits = 0;
  base::SmallVector<Id, 4> args;
};

/// What compilers are asked to do with a loop. By themselves they write out most loops whose length they know, and take
/// as many times as long.
enum class Unroll : uint8_t { maybe, always, never };

/// A buffer as a kernel sees it; it begins at the offset of the launch's argument.
struct KernelBuffer {
  Scalar element = Scalar::f32;
  bool is_written = false;
  bool is_aliased = false;  // another buffer of the kernel may be the same memory
};

/// What a tile_load gives.
struct TileBits {
  static constexpr uint64_t kRight = 1;       // the right factor of a product, not the left one
  static constexpr uint64_t kTransposed = 2;  // what lies in a row of memory is a column of the tile
  static constexpr uint64_t kBf16 = 4;        // of bf16, not of f16
};
inline constexpr uint32_t kTileSize = 16;

/// Which numbers of a tile a thread has, of 32 threads that hold it: number `i` stands in row thread / 4 + row(i) and
/// column 2 * (thread % 4) + column(i). So four threads share a row, and neighbours of it come in pairs.
struct TilePlace {
  static constexpr uint32_t kCount = 8, kThreads = 32;
  static constexpr uint32_t row(uint32_t i) { return i / 2 % 2 * 8; }
  static constexpr uint32_t column(uint32_t i) { return i % 2 + i / 4 * 8; }
};

/// Memory of a block (`shared`) or of a thread.
struct KernelArray {
  Scalar element = Scalar::f32;
  uint32_t count = 0;
};

struct KernelIr {
  std::string name;
  uint32_t threads = 1;   // of a block
  uint32_t subgroup = 0;  // threads that hold a matrix tile together, where there are any
  uint32_t resident = 1;  // blocks for which a processor is to have registers; compilers may not know how to see to it
  std::vector<KernelBuffer> buffers;
  uint32_t numbers = 0;
  std::vector<KernelArray> shared, arrays;
  std::vector<Inst> code;
  bool may_fault = false;
  std::string text;  // in the language of one backend, instead of code: what it declares has to be as above
};

/// One run of a kernel over a grid of blocks.
struct Dispatch {
  KernelIr kernel;
  std::array<uint64_t, 3> blocks{1, 1, 1};
  struct Binding {
    uint32_t arg = 0;   // of the launch
    size_t offset = 0;  // bytes behind the beginning of the argument
  };
  std::vector<Binding> buffers;  // one for each of the kernel's
  bool writes_results = true;    // false: writes scratch memory alone, whatever it does changes no state
  /// Left out where these two arguments of the launch begin at the same place: it would copy memory onto itself.
  std::optional<std::array<uint32_t, 2>> unless_same = std::nullopt;
  /// The last of the kernel's numbers, behind those of the launch.
  std::vector<uint64_t> sizes = {};
};

/// What a LoopNest or a Call becomes: dispatches that run one after another.
struct Module {
  std::vector<Dispatch> dispatches;
  size_t scratch_bytes = 0;
};

/// What fault_if leaves behind on the device, in 32-bit words: whether there is a fault (the first one stays), the op,
/// the axis, index and size, low half first, and what the index is for.
struct FaultWords {
  static constexpr uint32_t kSet = 0, kOp = 1, kAxis = 2, kIndex = 3, kSize = 5, kUse = 7, kCount = 8;
};

bool gives_value(Inst::Kind kind);
/// The bytes of the widest load or store of a buffer: it has to begin at a multiple of them.
uint32_t alignment_of(const KernelIr& kernel, uint32_t buffer);

/// As text, for people and tests.
std::string to_string(const KernelIr& kernel);
std::string to_string(const Inst& inst);
/// Fails, naming the instruction, where types do not fit, a value is used where it is not known, or a barrier stands
/// where not all threads of a block come.
void verify(const KernelIr& kernel);

}  // namespace tenon::codegen
