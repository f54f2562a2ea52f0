// The three sides of a convolution as one loop over all products: which tensor is the result is all that differs.

#include "tenon/backends/reference/ops.h"

namespace tenon::backends::reference {
namespace {

// Every place of a grid of these sizes, in row-major order.
template <typename F>
void for_each_place(const Dims& sizes, F&& f) {
  Dims place(sizes.size(), 0);
  for (int64_t left = ir::count(sizes); left > 0; --left) {
    f(place);
    for (size_t axis = sizes.size(); axis-- > 0;) {
      if (++place[axis] < sizes[axis]) break;
      place[axis] = 0;
    }
  }
}

int64_t flat(const Dims& place, const Dims& sizes) {
  int64_t index = 0;
  for (size_t i = 0; i < sizes.size(); ++i) index = index * sizes[i] + place[i];
  return index;
}

}  // namespace

void run_convolution(const ir::Call& call, const Arrays& in, Array& result) {
  const auto& attrs = std::get<ir::ConvAttrs>(call.attrs);
  const bool makes_x = call.op == ir::Op::conv_transpose, makes_w = call.op == ir::Op::conv_weight;
  const bool is_last = attrs.channels_last;
  const auto shape_of = [&](const Array& array) {
    return is_last ? ir::channels_to_second(array.type.shape) : array.type.shape;
  };
  const Dims xs = shape_of(makes_x ? result : in[0]), ws = shape_of(makes_w ? result : in[1]);
  const int64_t images = xs[0], channels = ws[1], outer = ws[0], inner = xs[1];
  Dims image, kernel, out;
  for (const ir::ConvAxis& axis : attrs.axes) {
    image.push_back(axis.image);
    kernel.push_back(axis.kernel);
    out.push_back(axis.out);
  }
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t o = 0; o < outer; ++o) {
      const int64_t group = o / (outer / attrs.groups);
      for (int64_t c = 0; c < channels; ++c) {
        for_each_place(out, [&](const Dims& j) {
          for_each_place(kernel, [&](const Dims& k) {
            Dims place(image.size(), 0);
            for (size_t i = 0; i < place.size(); ++i) {
              const ir::ConvAxis& axis = attrs.axes[i];
              place[i] = j[i] * axis.stride + k[i] * axis.dilation - axis.padding;
              if (place[i] < 0 || place[i] >= axis.image) return;
            }
            const auto at = [&](int64_t first, int64_t second, int64_t seconds, const Dims& inside, const Dims& sizes) {
              const int64_t all = ir::count(sizes), spot = flat(inside, sizes);
              return static_cast<size_t>(is_last ? (first * all + spot) * seconds + second
                                                 : (first * seconds + second) * all + spot);
            };
            const size_t x = at(n, group * channels + c, inner, place, image), w = at(o, c, channels, k, kernel),
                         y = at(n, o, outer, j, out);
            if (makes_x)
              result.real[x] += in[0].real[y] * in[1].real[w];
            else if (makes_w)
              result.real[w] += in[0].real[x] * in[1].real[y];
            else
              result.real[y] += in[0].real[x] * in[1].real[w];
          });
        });
      }
    }
  }
}

}  // namespace tenon::backends::reference
