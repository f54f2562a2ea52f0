// gather: rows of the source, picked by indices.

#include <cstring>

#include "tenon/backends/cpu/calls/indices.h"
#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/base/parallel.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kGrainBytes = 64 << 10;

class Gather : public CallKernel {
 public:
  explicit Gather(const ir::Call& call)
      : axis_(std::get<ir::AxisAttrs>(call.attrs).axis),
        source_(call.inputs[0]),
        indices_(call, axis_),
        lines_(source_.shape(), axis_),
        picks_(indices_.count()),
        bytes_(static_cast<int64_t>(size_of(source_.dtype()))),
        axis_stride_(source_.strides()[static_cast<size_t>(axis_)]) {
    const auto axis = static_cast<size_t>(axis_);
    const Dims &shape = source_.shape(), &strides = source_.strides();
    outer_shape_ = Dims(shape.begin(), shape.begin() + axis);
    outer_strides_ = Dims(strides.begin(), strides.begin() + axis);
    const Dims inner_shape(shape.begin() + axis + 1, shape.end());
    const Dims inner_strides(strides.begin() + axis + 1, strides.end());
    const ir::View inner{inner_shape, inner_strides, 0, {}, {}};
    inner_contiguous_ = inner.is_contiguous();
    row_ = StridedCopy(inner_shape, inner_strides, ir::row_major_strides(inner_shape), static_cast<size_t>(bytes_));
  }

  void run(const Arguments& args) const override {
    const Indices::Checked index(indices_, args[1]);
    const int64_t rows = lines_.outer * picks_;
    if (rows == 0 || lines_.inner == 0) return;
    const Input::Bound source(source_, args[0]);
    const int64_t row_bytes = lines_.inner * bytes_;
    base::parallel_for(rows, std::max<int64_t>(1, kGrainBytes / row_bytes), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end;) {
        const int64_t o = row / picks_, stop = std::min(end, (o + 1) * picks_);
        const std::byte* from = source.data() + outer_offset(o) * bytes_;
        copy_rows(from, index, row - o * picks_, stop - o * picks_, args[2] + row * row_bytes);
        row = stop;
      }
    });
  }

 private:
  int64_t outer_offset(int64_t flat) const {
    int64_t offset = 0;
    for (size_t i = outer_shape_.size(); i-- > 0;) {
      offset += flat % outer_shape_[i] * outer_strides_[i];
      flat /= outer_shape_[i];
    }
    return offset;
  }

  void copy_rows(const std::byte* from, const Indices::Checked& index, int64_t begin, int64_t end,
                 std::byte* to) const {
    if (lines_.inner == 1) {
      switch (bytes_) {
        case 8: return copy_singles<uint64_t>(from, index, begin, end, to);
        case 4: return copy_singles<uint32_t>(from, index, begin, end, to);
        case 2: return copy_singles<uint16_t>(from, index, begin, end, to);
        default: return copy_singles<uint8_t>(from, index, begin, end, to);
      }
    }
    const int64_t row_bytes = lines_.inner * bytes_;
    for (int64_t p = begin; p < end; ++p, to += row_bytes) {
      const std::byte* row = from + index[p] * axis_stride_ * bytes_;
      if (inner_contiguous_)
        std::memcpy(to, row, static_cast<size_t>(row_bytes));
      else
        row_.run_here(row, to);
    }
  }

  template <typename T>
  void copy_singles(const std::byte* from, const Indices::Checked& index, int64_t begin, int64_t end,
                    std::byte* to) const {
    const T* source = reinterpret_cast<const T*>(from);
    T* target = reinterpret_cast<T*>(to);
    for (int64_t p = begin; p < end; ++p) target[p - begin] = source[index[p] * axis_stride_];
  }

  int64_t axis_;
  Input source_;
  Indices indices_;
  Lines lines_;
  int64_t picks_, bytes_, axis_stride_;
  Dims outer_shape_, outer_strides_;
  bool inner_contiguous_;
  StridedCopy row_;
};

}  // namespace

std::unique_ptr<CallKernel> compile_gather(const ir::Call& call) { return std::make_unique<Gather>(call); }

}  // namespace tenon::backends::cpu
