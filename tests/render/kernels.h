// Kernels that together hold every instruction, every op in every type it has and every width.

#pragma once

#include <vector>

#include "tenon/codegen/builder.h"

namespace tenon::render {

using codegen::Builder;
using codegen::Id;
using codegen::KernelIr;
using codegen::Scalar;

/// The types of values.
inline constexpr Scalar kValueTypes[] = {Scalar::boolean, Scalar::i32, Scalar::u32, Scalar::i64,
                                         Scalar::u64,     Scalar::f32, Scalar::f64};
/// And of elements of memory.
inline constexpr Scalar kElementTypes[] = {Scalar::boolean, Scalar::i32, Scalar::u32, Scalar::i64, Scalar::u64,
                                           Scalar::f32,     Scalar::f64, Scalar::u8,  Scalar::u16};

/// The elementwise ops that a type has; cast and bitcast have kernels of their own.
std::vector<ir::Op> ops_of(Scalar type);

/// Buffers a, b, c and results: result k * n + i is ops[k] of a[i] and b[i], or of a[i] and c[i] for shifts; of `where`
/// it is (a[i] < b[i] ? a[i] : b[i]). n is number 0 of the launch.
KernelIr ops_kernel(Scalar type, const std::vector<ir::Op>& ops);
/// One buffer of n elements, and one of results for each of `to`: element i, cast (or with its bits) to that type.
KernelIr casts_kernel(Scalar from, const std::vector<Scalar>& to, ir::Op op);
/// Six times 32 elements of buffer 0 to buffer 1: by loads and stores of the widths 1, 2, 4 and 8, then of those with
/// an even number through masked loads, then through masked stores.
KernelIr copy_kernel(Scalar element);
/// Stores constants of a type, one after another.
KernelIr constants_kernel(Scalar type, const std::vector<uint64_t>& bits);
/// Result i of 64 is the sum of x[0] to x[63] but x[i], through shared memory, a private array, loops and branches.
KernelIr control_kernel();
/// The same value through arrays of each element type, shared and private.
KernelIr arrays_kernel(Scalar element);
/// 16 elements of 4 or 8 bytes, turned around in vectors of this width: vector i of y is vector n - 1 - i of x, through
/// shared memory to which elements are stored one by one, then in vectors.
KernelIr vectors_kernel(Scalar element, uint32_t width);
/// y = x z of 16 x 16 numbers in f16 or bf16, as words of two; a flag says whether a factor lies transposed.
KernelIr tile_kernel(bool is_bf16, bool turns_left, bool turns_right);
/// fma(x, y, z), for f32 or f64.
KernelIr fma_kernel(Scalar type);
/// Results 2 i and 2 i + 1: upper half of x[i] * y[i], then word i % 4 of philox with key x[i], y[i] and counter i.
KernelIr words_kernel();
/// halves[i] = pack_half(x[i]), back[i] = unpack_half(bits[i]).
KernelIr half_kernel();
/// Each of 64 results is the sum of the 32 elements of its subgroup.
KernelIr shuffle_kernel();
/// Copies x[index[i]], and reports an index that is out of range of 8 elements on axis 2.
KernelIr fault_kernel();
/// y[i] = x[i] + 1 where i is the block's place in a grid of three axes.
KernelIr grid_kernel();

/// All of them, for compilers.
std::vector<KernelIr> all_kernels();

}  // namespace tenon::render
