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
  const Dims& xs = makes_x ? result.type.shape : in[0].type.shape;
  const Dims& ws = makes_w ? result.type.shape : in[1].type.shape;
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
            const int64_t plane = n * inner + group * channels + c;
            const auto x = static_cast<size_t>(plane * ir::count(image) + flat(place, image));
            const auto w = static_cast<size_t>((o * channels + c) * ir::count(kernel) + flat(k, kernel));
            const auto y = static_cast<size_t>((n * outer + o) * ir::count(out) + flat(j, out));
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
