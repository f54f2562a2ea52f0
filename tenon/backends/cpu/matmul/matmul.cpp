// contract: batches of products, cut into rectangles that threads share.
//
// The rectangles differ with the number of threads, the bits do not: an element is always summed in the same order.
// Where blocks of the inner dimension are shared out, their sums are added in the order of the blocks.

#include "tenon/backends/cpu/matmul/matmul.h"

#include <algorithm>
#include <string_view>

#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/backends/cpu/matmul/amx.h"
#include "tenon/backends/cpu/matmul/arm.h"
#include "tenon/backends/cpu/matmul/onednn.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/base/divide.h"
#include "tenon/base/environment.h"
#include "tenon/base/error.h"
#include "tenon/base/parallel.h"

namespace tenon::backends::cpu {
namespace {

// Multiply-adds below which a second thread costs more than it saves: 2 to 3 µs of work.
constexpr int64_t kGrain = 130'000;
// Multiply-adds from which on a thread gets one rectangle more: about 25 µs. The more threads, the likelier one of them
// is slow, and the others should find work meanwhile: 16 threads took 243 µs for 512 x 512 x 512 in 16 rectangles and
// 163 in 64, but 2 threads 7.1 ms for 1024 x 1024 x 1024 in 4 rectangles and 8.8 in 8.
constexpr int64_t kLarge = 2 << 20;
constexpr int64_t kMostPerThread = 4;
// A larger rectangle would not stay in the second-level cache from one block of k to the next.
constexpr int64_t kMostRows = 512, kMostColumns = 512;
// Whole tiles of every instruction set.
constexpr int64_t kRowUnit = 24;
#if defined(__aarch64__)
constexpr int64_t kColumnUnit = 24;
#else
constexpr int64_t kColumnUnit = 32;
#endif

using base::ceil_div;

// Where part `part` of `parts` begins: parts of the same size but for one unit.
int64_t begin_of(int64_t part, int64_t parts, int64_t size, int64_t unit) {
  return std::min(size, ceil_div(size, unit) * part / parts * unit);
}

// What threads share: rectangles, so many down and across in every batch.
struct Cut {
  int64_t down, across;
};

// Parts of every batch, about as many as wanted, of which all threads get the same: three batches on two threads took
// as long as four. Others have to gain a twentieth.
int64_t shared_evenly(int64_t wanted, int64_t batches, int64_t work, int64_t threads) {
  int64_t best = wanted;
  const int64_t most = std::min(2 * wanted, std::max<int64_t>(1, work / (batches * kGrain)));
  for (int64_t parts = 1; parts <= most; ++parts) {
    const int64_t rounds = ceil_div(batches * parts, threads), best_rounds = ceil_div(batches * best, threads);
    if (20 * rounds * best < 19 * best_rounds * parts) best = parts;
  }
  return best;
}

// As square as can be: every part of the rows packs the columns again, and every part of the columns reads the rows
// again. Both cost the same: 2.5 % of a product at 256 rows or columns, 5 % at 128.
Cut cut_product(int64_t batches, int64_t m, int64_t n, int64_t k) {
  const Cut least{ceil_div(m, kMostRows), ceil_div(n, kMostColumns)};
  const int64_t threads = base::num_threads(), work = batches * m * n * std::max<int64_t>(k, 1);
  const int64_t busy = std::min(threads, std::max<int64_t>(1, work / kGrain));
  const int64_t most_per_thread = std::min(kMostPerThread, 1 + threads / 2);
  int64_t wanted = ceil_div(busy * std::clamp<int64_t>(work / (busy * kLarge), 1, most_per_thread), batches);
  wanted = batches == 1 ? std::max(wanted, ceil_div(least.down * least.across, busy) * busy)  // the same for all
                        : shared_evenly(wanted, batches, work, busy);
  if (threads == 1 || least.down * least.across >= wanted) return least;
  const int64_t most_down = std::max<int64_t>(1, m / kRowUnit), most_across = std::max<int64_t>(1, n / kColumnUnit);
  Cut best{0, 0};
  for (int64_t across = least.across; across <= std::min(wanted, most_across); ++across) {
    const int64_t down = wanted / across;
    const bool fits = down * across == wanted && down >= least.down && down <= most_down;
    if (fits && (best.down == 0 || down * n + across * m < best.down * n + best.across * m)) best = {down, across};
  }
  if (best.down > 0) return best;
  if (least.down * least.across >= busy) return least;
  const int64_t down = std::clamp(wanted, least.down, most_down);
  return {down, std::clamp(ceil_div(wanted, down), least.across, most_across)};
}

class Contract : public ContractKernel {
 public:
  Contract(const ir::Call& call, bool may_use_matrices) : a_(call.inputs[0]), b_(call.inputs[1]) {
    const size_t rank = a_.shape().size();
    shape_.m = a_.shape()[rank - 2];
    shape_.k = a_.shape()[rank - 1];
    shape_.n = b_.shape()[rank - 1];
    shape_.a_row = a_.strides()[rank - 2];
    shape_.a_column = a_.strides()[rank - 1];
    shape_.b_row = b_.strides()[rank - 2];
    shape_.b_column = b_.strides()[rank - 1];
    shape_.in = a_.dtype();
    shape_.out = call.outputs[0].dtype;
    for (size_t i = 0; i + 2 < rank; ++i) {
      if (a_.shape()[i] == 1) continue;
      batch_.push_back({a_.shape()[i], a_.strides()[i], b_.strides()[i]});
      batches_ *= a_.shape()[i];
    }
    join_batches_with_rows();
    shape_.c_row = shape_.n;
    if (shape_.m == 1) shape_.a_row = shape_.k;  // strides of a single row or column say nothing: take the easy ones
    if (shape_.n == 1) swap_sides();
    if (is_float(shape_.out))
      multiply_ = is_wide(shape_.in) || is_wide(shape_.out) ? multiply_f64 : multiply_f32;
    else
      multiply_ = multiply_integers;
    is_small_ = batches_ == 1 && shape_.m <= kMostRows && shape_.n <= kMostColumns &&
                shape_.m * shape_.n * shape_.k < 2 * kGrain;
    constexpr int64_t kLeastRows = 8, kLeastWork = 1 << 12;
    const bool is_bf16 = shape_.in == DType::bf16 && (shape_.out == DType::f32 || shape_.out == DType::bf16);
    const bool is_worth_it = shape_.m >= kLeastRows && shape_.m * shape_.n * shape_.k >= kLeastWork;
    if (may_use_matrices && is_bf16 && is_worth_it && has_bf16_products()) multiply_ = multiply_bf16;
  }

