// Writes KernelIr: one function per instruction, and small folding of constants, so that what is known while a kernel
// is written costs nothing when it runs.

#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "tenon/codegen/kernel_ir.h"

namespace tenon::codegen {

class Builder {
 public:
  Builder(std::string name, uint32_t threads) {
    kernel_.name = std::move(name);
    kernel_.threads = threads;
  }

  uint32_t add_buffer(Scalar element, bool is_written, bool is_aliased = false);
  /// Truths are words in memory of a block or a thread; who stores and loads them need not know.
  uint32_t add_shared(Scalar element, uint32_t count);
  uint32_t add_array(Scalar element, uint32_t count);
  void set_numbers(uint32_t numbers) { kernel_.numbers = numbers; }
  void set_resident(uint32_t blocks) { kernel_.resident = blocks; }

  // Values.
  Id u32(uint64_t value) { return constant(Scalar::u32, value); }
  Id f32(double value);
  Id boolean(bool value) { return constant(Scalar::boolean, value); }
  /// A whole number of any type, floats too.
  Id whole(Scalar type, int64_t value);
  Id constant(Scalar type, uint64_t bits);
  Id number(uint32_t index);
  /// A number that comes with the dispatch, behind those of the launch: kernels that differ by such alone have one
  /// text.
  Id size(Scalar type, int64_t value);
  /// The same of a u32, of which two share a number: some devices have few.
  Id half_size(int64_t value);
  const std::vector<uint64_t>& sizes() const { return sizes_; }
  Id thread();
  Id block(uint32_t axis = 0);
  Id math(ir::Op op, Scalar type, std::initializer_list<Id> args);
  Id fma(Id a, Id b, Id c);
  Id exp2(Id x);
  Id reciprocal(Id x);
  Id saturate(Id x);
  Id mul_high(Id a, Id b);
  Id pack_half(Id x);
  Id pack_bf16(Id x);
  Id larger(Id a, Id b);
  Id unpack_half(Id bits);
  Id f64_word(Id x, uint32_t half);
  Id f64_of(Id low, Id high);
  std::array<Id, 4> philox(Id key_low, Id key_high, Id counter_low, Id counter_high);
  Id shuffle(Id value, uint32_t distance);

  // Arithmetic in the type of the first operand.
  Id add(Id a, Id b);
  Id sub(Id a, Id b);
  Id mul(Id a, Id b);
  Id div(Id a, Id b);  // of floats, and of unsigned integers
  Id mod(Id a, Id b);  // of unsigned integers
  Id min(Id a, Id b);  // of unsigned integers
  Id max(Id a, Id b);
  Id less(Id a, Id b);
  Id equal(Id a, Id b);
  Id both(Id a, Id b);  // of truths
  Id either(Id a, Id b);
  Id is_not(Id a);
  Id select(Id condition, Id a, Id b);
  Id convert(Id a, Scalar to);  // the value as that type, which must hold it
  Id bitcast(Id a, Scalar to);  // of one size

  // Memory.
  Id load(uint32_t buffer, Id index, Id mask = kNoValue);
  /// Consecutive elements; the index is a multiple of their number, and so is where the buffer begins.
  std::vector<Id> load_several(uint32_t buffer, Id index, uint32_t width, Id mask = kNoValue);
  void store(uint32_t buffer, Id index, Id value, Id mask = kNoValue);
  void store_several(uint32_t buffer, Id index, std::span<const Id> values);
  Id shared_load(uint32_t array, Id index);
  void shared_store(uint32_t array, Id index, Id value);
  /// Consecutive elements, at most 16 bytes; the index is a multiple of their number.
  std::vector<Id> shared_load_several(uint32_t array, Id index, uint32_t width);
  void shared_store_several(uint32_t array, Id index, std::span<const Id> values);
  Id array_load(uint32_t array, Id index);
  void array_store(uint32_t array, Id index, Id value);
  void barrier();

  // Matrix tiles, held by `subgroup` threads together (kernel_ir.h).
  void use_tiles(uint32_t subgroup) { kernel_.subgroup = subgroup; }
  Id tile_zero();
  Id tile_load(uint32_t array, Id index, Id stride, uint64_t tile_bits);
  void tile_mma(Id accumulator, Id left, Id right);
  void tile_store(uint32_t array, Id index, Id stride, Id accumulator);
  Id tile_get(Id accumulator, uint32_t place);
  void tile_set(Id accumulator, uint32_t place, Id value);
  Id tile_pack(std::span<const Id> values, uint64_t tile_bits);

  // Variables and control.
  Id variable(Id first);
  Id get(Id variable);
  void set(Id variable, Id value);
  /// Runs `body` with the loop's counter.
  void loop(Id begin, Id end, Id step, const std::function<void(Id)>& body, Unroll unroll);
  void loop(uint64_t begin, uint64_t end, const std::function<void(Id)>& body, Unroll unroll);
  void loop(Id begin, Id end, Id step, const std::function<void(Id)>& body, bool unroll = false) {
    loop(begin, end, step, body, unroll ? Unroll::always : Unroll::maybe);
  }
  void loop(uint64_t begin, uint64_t end, const std::function<void(Id)>& body, bool unroll = false) {
    loop(begin, end, body, unroll ? Unroll::always : Unroll::maybe);
  }
  void branch(Id condition, const std::function<void()>& body, const std::function<void()>& otherwise = nullptr);
  void leave_if(Id condition);
  void fault_if(ir::Op op, ir::LookUp use, Id condition, Id index, uint32_t axis, uint64_t size);

  /// An instruction as it is, its operands already of this kernel: for passes that write a kernel anew. Loops and
  /// branches have functions of their own.
  Id append(Inst inst);

  Scalar type_of(Id id) const { return kernel_.code[id].type; }
  const Inst& inst(Id id) const { return kernel_.code[id]; }
  /// The number, if it is a constant.
  std::optional<uint64_t> known(Id id) const;
  size_t size() const { return kernel_.code.size(); }

  /// The finished kernel, verified.
  KernelIr finish();

 private:
  std::optional<Id> folded(ir::Op op, Scalar type, std::span<const Id> args);
  Id push(Inst inst);
  /// The same value again, if it is known at this place.
  Id value(Inst inst);
  std::vector<Id> components(Id all, uint32_t width);
  void open(Inst inst);
  void close();

  KernelIr kernel_;
  std::vector<uint64_t> sizes_;
  std::optional<size_t> half_free_;  // the size whose upper half nobody has
  std::vector<bool> shared_truths_, array_truths_;  // for each array whether it holds truths
  // Pure values by content, one table for each block of code that is open: inner ones end with their block.
  std::vector<std::unordered_multimap<uint64_t, Id>> known_values_{1};
};

}  // namespace tenon::codegen
