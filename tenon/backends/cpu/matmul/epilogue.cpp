// What follows a product: bias, residual, activation and rounding, applied to each rectangle of sums by the thread that
// made it, while it is still in its cache. Every addition is the vector instruction that a kernel of its own would use,
// so that the bits are the same.

#include <algorithm>
#include <functional>
#include <optional>

#include "tenon/backends/cpu/matmul/matmul.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/backends/cpu/tile/tile.h"

namespace tenon::backends::cpu {
namespace {

using Activation = ir::Epilogue::Activation;
constexpr size_t kBlock = 256;           // elements that an activation is computed of at a time
constexpr float kScale = 0.7978845608f;  // sqrt(2 / pi)

class ContractEpilogue : public CallKernel {
 public:
  ContractEpilogue(const ir::Call& call, std::unique_ptr<ContractKernel> product)
      : product_(std::move(product)),
        epilogue_(call.epilogue),
        results_(call.outputs.size()),
        out_(call.outputs[0].dtype),
        columns_(call.outputs[0].shape.back()),
        count_(ir::count(call.outputs[0].shape)),
        add_(tile_function(ir::Op::add, DType::f32)),
        tanh_(tile_function(ir::Op::tanh, DType::f32)),
        round_(out_ == DType::f32 ? nullptr : tile_cast(DType::f32, out_)),
        store_(tile_store(out_)) {
    if (!epilogue_.bias) return;
    bias_offset_ = call.inputs[2].map.views()[0].offset;
    bias_ = call.inputs[2].dtype;
  }

  std::string_view library() const override { return product_->library(); }

  // Sums that are rounded lie in the plan's arena: for the logits of a language model that is where gradients will lie.
  size_t scratch_bytes() const override { return bytes_of_sums() + product_->scratch_bytes(); }

  void run(const Arguments& args) const override {
    if (count_ == 0) return;
    size_t next = 2;
    std::optional<Scratch> widened, set_apart;  // taking and giving back memory is a tenth of a small product
    const float* bias = epilogue_.bias ? bias_in_f32(args[next++], widened) : nullptr;
    const float* residual = epilogue_.residual ? reinterpret_cast<const float*>(args[next++]) : nullptr;
    const std::byte* slope_at = epilogue_.activation == Activation::gelu_slope ? args[next++] : nullptr;
    std::byte* out = args[next];
    std::byte* before = results_ == 2 ? args[next + 1] : nullptr;
    // A result that takes over the memory of what it is added to must not be written before it is read.
    const bool apart = !round_ && reinterpret_cast<const std::byte*>(residual) == out;
    if (apart) set_apart.emplace(static_cast<size_t>(count_) * sizeof(float));
    std::byte* planned = scratch_bytes() > 0 ? args[next + results_] : nullptr;
    std::byte* of_product = product_->scratch_bytes() > 0 ? planned + bytes_of_sums() : nullptr;
    float* sums = reinterpret_cast<float*>(round_ ? planned : apart ? set_apart->data() : out);
    const auto finish_rectangle = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
      if (bias && !residual && !round_) {
        return add_row(bias + column, sums + row * columns_ + column, columns_, rows, columns,
                       epilogue_.activation == Activation::relu);
      }
      for (int64_t r = row; r < row + rows; ++r)
        finish(sums, bias, residual, {slope_at, before, out}, r * columns_ + column, column,
               static_cast<size_t>(columns));
    };
    const Finished finished = std::ref(finish_rectangle);  // a copy of it would be allocated
    product_->multiply(args[0], args[1], reinterpret_cast<std::byte*>(sums), of_product, &finished);
  }

 private:
  // In whole lines of the cache, so that what the product asks for begins with one.
  size_t bytes_of_sums() const { return round_ ? (static_cast<size_t>(count_) * sizeof(float) + 63) / 64 * 64 : 0; }

  struct Places {
    const std::byte* slope_at;  // of an activation that multiplies the sums
    std::byte *before, *out;    // what an activation is taken of, and the result
  };

  void finish(float* sums, const float* bias, const float* residual, const Places& to, int64_t at, int64_t column,
              size_t n) const {
    std::byte* out = to.out;
    float* line = sums + at;
    if (bias) {
      const void* operands[] = {line, bias + column};
      add_(line, operands, n);
    }
    if (residual) {
      const void* operands[] = {line, residual + at};
      add_(round_ ? line : reinterpret_cast<float*>(out) + at, operands, n);
    }
    if (!round_) return;
    const int64_t bytes = at * static_cast<int64_t>(size_of(out_));
    if (to.slope_at) multiply_by_slope(line, to.slope_at + bytes, n);
    if (epilogue_.activation == Activation::gelu) {
      if (to.before) {
        float rounded[kBlock];
        for (size_t i = 0; i < n; i += kBlock) {
          const size_t m = std::min(kBlock, n - i);
          std::copy_n(line + i, m, rounded);
          write(rounded, to.before + bytes + static_cast<int64_t>(i * size_of(out_)), m);
        }
      }
      activate(line, n);
    }
    write(line, out + bytes, n);
  }

  // In tile form a 16-bit float is a float.
  void write(float* line, std::byte* to, size_t n) const {
    const void* from = line;
    round_(line, &from, n);
    store_(to, 1, line, n);
  }

  // tanh(sqrt(2 / pi) (x + 0.044715 x^3))
  void bend(const float* x, float* t, size_t n) const {
    for (size_t i = 0; i < n; ++i) t[i] = x[i] * (kScale + kScale * 0.044715f * x[i] * x[i]);
    const void* from = t;
    tanh_(t, &from, n);
  }
  void activate(float* line, size_t n) const {
    float t[kBlock];
    for (size_t begin = 0; begin < n; begin += kBlock) {
      const size_t m = std::min(kBlock, n - begin);
      float* x = line + begin;
      bend(x, t, m);
      for (size_t i = 0; i < m; ++i) x[i] = 0.5f * x[i] * (1 + t[i]);
    }
  }
  void multiply_by_slope(float* line, const std::byte* at, size_t n) const {
    float t[kBlock], x[kBlock];
    for (size_t begin = 0; begin < n; begin += kBlock) {
      const size_t m = std::min(kBlock, n - begin);
      tile_load(out_)(x, at + begin * size_of(out_), 1, m);
      bend(x, t, m);
      for (size_t i = 0; i < m; ++i) {
        const float inner = kScale * (1 + 3 * 0.044715f * x[i] * x[i]);
        line[begin + i] *= 0.5f * (1 + t[i]) + 0.5f * x[i] * (1 - t[i] * t[i]) * inner;
      }
    }
  }

  const float* bias_in_f32(const std::byte* given, std::optional<Scratch>& widened) const {
    const std::byte* from = given + bias_offset_ * static_cast<int64_t>(size_of(bias_));
    if (bias_ == DType::f32) return reinterpret_cast<const float*>(from);
    widened.emplace(static_cast<size_t>(columns_) * sizeof(float));
    tile_load(bias_)(widened->data(), from, 1, static_cast<size_t>(columns_));
    return widened->as<float>();
  }

  std::unique_ptr<ContractKernel> product_;
  ir::Epilogue epilogue_;
  size_t results_;
  DType out_, bias_ = DType::f32;
  int64_t columns_, count_, bias_offset_ = 0;
  TileFn add_, tanh_, round_;
  StoreFn store_;
};

}  // namespace

std::unique_ptr<CallKernel> compile_epilogue(const ir::Call& call, std::unique_ptr<ContractKernel> product) {
  return std::make_unique<ContractEpilogue>(call, std::move(product));
}

}  // namespace tenon::backends::cpu
