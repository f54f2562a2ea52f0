// Pooling as a loop over windows, and over the elements of each.

#include <limits>

#include "tenon/backends/reference/ops.h"

namespace tenon::backends::reference {
namespace {

// f(window, place, element): for every element that lies inside of the image, which window of all it belongs to, which
// element of that it is, and which of all images'.
template <typename F>
void for_each_element(const ir::PoolAttrs& attrs, const Dims& shape, F&& f) {
  constexpr ir::ConvAxis kNoAxis{.image = 1, .kernel = 1, .out = 1};
  const ir::ConvAxis rows = attrs.axes.size() == 2 ? attrs.axes[0] : kNoAxis, columns = attrs.axes.back();
  const int64_t channels = attrs.channels_last ? shape.back() : shape[1];
  const auto at = [&](int64_t plane, int64_t place, int64_t places) {
    return static_cast<size_t>(attrs.channels_last ? (plane / channels * places + place) * channels + plane % channels
                                                   : plane * places + place);
  };
  for (int64_t window = 0; window < shape[0] * channels * rows.out * columns.out; ++window) {
    const int64_t column = window % columns.out, row = window / columns.out % rows.out;
    const int64_t plane = window / columns.out / rows.out;
    for (int64_t place = 0; place < rows.kernel * columns.kernel; ++place) {
      const int64_t y = row * rows.stride + place / columns.kernel * rows.dilation - rows.padding;
      const int64_t x = column * columns.stride + place % columns.kernel * columns.dilation - columns.padding;
      if (y < 0 || y >= rows.image || x < 0 || x >= columns.image) continue;
      f(at(plane, row * columns.out + column, rows.out * columns.out), place,
        at(plane, y * columns.image + x, rows.image * columns.image));
    }
  }
}

}  // namespace

void run_max_pool(const ir::Call& call, const Array& in, Array& value, Array& place) {
  std::vector<bool> is_begun(value.real.size(), false);
  for (double& one : value.real) one = -std::numeric_limits<double>::infinity();
  const auto& attrs = std::get<ir::PoolAttrs>(call.attrs);
  for_each_element(attrs, in.type.shape, [&](size_t window, int64_t at, size_t element) {
    const double x = in.real[element];
    if (is_begun[window] && !(x > value.real[window]) && x == x) return;
    is_begun[window] = true;
    value.real[window] = x;
    place.whole[window] = at;
  });
}

void run_max_pool_backward(const ir::Call& call, const Array& in, const Array& place, Array& out) {
  const auto& attrs = std::get<ir::PoolAttrs>(call.attrs);
  for_each_element(attrs, in.type.shape, [&](size_t window, int64_t at, size_t element) {
    if (place.whole[window] == at) out.real[element] += in.real[window];
  });
}

}  // namespace tenon::backends::reference
