// Tiles were measured on an H200 with 32 x 12 x 1024 x 64 in bf16, causal: 150 us forward, 195 us for the gradients of
// queries and 255 us for those of keys and values. Scores are computed again for each of these two, so that every sum
// belongs to one block: 7 products instead of 5. Only where heads share keys, and so few blocks have so much to do that
// the longest outlast the others, are sums of several blocks added, in order, by a kernel of their own.

#include "tenon/backends/cuda/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tenon/base/divide.h"
#include "tenon/kernels/attention_kernel.h"

namespace tenon::backends::cuda {
namespace {

using base::ceil_div;
using base::round_up;
using codegen::Dispatch;
using ir::Op;
using kernels::AttentionOperand;
using kernels::AttentionProblem;
using kernels::AttentionTarget;

constexpr int64_t kBytes = 2;       // of a number
constexpr int64_t kGranule = 8;     // numbers that are copied at once
constexpr int64_t kGroupRows = 64;  // of four warps
constexpr uint32_t kGroupThreads = 128;
constexpr int64_t kStep = 64;           // rows that pass by at once
constexpr int64_t kStages = 3;          // of them in shared memory
constexpr int64_t kRowValues = 1024;    // bytes of a stage, for what gradients of keys need of each query
constexpr int64_t kCached = 16 << 20;   // bytes of rows that blocks pass by together, a third of the cache
constexpr int64_t kMostBlocks = 65535;  // of the second and third dimension of a grid
constexpr int64_t kMostRows = kMostBlocks * kGroupRows, kMostRowBytes = 1 << 20;
// Products are scaled behind their sums, which are to stay far from what f32 holds.
constexpr int kLeastScale = -20;

// How a kernel is cut; see the text.
struct Cut {
  const char* name;
  int64_t groups, blocks;
  bool overlaps = false;
  int64_t rows() const { return groups * kGroupRows; }
  uint32_t threads() const { return static_cast<uint32_t>(groups) * kGroupThreads; }
};
Cut forward_cut(int64_t head) { return {"FORWARD", 1, head == 64 ? 4 : 2}; }
Cut query_cut(int64_t head) { return {"QUERY", 1, head == 64 ? 4 : 2, head != 64}; }
Cut key_cut(int64_t head) { return {"KEY", head == 64 ? 1 : 2, head == 64 ? 3 : 1}; }

// ---- what is divided ----

constexpr int64_t kProcessors = 132;  // of the chip that was measured; results must not depend on another number

// Into how many blocks the heads that share keys are divided. With 4 x 4 lines of 2048 keys, each shared by 8 heads,
// the longest blocks took 1.5 times as long as all of them would on average: 415 us, and 300 + 13 when they are halved.
int64_t key_splits(const AttentionProblem& p) {
  constexpr int64_t kShort = 32;  // steps: not worth another pass
  const Cut cut = key_cut(p.width);
  const int64_t sharers = p.heads_per_group(), longest = sharers * ceil_div(p.queries, kStep);
  if (sharers == 1 || longest <= kShort) return 1;
  int64_t all = 0;
  for (int64_t first = 0; first < p.keys; first += cut.rows())
    all += std::max<int64_t>(0, ceil_div(p.queries, kStep) - (p.attrs.causal ? first / kStep : 0));
  all *= p.batches * p.heads;
  for (int64_t splits = 1; splits < sharers; ++splits) {
    if (sharers % splits != 0) continue;
    const bool is_even = 5 * (longest / splits) * kProcessors * cut.blocks <= 4 * all;
    if (is_even || longest / splits <= kShort) return splits;
  }
  return sharers;
}

// ---- what is taken ----

// Rows of whole granules, one after another or further apart.
bool is_readable(const AttentionOperand& operand, DType dtype) {
  if (operand.dtype != dtype || !operand.map.is_strided()) return false;
  const ir::View& view = operand.map.views()[0];
  if (view.strides[3] != 1 || view.offset % kGranule != 0) return false;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (view.strides[axis] < 0 || view.strides[axis] % kGranule != 0) return false;
  }
  return view.strides[2] * kBytes <= kMostRowBytes;
}

bool is_taken(const AttentionProblem& p, bool is_backward) {
  if (p.attrs.has_mask || p.attrs.dropout > 0 || (p.dtype != DType::bf16 && p.dtype != DType::f16)) return false;
  if ((p.width != 64 && p.width != 128) || p.value_width != p.width) return false;
  if (p.queries <= kernels::kFewQueries || p.keys == 0 || p.batches * p.heads == 0) return false;
  if (std::max(p.queries, p.keys) > kMostRows || p.batches * p.heads > std::numeric_limits<int32_t>::max())
    return false;
  const double scale = p.attrs.scale;
  if (!(scale > 0) || !std::isfinite(scale) || std::ilogb(scale) < kLeastScale) return false;
  if (!is_readable(p.q, p.dtype) || !is_readable(p.k, p.dtype) || !is_readable(p.v, p.dtype)) return false;
  return !is_backward || (is_readable(p.o, p.dtype) && is_readable(p.o_grad, p.dtype) && p.lse.dtype == DType::f32 &&
                          p.lse.map.is_contiguous());
}

// ---- how a kernel is started ----

class Start {
 public:
  Start(const char* name, const Cut& cut, const AttentionProblem& p) : p_(p) {
    made_.kernel.name = name;
    made_.kernel.threads = cut.threads();
    define("HEAD", p.width);
    define("IS_BF16", p.dtype == DType::bf16);
    define("CAUSAL", p.attrs.causal);
    for (const auto& [what, value] : {std::pair{"GROUPS", cut.groups},
                                      {"STEP", kStep},
                                      {"STAGES", kStages},
                                      {"BLOCKS", cut.blocks},
                                      {"OVERLAPS", int64_t{cut.overlaps}}})
      define(fmt::format("{}_{}", cut.name, what), value);
  }

