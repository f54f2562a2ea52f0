#include "tenon/nn/image_layers.h"

#include <utility>

#include "tenon/base/error.h"

namespace tenon::nn {

Pad::Pad(int64_t dims, Dims sizes, std::string mode, double value)
    : dims_(dims), sizes_(std::move(sizes)), mode_(std::move(mode)), value_(value) {
  const auto wanted = static_cast<size_t>(2 * dims);
  if (sizes_.size() == 1) sizes_ = Dims(wanted, sizes_[0]);
  if (sizes_.size() != wanted)
    base::fail("pad", "takes one number or {}, before and after each dim, got {}", wanted, ir::to_string(sizes_));
}

Tensor Pad::forward(const Tensor& x) const {
  if (x.dim() <= dims_)
    base::fail("pad", "takes {} dims after the channels, got {}", dims_, ir::to_string(x.shape()));
  return pad(x, sizes_, mode_, value_);
}

Tensor PixelShuffle::forward(const Tensor& x) const { return pixel_shuffle(x, factor_); }
Tensor PixelUnshuffle::forward(const Tensor& x) const { return pixel_unshuffle(x, factor_); }
Tensor ChannelShuffle::forward(const Tensor& x) const { return channel_shuffle(x, groups_); }

Unfold::Unfold(Dims kernel_size, WindowOptions options)
    : kernel_size_(std::move(kernel_size)), options_(std::move(options)) {}
Tensor Unfold::forward(const Tensor& x) const { return unfold(x, kernel_size_, options_); }

Fold::Fold(Dims output_size, Dims kernel_size, WindowOptions options)
    : output_size_(std::move(output_size)), kernel_size_(std::move(kernel_size)), options_(std::move(options)) {}
Tensor Fold::forward(const Tensor& x) const { return fold(x, output_size_, kernel_size_, options_); }

}  // namespace tenon::nn
