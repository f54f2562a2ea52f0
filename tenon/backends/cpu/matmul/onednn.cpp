// contract through oneDNN: f32 and bf16, where its generated code beats ours.

#include "tenon/backends/cpu/matmul/onednn.h"

#ifdef TENON_WITH_ONEDNN

#include <algorithm>
#include <array>

#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/backends/cpu/onednn.h"
#include "tenon/base/divide.h"
#include "tenon/base/error.h"
#include "tenon/base/parallel.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

// Multiply-adds of one product from which a primitive's fixed cost (about 3 µs) no longer shows.
constexpr int64_t kWorthwhile = 1 << 22;
// A slice keeps at least this many multiply-adds; a product is cut until there is work for many threads.
constexpr int64_t kSliceWork = 2 << 20;
constexpr int64_t kEnoughSlices = 16;

using base::ceil_div;

memory::data_type onednn_type(DType dtype) {
  return dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

bool has_fast_bf16() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
}

bool can_take(const ir::Call& call) {
  const DType in = call.inputs[0].dtype, out = call.outputs[0].dtype;
  return (in == DType::f32 && out == DType::f32) || (in == DType::bf16 && (out == DType::f32 || out == DType::bf16));
}

// In f32 oneDNN was 1.0 to 1.26 times as fast as the own kernel on 2 threads, and 0.6 to 0.88 times on 16
// (docs/performance.md). Choosing by the number of threads would make bits depend on it, so the own kernel takes all;
// what is left are bf16 products on machines without matrix units.
bool is_faster(const ir::Call& call, int64_t work) {
  return kOneDnnGeneratesCode && work >= kWorthwhile && call.inputs[0].dtype == DType::bf16 && has_fast_bf16();
}

// The last two axes run evenly in rows or in columns; anything else is packed.
Input::Wanted wanted(const ir::Operand& operand) {
  if (!operand.map.is_strided()) return Input::Wanted::contiguous;
  const ir::View& view = operand.map.views()[0];
  const size_t rank = view.shape.size();
  const int64_t rows = view.shape[rank - 2], columns = view.shape[rank - 1];
  const int64_t row = view.strides[rank - 2], column = view.strides[rank - 1];
  const bool by_rows = column == 1 && row >= columns, by_columns = row == 1 && column >= rows;
  return by_rows || by_columns ? Input::Wanted::strided : Input::Wanted::contiguous;
}

class ContractOneDnn : public ContractKernel {
 public:
  std::string_view library() const override { return "oneDNN"; }

  explicit ContractOneDnn(const ir::Call& call)
      : a_(call.inputs[0], wanted(call.inputs[0])),
        b_(call.inputs[1], wanted(call.inputs[1])),
        out_(call.outputs[0].dtype) {
    const size_t rank = a_.shape().size();
    m_ = a_.shape()[rank - 2];
    k_ = a_.shape()[rank - 1];
    n_ = b_.shape()[rank - 1];
    for (size_t i = 0; i + 2 < rank; ++i) batches_ *= a_.shape()[i];
    rows_ = m_;
    columns_ = n_;
    while (ceil_div(m_, rows_) * ceil_div(n_, columns_) * batches_ < kEnoughSlices &&
           rows_ * columns_ * k_ >= 2 * kSliceWork) {
      int64_t& larger = rows_ >= columns_ ? rows_ : columns_;
      larger = ceil_div(ceil_div(larger, 2), 16) * 16;
      if (rows_ <= 16 && columns_ <= 16) break;
    }
    const OneDnnThread one;
    for (const bool last_row : {false, true}) {
      for (const bool last_column : {false, true}) slices_[index(last_row, last_column)] = make(last_row, last_column);
    }
  }