  void add_buffer(uint32_t arg, int64_t offset_bytes, bool is_written) {
    made_.buffers.push_back({arg, static_cast<size_t>(offset_bytes)});
    codegen::KernelBuffer& buffer = made_.kernel.buffers.emplace_back();
    buffer.element = codegen::Scalar::u32;
    buffer.is_written = is_written;
  }
  void add_rows(const char* name, const AttentionOperand& operand) {
    const ir::View& view = operand.map.views()[0];
    define(fmt::format("{}_ROW", name), view.strides[2] * kBytes);
    add_buffer(operand.arg, view.offset * kBytes, false);
    strides_.push_back(view.strides[0] * kBytes);
    strides_.push_back(view.strides[1] * kBytes);
  }
  void add_target(const AttentionTarget& to) {
    add_buffer(to.arg, to.head * to.width * kBytes, true);
    add_target_strides(to.tokens * to.heads * to.width * kBytes, to.heads * to.width * kBytes);
  }
  void add_target_strides(int64_t batch, int64_t row) {
    targets_.push_back(batch);
    targets_.push_back(row);
  }
  void define(const std::string& name, int64_t value) { definitions_ += fmt::format("#define {} {}\n", name, value); }

  // `passing`: bytes of the rows that pass by the tiles of a line; `more`: the last numbers; `least`: lines that go
  // together, so that there are blocks enough.
  Dispatch finish(int64_t tiles, int64_t lines, int64_t passing, int64_t shared_bytes,
                  std::initializer_list<int64_t> more, int64_t least = 1) {
    const int64_t most = std::max<int64_t>({least, kCached / passing, ceil_div(lines, kMostBlocks)});
    const int64_t sections = ceil_div(lines, most);
    made_.blocks = {static_cast<uint64_t>(ceil_div(lines, sections)), static_cast<uint64_t>(tiles),
                    static_cast<uint64_t>(sections)};
    add_numbers({p_.heads, p_.heads_per_group(), p_.queries, p_.keys});
    add_numbers(strides_);
    add_numbers(targets_);
    add_numbers({std::bit_cast<int32_t>(static_cast<float>(p_.attrs.scale)), lines});
    add_numbers(more);
    made_.kernel.numbers = static_cast<uint32_t>(made_.sizes.size());
    if (shared_bytes > 0)
      made_.kernel.shared.push_back({codegen::Scalar::u32, static_cast<uint32_t>(shared_bytes / 4)});
    made_.kernel.text = definitions_ + std::string(kAttentionText);
    return std::move(made_);
  }

 private:
  void add_numbers(std::span<const int64_t> numbers) {
    for (const int64_t number : numbers) made_.sizes.push_back(static_cast<uint64_t>(number));
  }
  void add_numbers(std::initializer_list<int64_t> numbers) { add_numbers(std::span(numbers.begin(), numbers.size())); }

