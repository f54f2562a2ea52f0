// What follows a product: bias, residual and rounding, applied to each rectangle of sums by the thread that made it,
// while it is still in its cache. Every addition is the vector instruction that a kernel of its own would use, so that
// the bits are the same.

#include "tenon/backends/cpu/matmul/matmul.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/backends/cpu/tile/tile.h"

namespace tenon::backends::cpu {
namespace {

class ContractEpilogue : public CallKernel {
 public:
  ContractEpilogue(const ir::Call& call, std::unique_ptr<ContractKernel> product)
      : product_(std::move(product)),
        epilogue_(call.epilogue),
        out_(call.outputs[0].dtype),
        columns_(call.outputs[0].shape.back()),
        count_(ir::count(call.outputs[0].shape)),
        add_(tile_function(ir::Op::add, DType::f32)),
        round_(out_ == DType::f32 ? nullptr : tile_cast(DType::f32, out_)),
        store_(tile_store(out_)) {
    if (epilogue_.bias) bias_offset_ = call.inputs[2].map.views()[0].offset;
  }

  void run(const Arguments& args) const override {
    if (count_ == 0) return;
    size_t next = 2;
    const float* bias = epilogue_.bias ? reinterpret_cast<const float*>(args[next++]) + bias_offset_ : nullptr;
    const float* residual = epilogue_.residual ? reinterpret_cast<const float*>(args[next++]) : nullptr;
    std::byte* out = args[next];
    // A result that takes over the memory of what it is added to must not be written before it is read.
    const bool apart = round_ || reinterpret_cast<const std::byte*>(residual) == out;
    const Scratch scratch(apart ? static_cast<size_t>(count_) * sizeof(float) : 64);
    float* sums = apart ? scratch.as<float>() : reinterpret_cast<float*>(out);
    const Finished finished = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
      for (int64_t r = row; r < row + rows; ++r)
        finish(sums, bias, residual, out, r * columns_ + column, column, static_cast<size_t>(columns));
    };
    product_->multiply(args[0], args[1], reinterpret_cast<std::byte*>(sums), &finished);
  }

 private:
  void finish(float* sums, const float* bias, const float* residual, std::byte* out, int64_t at, int64_t column,
              size_t n) const {
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
    const void* from = line;
    round_(line, &from, n);  // in tile form a 16-bit float is a float
    store_(out + at * static_cast<int64_t>(size_of(out_)), 1, line, n);
  }

  std::unique_ptr<ContractKernel> product_;
  ir::Epilogue epilogue_;
  DType out_;
  int64_t columns_, count_, bias_offset_ = 0;
  TileFn add_, round_;
  StoreFn store_;
};

}  // namespace

std::unique_ptr<CallKernel> compile_epilogue(const ir::Call& call, std::unique_ptr<ContractKernel> product) {
  return std::make_unique<ContractEpilogue>(call, std::move(product));
}

}  // namespace tenon::backends::cpu