  void multiply(const std::byte* a_data, const std::byte* b_data, std::byte* c, std::byte*,
                const Finished* finished) const override {
    if (batches_ * shape_.m * shape_.n == 0) return;
    const Input::Bound a(a_, a_data), b(b_, b_data);
    Product whole = shape_;
    whole.a = swapped_ ? b.data() : a.data();
    whole.b = swapped_ ? a.data() : b.data();
    whole.c = c;
    if (is_small_) {
      multiply_(whole);
      if (finished) (*finished)(0, swapped_ ? whole.n : whole.m, 0, swapped_ ? whole.m : whole.n);
      return;
    }
    if (shares_depth(whole)) {
      multiply_parts(whole);
      if (finished) (*finished)(0, swapped_ ? whole.n : whole.m, 0, swapped_ ? whole.m : whole.n);
      return;
    }
    const Cut cut = cut_product(batches_, whole.m, whole.n, whole.k);
    const auto multiply_one = [&](int64_t i) {
      const int64_t batch = i / (cut.down * cut.across), y = i / cut.across % cut.down, x = i % cut.across;
      const int64_t row = begin_of(y, cut.down, whole.m, kRowUnit);
      const int64_t column = begin_of(x, cut.across, whole.n, kColumnUnit);
      Product part = rectangle(whole, batch, row, column);
      part.m = begin_of(y + 1, cut.down, whole.m, kRowUnit) - row;
      part.n = begin_of(x + 1, cut.across, whole.n, kColumnUnit) - column;
      multiply_(part);
      if (!finished) return;
      if (swapped_)
        (*finished)(batch * whole.n + column, part.n, row, part.m);
      else
        (*finished)(batch * whole.m + row, part.m, column, part.n);
    };
    const int64_t rectangles = batches_ * cut.down * cut.across;
    const int64_t grain = kGrain * cut.down * cut.across / std::max<int64_t>(1, whole.m * whole.n * whole.k);
    if (grain <= 1) return base::parallel_tasks(rectangles, multiply_one);
    base::parallel_for(rectangles, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) multiply_one(i);
    });
  }

 private:
  struct BatchAxis {
    int64_t size, a, b;
  };

  static bool is_wide(DType dtype) { return dtype == DType::f64 || !is_float(dtype); }

  // One right operand for a whole batch axis, and rows that go on evenly: a single tall product.
  void join_batches_with_rows() {
    while (!batch_.empty() && batch_.back().b == 0 && (shape_.m == 1 || batch_.back().a == shape_.m * shape_.a_row)) {
      if (shape_.m == 1) shape_.a_row = batch_.back().a;
      shape_.m *= batch_.back().size;
      batches_ /= std::max<int64_t>(1, batch_.back().size);
      batch_.pop_back();
    }
  }

  // A column of results is a row of the transposed product, and rows have a kernel of their own.
  void swap_sides() {
    swapped_ = true;
    std::swap(shape_.m, shape_.n);
    const int64_t a_row = shape_.a_row, a_column = shape_.a_column;
    shape_.a_row = shape_.k;
    shape_.a_column = shape_.b_row;
    shape_.b_row = a_column;
    shape_.b_column = a_row;
    shape_.c_row = shape_.n;
  }

  // A few rows are as quick as memory is, and that is quickest where each thread reads whole rows of the right operand:
  // threads share blocks of k instead of columns.
  bool shares_depth(const Product& whole) const {
    constexpr int64_t kFewRows = 3;
    return batches_ == 1 && whole.m <= kFewRows && whole.b_column == 1 && whole.in == whole.out &&
           (whole.out == DType::f32 || whole.out == DType::f64) && base::num_threads() > 1 &&
           whole.n * whole.k >= 2 * kGrain && whole.k > depth_of_products(whole.k);
  }