  void multiply(const std::byte* a_data, const std::byte* b_data, std::byte* c, std::byte*,
                const Finished* finished) const override {
    const Input::Bound a(a_, a_data), b(b_, b_data);
    const int64_t down = ceil_div(m_, rows_), across = ceil_div(n_, columns_);
    const size_t rank = a_.shape().size();
    const auto in_bytes = static_cast<int64_t>(size_of(a_.dtype())), out_bytes = static_cast<int64_t>(size_of(out_));
    base::parallel_tasks(batches_ * down * across, [&](int64_t i) {
      const int64_t batch = i / (down * across), row = i / across % down, column = i % across;
      const int64_t a_at = batch_offset(a_, batch) + row * rows_ * a_.strides()[rank - 2];
      const int64_t b_at = batch_offset(b_, batch) + column * columns_ * b_.strides()[rank - 1];
      const int64_t c_at = (batch * m_ + row * rows_) * n_ + column * columns_;
      execute(slices_[index(row == down - 1, column == across - 1)], a.data() + a_at * in_bytes,
              b.data() + b_at * in_bytes, c + c_at * out_bytes);
      if (!finished) return;
      const int64_t rows = std::min(rows_, m_ - row * rows_), columns = std::min(columns_, n_ - column * columns_);
      (*finished)(batch * m_ + row * rows_, rows, column * columns_, columns);
    });
  }

 private:
  struct Slice {
    memory::desc a, b, c, scratch;
    dnnl::matmul primitive;
  };

  static size_t index(bool last_row, bool last_column) { return (last_row ? 2 : 0) + (last_column ? 1 : 0); }

  Slice make(bool last_row, bool last_column) const {
    const int64_t m = last_row ? m_ - (ceil_div(m_, rows_) - 1) * rows_ : rows_;
    const int64_t n = last_column ? n_ - (ceil_div(n_, columns_) - 1) * columns_ : columns_;
    const size_t rank = a_.shape().size();
    const auto matrix = [&](const Input& input, int64_t rows, int64_t columns) {
      return memory::desc({rows, columns}, onednn_type(input.dtype()),
                          memory::dims{input.strides()[rank - 2], input.strides()[rank - 1]});
    };
    Slice slice;
    slice.a = matrix(a_, m, k_);
    slice.b = matrix(b_, k_, n);
    slice.c = memory::desc({m, n}, onednn_type(out_), memory::dims{n_, 1});
    const dnnl::matmul::primitive_desc description({slice.a, slice.b, slice.c}, onednn_attributes(), onednn_engine());
    slice.scratch = description.scratchpad_desc();
    slice.primitive = dnnl::matmul(description);
    return slice;
  }

  static int64_t batch_offset(const Input& input, int64_t batch) {
    int64_t offset = 0;
    for (size_t i = input.shape().size() - 2; i-- > 0;) {
      offset += batch % input.shape()[i] * input.strides()[i];
      batch /= input.shape()[i];
    }
    return offset;
  }

  static void execute(const Slice& slice, const std::byte* a, const std::byte* b, std::byte* c) {
    const OneDnnThread one;
    const Scratch scratch(slice.scratch.get_size());
    slice.primitive.execute(onednn_stream(), {{DNNL_ARG_SRC, onednn_memory(slice.a, a)},
                                              {DNNL_ARG_WEIGHTS, onednn_memory(slice.b, b)},
                                              {DNNL_ARG_DST, onednn_memory(slice.c, c)},
                                              {DNNL_ARG_SCRATCHPAD, onednn_memory(slice.scratch, scratch.data())}});
    onednn_stream().wait();
  }

  Input a_, b_;
  DType out_;
  int64_t m_, n_, k_, batches_ = 1;
  int64_t rows_, columns_;  // of a slice
  std::array<Slice, 4> slices_;
};

}  // namespace

bool has_onednn() { return true; }

std::unique_ptr<ContractKernel> compile_contract_onednn(const ir::Call& call, bool forced) {
  const Dims& a = call.inputs[0].map.shape();
  const int64_t columns = call.inputs[1].map.shape().back();
  const int64_t work = a[a.size() - 2] * a[a.size() - 1] * columns;
  if (work == 0 || ir::count(a) == 0 || !can_take(call)) return nullptr;
  if (!forced && !is_faster(call, work)) return nullptr;
  try {
    return std::make_unique<ContractOneDnn>(call);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return nullptr;  // bf16 on a machine that lacks the instructions
    base::fail(ir::name(call.op), "oneDNN: {}", error.message);
  }
}

}  // namespace tenon::backends::cpu

#else

namespace tenon::backends::cpu {

bool has_onednn() { return false; }
std::unique_ptr<ContractKernel> compile_contract_onednn(const ir::Call&, bool) { return nullptr; }

}  // namespace tenon::backends::cpu

#endif