  const AttentionProblem& p_;
  Dispatch made_;
  std::string definitions_;
  std::vector<int64_t> strides_, targets_;
};

int64_t row_bytes(const AttentionProblem& p) { return p.width * kBytes; }

Dispatch start_forward(const AttentionProblem& p) {
  const Cut cut = forward_cut(p.width);
  Start start("attention_forward", cut, p);
  start.add_rows("Q", p.q);
  start.add_rows("K", p.k);
  start.add_rows("V", p.v);
  start.add_buffer(p.first_result, 0, true);
  start.add_buffer(p.first_result + 1, 0, true);
  return start.finish(ceil_div(p.queries, cut.rows()), p.batches * p.heads, 2 * p.keys * row_bytes(p),
                      (cut.rows() + 2 * kStages * kStep) * row_bytes(p), {});
}

// Rows of the scratch memory, for each query of a line.
int64_t padded_queries(const AttentionProblem& p) {
  return round_up(p.queries, std::max(kStep, query_cut(p.width).rows()));
}

Dispatch start_query_gradients(const AttentionProblem& p, const AttentionTarget& to, uint32_t scratch) {
  const Cut cut = query_cut(p.width);
  Start start("attention_query_gradients", cut, p);
  start.add_rows("Q", p.q);
  start.add_rows("K", p.k);
  start.add_rows("V", p.v);
  start.add_rows("O", p.o);
  start.add_buffer(p.lse.arg, 0, false);
  start.add_rows("G", p.o_grad);
  start.add_target(to);
  start.add_buffer(scratch, 0, true);
  return start.finish(padded_queries(p) / cut.rows(), p.batches * p.heads, 2 * p.keys * row_bytes(p),
                      (2 * cut.rows() + (2 * kStages - 1) * kStep) * row_bytes(p), {padded_queries(p)});
}

// Sums of several blocks in the scratch memory: of keys, then of values, `splits` times (B, T, G, D) in f32.
struct KeyParts {
  int64_t splits = 1, offset = 0, row = 0, batch = 0, bytes = 0;  // all but the first in bytes; the last: of one part

  KeyParts(const AttentionProblem& p, int64_t behind)
      : splits(key_splits(p)),
        offset(round_up(behind, int64_t{256})),
        row(p.groups * p.width * static_cast<int64_t>(sizeof(float))),
        batch(p.keys * row),
        bytes(p.batches * batch) {}
  int64_t end() const { return splits > 1 ? offset + 2 * splits * bytes : 0; }
};

Dispatch start_key_gradients(const AttentionProblem& p, const kernels::AttentionTargets& to, uint32_t scratch,
                             const KeyParts& parts) {
  const Cut cut = key_cut(p.width);
  Start start("attention_key_gradients", cut, p);
  start.define("KEY_SPLITS", parts.splits);
  start.add_rows("Q", p.q);
  start.add_rows("K", p.k);
  start.add_rows("V", p.v);
  start.add_rows("G", p.o_grad);
  start.add_buffer(scratch, 0, false);
  if (parts.splits == 1) {
    start.add_target(to.k);
    start.add_target(to.v);
  } else {
    for (const int64_t first : {int64_t{0}, parts.splits}) {
      start.add_buffer(scratch, parts.offset + first * parts.bytes, true);
      start.add_target_strides(parts.batch, parts.row);
    }
  }
  const int64_t tiles = ceil_div(p.keys, cut.rows()), sharers = p.heads_per_group() / parts.splits;
  return start.finish(tiles, p.batches * p.groups * parts.splits, 2 * p.queries * sharers * row_bytes(p),
                      2 * cut.rows() * row_bytes(p) + kStages * (2 * kStep * row_bytes(p) + kRowValues),
                      {p.batches * p.heads, padded_queries(p), parts.bytes},
                      ceil_div(2 * kProcessors * cut.blocks, tiles));
}

Dispatch start_key_parts(const AttentionProblem& p, const kernels::AttentionTargets& to, uint32_t scratch,
                         const KeyParts& parts) {
  const Cut cut{"PARTS", 2, 4};
  Start start("attention_key_parts", cut, p);
  start.define("PARTS_COUNT", parts.splits);
  start.add_buffer(scratch, parts.offset, false);
  start.add_target(to.k);
  start.add_target(to.v);
  const int64_t numbers = p.keys * p.groups * p.width;
  return start.finish(ceil_div(numbers, cut.threads() * kGranule), 2 * p.batches, 1, 0, {parts.bytes});
}

}  // namespace

std::optional<codegen::Module> plan_attention(const ir::Call& call) {
  const bool is_backward = call.op == Op::attention_backward;
  if ((call.op != Op::attention && !is_backward) || !call.way.empty()) return std::nullopt;
  const AttentionProblem p = kernels::attention_problem(call);
  if (!is_taken(p, is_backward)) return std::nullopt;
  codegen::Module made;
  if (!is_backward) {
    made.dispatches.push_back(start_forward(p));
    return made;
  }
  // The gradients of queries leave behind what those of keys need: two numbers of each query.
  made.scratch_bytes = static_cast<size_t>(p.batches * p.heads * padded_queries(p)) * 2 * sizeof(float);
  const uint32_t scratch = p.first_result + static_cast<uint32_t>(call.outputs.size());
  const kernels::AttentionTargets to(p);
  made.dispatches.push_back(start_query_gradients(p, to.q, scratch));
  const KeyParts parts(p, static_cast<int64_t>(made.scratch_bytes));
  made.scratch_bytes = std::max(made.scratch_bytes, static_cast<size_t>(parts.end()));
  made.dispatches.push_back(start_key_gradients(p, to, scratch, parts));
  if (parts.splits > 1) made.dispatches.push_back(start_key_parts(p, to, scratch, parts));
  return made;
}

}  // namespace tenon::backends::cuda
