// attention and attention_backward as calls: operands in place through their strides, and how threads share the work.

#include "tenon/backends/cpu/attention/attention.h"

#include <cstring>

#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/base/parallel.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kTasksPerThread = 3;
constexpr int64_t kLeastTiles = 4;  // of queries in a task: every task packs the keys and values it sees
// Multiply-adds below which a second thread costs more than it saves: about 10 µs of work.
constexpr int64_t kGrain = 400'000;

using Inputs = base::SmallVector<Input, 7>;

constexpr int64_t kFewQueries = 4;  // up to here, packing keys and values costs more than reading them once for each

// By shape and dtypes alone: a value must not depend on how its operands lie.
bool has_few_queries(const AttentionRun& run) {
  return run.queries <= kFewQueries && run.keys > 0 && run.dropout == 0 && run.k.dtype == run.v.dtype;
}

// Rows that few queries read where they lie are dense; others are packed first.
bool has_dense_rows(const ir::Operand& operand) {
  return operand.map.is_strided() && operand.map.views()[0].strides.back() == 1;
}

// Everything but the addresses.
AttentionRun shape_of(const ir::Call& call) {
  const auto& attrs = std::get<ir::AttentionAttrs>(call.attrs);
  const Dims &q = call.inputs[0].map.shape(), &k = call.inputs[1].map.shape(), &v = call.inputs[2].map.shape();
  AttentionRun run;
  run.batches = q[0];
  run.heads = q[1];
  run.groups = k[1];
  run.queries = q[2];
  run.keys = k[2];
  run.width = q[3];
  run.value_width = v[3];
  run.scale = attrs.scale;
  run.causal = attrs.causal;
  run.has_mask = attrs.has_mask;
  run.dropout = attrs.dropout;
  return run;
}

class AttentionKernel : public CallKernel {
 public:
  explicit AttentionKernel(const ir::Call& call) : shape_(shape_of(call)) {
    const bool is_few = shape_.queries <= kFewQueries;
    for (const ir::Operand& operand : call.inputs) {
      const bool is_state = operand.dtype == DType::i64, is_packed = is_few && !has_dense_rows(operand);
      inputs_.emplace_back(operand, is_state || is_packed ? Input::Wanted::contiguous : Input::Wanted::strided);
    }
  }

  void run(const Arguments& args) const override {
    base::SmallVector<std::unique_ptr<Input::Bound>, 7> bound;
    AttentionRun run = shape_;
    const auto bind = [&](size_t i) {
      bound.push_back(std::make_unique<Input::Bound>(inputs_[i], args[i]));
      Tensor4 tensor{bound.back()->data(), inputs_[i].dtype(), {}};
      std::copy(inputs_[i].strides().begin(), inputs_[i].strides().end(), tensor.strides);
      return tensor;
    };
    size_t next = 0;
    run.q = bind(next++);
    run.k = bind(next++);
    run.v = bind(next++);
    if (run.has_mask) run.mask = bind(next++);
    if (run.dropout > 0) {
      const Input::Bound state(inputs_[next], args[next]);
      run.seed = static_cast<uint64_t>(state.as<int64_t>()[0]);
      run.first_word = args.numbers[0] + static_cast<uint64_t>(state.as<int64_t>()[1]);
      ++next;
    }
    if (inputs_.size() > next) {
      run.o_saved = bind(next++);
      run.lse_saved = bind(next++);
      run.o_grad = bind(next++);
    }
    execute(run, args.buffers.subspan(next));
  }

 protected:
  virtual void execute(AttentionRun& run, std::span<std::byte* const> outputs) const = 0;

  // Multiply-adds per head of a product with the scores.
  static bool is_small(const AttentionRun& run) {
    return run.batches * run.heads * run.queries * run.keys * (run.width + run.value_width) < kGrain;
  }
  template <typename F>
  static void share(bool small, int64_t tasks, F&& task) {
    if (!small) return base::parallel_tasks(tasks, task);
    for (int64_t i = 0; i < tasks; ++i) task(i);
  }