  // Blocks of k by strips of columns, then their sums in the order of the blocks: the bits are those of one block after
  // the other.
  void multiply_parts(const Product& whole) const {
    constexpr int64_t kNarrowest = 128;
    const auto bytes = static_cast<int64_t>(size_of(whole.out));
    const int64_t depth = depth_of_products(whole.k), blocks = ceil_div(whole.k, depth), threads = base::num_threads();
    int64_t strips = 1;  // so that the threads have the least to do one after the other
    for (int64_t more = 2; whole.n / more >= kNarrowest; ++more) {
      if (ceil_div(blocks * more, threads) * strips < ceil_div(blocks * strips, threads) * more) strips = more;
    }
    const int64_t size = whole.m * whole.n;
    const Scratch partial(static_cast<size_t>((blocks - 1) * size * bytes));
    base::parallel_tasks(blocks * strips, [&](int64_t i) {
      const int64_t block = i / strips, column = begin_of(i % strips, strips, whole.n, kColumnUnit);
      Product part = whole;
      part.n = begin_of(i % strips + 1, strips, whole.n, kColumnUnit) - column;
      part.k = std::min(depth, whole.k - block * depth);
      part.a += block * depth * whole.a_column * bytes;
      part.b += (block * depth * whole.b_row + column) * bytes;
      part.c = (block == 0 ? whole.c : partial.data() + (block - 1) * size * bytes) + column * bytes;
      multiply_(part);
    });
    const auto add = [&]<typename T>() {
      T* to = reinterpret_cast<T*>(whole.c);
      const T* from = partial.as<T>();
      for (int64_t block = 1; block < blocks; ++block, from += size) {
        for (int64_t i = 0; i < size; ++i) to[i] += from[i];
      }
    };
    if (whole.out == DType::f64) return add.template operator()<double>();
    add.template operator()<float>();
  }

  // The product whose result begins at this row and column of `whole`; its sizes are the caller's to set.
  Product rectangle(const Product& whole, int64_t batch, int64_t row, int64_t column) const {
    const auto in_bytes = static_cast<int64_t>(size_of(whole.in)), out_bytes = static_cast<int64_t>(size_of(whole.out));
    int64_t a_at = row * whole.a_row, b_at = column * whole.b_column;
    int64_t rest = batch;
    for (size_t i = batch_.size(); i-- > 0;) {
      const int64_t index = rest % batch_[i].size;
      rest /= batch_[i].size;
      a_at += index * (swapped_ ? batch_[i].b : batch_[i].a);
      b_at += index * (swapped_ ? batch_[i].a : batch_[i].b);
    }
    Product part = whole;
    part.a += a_at * in_bytes;
    part.b += b_at * in_bytes;
    part.c += ((batch * whole.m + row) * whole.c_row + column) * out_bytes;
    return part;
  }

  Input a_, b_;
  Product shape_;  // of one batch, without addresses
  base::SmallVector<BatchAxis, 3> batch_;
  int64_t batches_ = 1;
  bool swapped_ = false;
  bool is_small_ = false;  // one rectangle with any number of threads; finding that out took a tenth of a small product
  void (*multiply_)(const Product&);
};

MatmulEngine read_engine() {
  const std::string name = base::env::value(base::env::kMatmul).value_or("");
  if (name.empty()) return MatmulEngine::automatic;
  if (name == "own") return MatmulEngine::own;
  if (name == "onednn") return MatmulEngine::onednn;
  if (name == "amx") return MatmulEngine::amx;
  base::fail("contract", "TENON_MATMUL is '{}'; it can be own, onednn or amx", name);
}

std::unique_ptr<ContractKernel> compile_product(const ir::Call& call, MatmulEngine engine) {
  if (engine == MatmulEngine::automatic || engine == MatmulEngine::amx) {
    if (auto kernel = compile_contract_amx(call)) return kernel;
  }
  if (engine == MatmulEngine::automatic || engine == MatmulEngine::onednn) {
    if (auto kernel = compile_contract_onednn(call, engine == MatmulEngine::onednn)) return kernel;
  }
  return std::make_unique<Contract>(call, engine == MatmulEngine::automatic);
}

}  // namespace

std::unique_ptr<CallKernel> compile_contract_with(const ir::Call& call, MatmulEngine engine) {
  const DType sums = std::get<ir::ContractAttrs>(call.attrs).result;
  if (call.epilogue == ir::Epilogue() && call.outputs[0].dtype == sums) return compile_product(call, engine);
  ir::Call product = call;
  product.inputs.resize(2);
  product.outputs[0].dtype = sums;
  product.epilogue = {};
  return compile_epilogue(call, compile_product(product, engine));
}

MatmulEngine chosen_engine() {
  static const MatmulEngine engine = read_engine();
  return engine;
}

std::unique_ptr<CallKernel> compile_contract(const ir::Call& call) {
  return compile_contract_with(call, chosen_engine());
}

}  // namespace tenon::backends::cpu