 private:
  AttentionRun shape_;
  Inputs inputs_;
};

class AttentionForward : public AttentionKernel {
 public:
  using AttentionKernel::AttentionKernel;

 protected:
  void execute(AttentionRun& run, std::span<std::byte* const> outputs) const override {
    run.o = outputs[0];
    run.lse = outputs[1];
    if (run.batches * run.heads * run.queries == 0) return;
    const int64_t tiles = tiles_of(run.queries, kQueries), pairs = run.batches * run.groups;
    if (has_few_queries(run)) {
      share(is_small(run), pairs, [&](int64_t i) { attention_few_queries(run, i / run.groups, i % run.groups); });
      return;
    }
    const int64_t wanted = kTasksPerThread * base::num_threads();
    const int64_t parts = std::clamp<int64_t>(wanted / pairs, 1, std::max<int64_t>(1, tiles / kLeastTiles));
    share(is_small(run), pairs * parts, [&](int64_t i) {
      const int64_t pair = i / parts, part = parts - 1 - i % parts;  // the later queries see more keys: they go first
      attention_forward(run, pair / run.groups, pair % run.groups, tiles * part / parts, tiles * (part + 1) / parts);
    });
  }
};

class AttentionBackward : public AttentionKernel {
 public:
  explicit AttentionBackward(const ir::Call& call)
      : AttentionKernel(call), joined_(std::get<ir::AttentionAttrs>(call.attrs).joined) {}

 protected:
  void execute(AttentionRun& run, std::span<std::byte* const> outputs) const override {
    const int64_t of_queries = run.heads * run.width, of_keys = run.groups * run.width,
                  of_values = run.groups * run.value_width;
    if (joined_) {
      const auto bytes = static_cast<int64_t>(size_of(run.q.dtype));
      run.dq = outputs[0];
      run.dk = run.dq + of_queries * bytes;
      run.dv = run.dk + of_keys * bytes;
      run.query_stride = run.key_stride = run.value_stride = of_queries + of_keys + of_values;
    } else {
      run.dq = outputs[0];
      run.dk = outputs[1];
      run.dv = outputs[2];
      run.query_stride = of_queries;
      run.key_stride = of_keys;
      run.value_stride = of_values;
    }
    if (run.has_mask) run.dmask = outputs[3];
    if (run.has_mask && run.causal) {  // tiles that are hidden altogether are skipped
      const int64_t scores = run.batches * run.heads * run.queries * run.keys;
      if (scores > 0) std::memset(run.dmask, 0, static_cast<size_t>(scores) * size_of(run.mask.dtype));
    }
    const int64_t pairs = run.batches * run.groups, threads = base::num_threads();
    if (pairs == 0) return;
    // A group at a time takes 5 products a tile, in two parts 7; but groups may be too few for the threads.
    const int64_t rounds = tiles_of(pairs, threads);
    if (is_small(run) || rounds * threads * 5 <= pairs * 7) {
      share(is_small(run), pairs, [&](int64_t i) { attention_backward_group(run, i / run.groups, i % run.groups); });
      return;
    }
    const int64_t key_tiles = tiles_of(run.keys, kKeys), query_tiles = tiles_of(run.queries, kQueries);
    base::parallel_tasks(pairs * key_tiles, [&](int64_t i) {
      const int64_t pair = i / key_tiles;
      attention_backward_keys(run, pair / run.groups, pair % run.groups, i % key_tiles);
    });
    base::parallel_tasks(run.batches * run.heads * query_tiles, [&](int64_t i) {
      const int64_t head = i / query_tiles, tile = query_tiles - 1 - i % query_tiles;
      attention_backward_queries(run, head / run.heads, head % run.heads, tile);
    });
  }

 private:
  bool joined_;
};

}  // namespace

std::unique_ptr<CallKernel> compile_attention(const ir::Call& call) { return std::make_unique<AttentionForward>(call); }
std::unique_ptr<CallKernel> compile_attention_backward(const ir::Call& call) {
  return std::make_unique<AttentionBackward>(call);
}

}  // namespace tenon::backends::cpu
