// grid_sample between pixels, and its gradient. Where a place lies among the pixels is found once for all channels;
// then every channel is read, or added to, by one loop over the places. 4 images of 8 channels and 64 x 64 pixels take
// a third of the time of the composition that this stands for, whose bits it gives: the same products and sums in the
// same order, and images with a margin of 0 instead of a question whether a place lies inside.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/calls/grid_sample.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include <array>
#include <bit>
#include <cstdint>

#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/vector-inl.h"
#include "tenon/ir/loop_nest.h"

#ifndef TENON_BACKENDS_CPU_CALLS_GRID_SAMPLE_CPP_
#define TENON_BACKENDS_CPU_CALLS_GRID_SAMPLE_CPP_
namespace tenon::backends::cpu {

constexpr size_t kCorners = 4;    // in the order in which gradients arrive: right below, left below, right, left above
constexpr size_t kTogether = 64;  // places that are taken together

struct SampledImages {
  int64_t batch, channels, height, width, places;
  bool border, align_corners;
  int64_t row_pixels() const { return width + 2; }
  int64_t pixels() const { return (height + 2) * row_pixels(); }
};

// Of one image: what each corner counts at each place, and where its pixel lies in an image with a margin.
template <typename T>
struct Corners {
  using Offset = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  std::array<T*, kCorners> weights;
  std::array<Offset*, kCorners> offsets;
};

}  // namespace tenon::backends::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

template <typename T>
using Offset = typename Corners<T>::Offset;

// One coordinate of a vector of places.
template <class D>
struct Coordinate {
  hn::Vec<D> free, at, before, to_next;  // at is `free` within the image where it ends at its border
};

template <class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE Coordinate<D> coordinate(D d, V unit, int64_t size, const SampledImages& images) {
  const auto length = static_cast<T>(size);
  const auto one = hn::Set(d, T{1});
  const auto from_one = hn::Add(unit, one);
  const auto free = images.align_corners
                        ? hn::Mul(from_one, hn::Set(d, static_cast<T>(static_cast<double>(size - 1) / 2)))
                        : hn::Div(hn::Sub(hn::Mul(from_one, hn::Set(d, length)), one), hn::Set(d, T{2}));
  auto at = free;
  if (images.border) {
    const auto zero = hn::Zero(d), end = hn::Set(d, length - 1);
    at = hn::IfThenElse(hn::Le(at, zero), zero, at);
    at = hn::IfThenElse(hn::Ge(at, end), end, at);
  }
  const auto before = hn::Floor(at);
  return {free, at, before, hn::Sub(at, before)};
}

// Whatever lies further outside, and NaN, is in the margin.
template <class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE V in_margin(D d, V at, int64_t size) {
  const auto first = hn::Set(d, T{-1}), end = hn::Set(d, static_cast<T>(size));
  const auto from = hn::IfThenElse(hn::Gt(at, first), at, first);
  return hn::IfThenElse(hn::Lt(from, end), from, end);
}

template <class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE auto offset_of(D d, V column, V row, const SampledImages& images) {
  const hn::RebindToSigned<D> di;
  const auto row_pixels = static_cast<Offset<T>>(images.row_pixels());
  const auto first = hn::Set(di, static_cast<Offset<T>>(row_pixels + 1));
  if constexpr (sizeof(T) == 4) {
    return hn::Add(first, hn::Add(hn::Mul(hn::ConvertTo(di, row), hn::Set(di, row_pixels)), hn::ConvertTo(di, column)));
  } else {  // not every machine multiplies i64
    return hn::Add(first, hn::ConvertTo(di, hn::Add(hn::Mul(row, hn::Set(d, static_cast<T>(row_pixels))), column)));
  }
}

// The columns and rows of n places, x before y, and zeros up to the next multiple of a vector.
template <typename T>
HWY_INLINE void split(const T* grid, size_t n, T* x, T* y) {
  for (size_t i = 0; i < n; ++i) {
    x[i] = grid[2 * i];
    y[i] = grid[2 * i + 1];
  }
  for (size_t i = n; i % kLanes != 0; ++i) x[i] = y[i] = 0;
}

template <typename T>
void find_corners(const SampledImages& images, const T* grid, const Corners<T>& to) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  alignas(64) T x[kTogether], y[kTogether];
  const auto places = static_cast<size_t>(images.places);
  const auto one = hn::Set(d, T{1});
  for (size_t begin = 0; begin < places; begin += kTogether) {
    const size_t n = places - begin < kTogether ? places - begin : kTogether;
    split(grid + 2 * begin, n, x, y);
    for (size_t i = 0; i < n; i += kStep) {
      const auto across = coordinate(d, hn::Load(d, x + i), images.width, images);
      const auto down = coordinate(d, hn::Load(d, y + i), images.height, images);
      const auto left = in_margin(d, across.before, images.width), top = in_margin(d, down.before, images.height);
      const auto right = in_margin(d, hn::Add(across.before, one), images.width);
      const auto bottom = in_margin(d, hn::Add(down.before, one), images.height);
      const auto not_right = hn::Sub(one, across.to_next), not_low = hn::Sub(one, down.to_next);
      const size_t place = begin + i;
      hn::Store(hn::Mul(across.to_next, down.to_next), d, to.weights[0] + place);
      hn::Store(hn::Mul(not_right, down.to_next), d, to.weights[1] + place);
      hn::Store(hn::Mul(across.to_next, not_low), d, to.weights[2] + place);
      hn::Store(hn::Mul(not_right, not_low), d, to.weights[3] + place);
      hn::Store(offset_of(d, right, bottom, images), di, to.offsets[0] + place);
      hn::Store(offset_of(d, left, bottom, images), di, to.offsets[1] + place);
      hn::Store(offset_of(d, right, top, images), di, to.offsets[2] + place);
      hn::Store(offset_of(d, left, top, images), di, to.offsets[3] + place);
    }
  }
}

// One channel of an image with its margin.
template <typename T>
void read_channel(const T* image, const Corners<T>& corners, T* to, size_t n) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  const auto at = [&](size_t corner, size_t i) {
    return hn::Mul(hn::GatherIndex(d, image, hn::Load(di, corners.offsets[corner] + i)),
                   hn::Load(d, corners.weights[corner] + i));
  };
  const auto sum = [&](size_t i) { return hn::Add(hn::Add(at(3, i), at(2, i)), hn::Add(at(1, i), at(0, i))); };
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) hn::StoreU(sum(i), d, to + i);
  if (i == n) return;
  alignas(64) T rest[kStep];
  hn::Store(sum(i), d, rest);
  for (size_t k = 0; i < n; ++i, ++k) to[i] = rest[k];
}

// A sum for each corner of up to kTogether places.
template <typename T>
struct Sums {
  alignas(64) T of[kCorners][kTogether];

  void clear() {
    for (T(&each)[kTogether] : of) {
      for (T& one : each) one = 0;
    }
  }
  HWY_INLINE void add(const Sums& other) {
    const hn::ScalableTag<T> d;
    for (size_t corner = 0; corner < kCorners; ++corner) {
      for (size_t i = 0; i < kTogether; i += kLanesOf<decltype(d)>)
        hn::Store(hn::Add(hn::Load(d, of[corner] + i), hn::Load(d, other.of[corner] + i)), d, of[corner] + i);
    }
  }
  // Gradients times what one channel has at the corners.
  HWY_INLINE void add_channel(const T* image, const T* gradient, const Corners<T>& corners, size_t begin, size_t n) {
    const hn::ScalableTag<T> d;
    const hn::RebindToSigned<decltype(d)> di;
    for (size_t corner = 0; corner < kCorners; ++corner) {
      T* total = of[corner];
      for (size_t i = 0; i < n; i += kLanesOf<decltype(d)>) {
        const auto pixels = hn::GatherIndex(d, image, hn::Load(di, corners.offsets[corner] + begin + i));
        hn::Store(hn::Add(hn::Load(d, total + i), hn::Mul(hn::LoadU(d, gradient + i), pixels)), d, total + i);
      }
    }
  }
};

constexpr int64_t kLeastColumns = 16;  // as in plan::is_column_reduction

// The sums over all channels, to sums[0], in the order of a reduction over them: channel c joins lane c % kLanes, then
// lanes 8, 4, 2 and 1 apart are joined, as in tile/reduce.cpp. Of a single image the channels are the rows of a matrix,
// which are added one after the other, block by block.
template <typename T>
void sum_channels(const SampledImages& images, const T* padded, const T* gradients, const Corners<T>& corners,
                  size_t begin, size_t n, Sums<T>* sums) {
  const auto channels = static_cast<size_t>(images.channels);
  const bool by_rows = images.batch == 1 && images.places >= kLeastColumns;
  const auto block = static_cast<size_t>(ir::column_block(images.channels));
  const size_t lanes = by_rows ? 1 : std::bit_ceil(channels < kLanes ? channels : kLanes);
  for (size_t lane = 0; lane <= lanes; ++lane) sums[lane].clear();
  alignas(64) T copied[kTogether] = {};
  for (size_t c = 0; c < channels; ++c) {
    const T* gradient = gradients + c * static_cast<size_t>(images.places) + begin;
    if (n < kTogether) {
      for (size_t i = 0; i < n; ++i) copied[i] = gradient[i];
      gradient = copied;
    }
    const size_t lane = !by_rows ? c % kLanes : c < block ? 0 : 1;
    sums[lane].add_channel(padded + c * static_cast<size_t>(images.pixels()), gradient, corners, begin, n);
    if (lane == 1 && by_rows && ((c + 1) % block == 0 || c + 1 == channels)) {
      sums[0].add(sums[1]);
      sums[1].clear();
    }
  }
  for (size_t apart = lanes / 2; apart > 0; apart /= 2) {
    for (size_t lane = 0; lane < apart; ++lane) sums[lane].add(sums[lane + apart]);
  }
}

// From the gradient of a place among the pixels to that of what the grid says, from -1 to 1.
template <class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE V gradient_of_unit(D d, V gradient, const Coordinate<D>& c, int64_t size, const SampledImages& images) {
  const auto length = static_cast<T>(size);
  if (images.border) {
    const auto inside = hn::And(hn::Gt(c.free, hn::Zero(d)), hn::Lt(c.free, hn::Set(d, length - 1)));
    gradient = hn::IfThenElseZero(inside, gradient);
  }
  const auto scaled = images.align_corners
                          ? hn::Mul(gradient, hn::Set(d, static_cast<T>(static_cast<double>(size - 1) / 2)))
                          : hn::Mul(hn::Div(gradient, hn::Set(d, T{2})), hn::Set(d, length));
  return hn::Add(scaled, hn::Zero(d));  // columns and rows are added to each other's zeros
}

// The gradients of a grid at n places of one image, from the first on: of all columns, and of all rows.
template <typename T>
void grid_gradient(const SampledImages& images, const T* padded, const T* gradients, const T* grid,
                   const Corners<T>& corners, size_t begin, size_t n, T* columns, T* rows) {
  const hn::ScalableTag<T> d;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  Sums<T> sums[kLanes + 1];
  alignas(64) T x[kTogether], y[kTogether];
  sum_channels(images, padded, gradients, corners, begin, n, sums);
  split(grid + 2 * begin, n, x, y);
  const auto one = hn::Set(d, T{1});
  for (size_t i = 0; i < n; i += kStep) {
    const auto across = coordinate(d, hn::Load(d, x + i), images.width, images);
    const auto down = coordinate(d, hn::Load(d, y + i), images.height, images);
    const auto right = across.to_next, low = down.to_next;
    const auto not_right = hn::Sub(one, right), not_low = hn::Sub(one, low);
    const auto right_low = hn::Load(d, sums[0].of[0] + i), left_low = hn::Load(d, sums[0].of[1] + i);
    const auto right_top = hn::Load(d, sums[0].of[2] + i), left_top = hn::Load(d, sums[0].of[3] + i);
    const auto to_right = hn::Sub(hn::Add(hn::Mul(right_low, low), hn::Mul(right_top, not_low)),
                                  hn::Add(hn::Mul(left_low, low), hn::Mul(left_top, not_low)));
    const auto to_low = hn::Sub(hn::Add(hn::Mul(right_low, right), hn::Mul(left_low, not_right)),
                                hn::Add(hn::Mul(right_top, right), hn::Mul(left_top, not_right)));
    hn::Store(gradient_of_unit(d, to_right, across, images.width, images), d, x + i);
    hn::Store(gradient_of_unit(d, to_low, down, images.height, images), d, y + i);
  }
  for (size_t i = 0; i < n; ++i) {
    columns[begin + i] = x[i];
    rows[begin + i] = y[i];
  }
}

}  // namespace

void find_corners_f32_here(const SampledImages& images, const float* grid, const Corners<float>& to) {
  find_corners(images, grid, to);
}
void find_corners_f64_here(const SampledImages& images, const double* grid, const Corners<double>& to) {
  find_corners(images, grid, to);
}
void read_channel_f32_here(const float* image, const Corners<float>& corners, float* to, size_t n) {
  read_channel(image, corners, to, n);
}
void read_channel_f64_here(const double* image, const Corners<double>& corners, double* to, size_t n) {
  read_channel(image, corners, to, n);
}
void grid_gradient_f32_here(const SampledImages& images, const float* padded, const float* gradients, const float* grid,
                            const Corners<float>& corners, size_t begin, size_t n, float* columns, float* rows) {
  grid_gradient(images, padded, gradients, grid, corners, begin, n, columns, rows);
}
void grid_gradient_f64_here(const SampledImages& images, const double* padded, const double* gradients,
                            const double* grid, const Corners<double>& corners, size_t begin, size_t n, double* columns,
                            double* rows) {
  grid_gradient(images, padded, gradients, grid, corners, begin, n, columns, rows);
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/base/divide.h"
#include "tenon/base/parallel.h"
#include "tenon/ir/composition.h"

namespace tenon::backends::cpu {
namespace {

HWY_EXPORT(find_corners_f32_here);
HWY_EXPORT(find_corners_f64_here);
HWY_EXPORT(read_channel_f32_here);
HWY_EXPORT(read_channel_f64_here);
HWY_EXPORT(grid_gradient_f32_here);
HWY_EXPORT(grid_gradient_f64_here);

void find_corners(const SampledImages& images, const float* grid, const Corners<float>& to) {
  HWY_DYNAMIC_DISPATCH(find_corners_f32_here)(images, grid, to);
}
void find_corners(const SampledImages& images, const double* grid, const Corners<double>& to) {
  HWY_DYNAMIC_DISPATCH(find_corners_f64_here)(images, grid, to);
}
void read_channel(const float* image, const Corners<float>& corners, float* to, size_t n) {
  HWY_DYNAMIC_DISPATCH(read_channel_f32_here)(image, corners, to, n);
}
void read_channel(const double* image, const Corners<double>& corners, double* to, size_t n) {
  HWY_DYNAMIC_DISPATCH(read_channel_f64_here)(image, corners, to, n);
}
void grid_gradient(const SampledImages& images, const float* padded, const float* gradients, const float* grid,
                   const Corners<float>& corners, size_t begin, size_t n, float* columns, float* rows) {
  HWY_DYNAMIC_DISPATCH(grid_gradient_f32_here)
  (images, padded, gradients, grid, corners, begin, n, columns, rows);
}
void grid_gradient(const SampledImages& images, const double* padded, const double* gradients, const double* grid,
                   const Corners<double>& corners, size_t begin, size_t n, double* columns, double* rows) {
  HWY_DYNAMIC_DISPATCH(grid_gradient_f64_here)
  (images, padded, gradients, grid, corners, begin, n, columns, rows);
}

// What the kernel and that of its gradient share: operands, corners and images with margins.
template <typename T>
class OfImages : public CallKernel {
 public:
  explicit OfImages(const ir::Call& call)
      : images_input_(call.inputs[0], Input::Wanted::contiguous), grid_(call.inputs[1], Input::Wanted::contiguous) {
    const Dims &x = images_input_.shape(), &grid = grid_.shape();
    const auto& settings = std::get<ir::ComposedAttrs>(call.attrs).what->settings;
    images_ = {x[0], x[1], x[2], x[3], grid[1] * grid[2], settings[1] != 0, settings[2] != 0};
  }

 protected:
  static constexpr int64_t kGrainElements = 8 << 10;
  static int64_t grain(int64_t elements) {
    return std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, elements));
  }
  int64_t planes() const { return images_.batch * images_.channels; }

  std::vector<Corners<T>> carve_corners(Carver& from) const {
    std::vector<Corners<T>> made(static_cast<size_t>(images_.batch));
    const int64_t rounded = base::round_up(images_.places, static_cast<int64_t>(kLanes));
    for (Corners<T>& one : made) {
      for (T*& weights : one.weights) weights = from.take<T>(rounded);
      for (auto*& offsets : one.offsets) offsets = from.take<typename Corners<T>::Offset>(rounded);
    }
    return made;
  }
  void find_all(const T* grid, const std::vector<Corners<T>>& corners) const {
    base::parallel_for(images_.batch, grain(images_.places * 4), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        find_corners(images_, grid + i * images_.places * 2, corners[static_cast<size_t>(i)]);
    });
  }
  // One channel of an image, with a margin of 0.
  void pad(const T* from, T* to) const {
    const int64_t row_pixels = images_.row_pixels();
    to = std::fill_n(to, row_pixels + 1, T{0});
    for (int64_t row = 0; row < images_.height; ++row, from += images_.width) {
      to = std::copy_n(from, images_.width, to);
      *to++ = 0;
      *to++ = 0;
    }
    std::fill_n(to, row_pixels - 1, T{0});
  }

  SampledImages images_;
  Input images_input_, grid_;
};

template <typename T>
class GridSample : public OfImages<T> {
 public:
  using OfImages<T>::OfImages;

  size_t scratch_bytes() const override {
    Carver all;
    this->carve_corners(all);
    return all.used();
  }

  void run(const Arguments& args) const override {
    const Input::Bound images(this->images_input_, args[0]), grid(this->grid_, args[1]);
    Carver scratch(args[3]);
    const std::vector<Corners<T>> corners = this->carve_corners(scratch);
    this->find_all(grid.template as<T>(), corners);
    const SampledImages& s = this->images_;
    base::parallel_for(this->planes(), this->grain(s.places * 4 + s.pixels()), [&](int64_t begin, int64_t end) {
      const Scratch padded(static_cast<size_t>(s.pixels()) * sizeof(T));
      for (int64_t i = begin; i < end; ++i) {
        this->pad(images.template as<T>() + i * s.height * s.width, padded.as<T>());
        read_channel(padded.as<T>(), corners[static_cast<size_t>(i / s.channels)],
                     reinterpret_cast<T*>(args[2]) + i * s.places, static_cast<size_t>(s.places));
      }
    });
  }
};

// Results: of the images with their margins, where it is wanted, then of all columns and all rows of the grid.
template <typename T>
class GridSampleBackward : public OfImages<T> {
 public:
  explicit GridSampleBackward(const ir::Call& call)
      : OfImages<T>(call), gradients_(call.inputs[2], Input::Wanted::contiguous) {
    const auto& settings = std::get<ir::ComposedAttrs>(call.attrs).what->settings;
    of_images_ = settings[3] != 0;
    of_grid_ = settings[4] != 0;
  }

  size_t scratch_bytes() const override {
    Carver all;
    this->carve_corners(all);
    carve_padded(all);
    return all.used();
  }

  void run(const Arguments& args) const override {
    const Input::Bound images(this->images_input_, args[0]), grid(this->grid_, args[1]), arrived(gradients_, args[2]);
    size_t next = 3;
    T* of_images = of_images_ ? reinterpret_cast<T*>(args[next++]) : nullptr;
    T* of_grid = of_grid_ ? reinterpret_cast<T*>(args[next++]) : nullptr;
    Carver scratch(args[next]);
    const std::vector<Corners<T>> corners = this->carve_corners(scratch);
    T* padded = carve_padded(scratch);
    this->find_all(grid.template as<T>(), corners);
    const SampledImages& s = this->images_;
    base::parallel_for(this->planes(), this->grain(s.places * 8 + s.pixels()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Corners<T>& here = corners[static_cast<size_t>(i / s.channels)];
        if (of_images) add_up(arrived.template as<T>() + i * s.places, here, of_images + i * s.pixels());
        if (of_grid) this->pad(images.template as<T>() + i * s.height * s.width, padded + i * s.pixels());
      }
    });
    if (!of_grid) return;
    const auto block = static_cast<int64_t>(kTogether);
    const int64_t blocks = base::ceil_div(s.places, block);
    base::parallel_for(s.batch * blocks, this->grain(block * s.channels * 4), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / blocks, first = i % blocks * block, plane = image * s.channels;
        grid_gradient(s, padded + plane * s.pixels(), arrived.template as<T>() + plane * s.places,
                      grid.template as<T>() + image * s.places * 2, corners[static_cast<size_t>(image)],
                      static_cast<size_t>(first), static_cast<size_t>(std::min(block, s.places - first)),
                      of_grid + image * s.places, of_grid + (s.batch + image) * s.places);
      }
    });
  }

 private:
  T* carve_padded(Carver& from) const {
    return of_grid_ ? from.take<T>(this->planes() * this->images_.pixels()) : nullptr;
  }
  // Every pixel adds up corner after corner, and the places of each in their order.
  void add_up(const T* gradients, const Corners<T>& corners, T* to) const {
    const int64_t places = this->images_.places;
    std::fill_n(to, this->images_.pixels(), T{0});
    for (size_t corner = 0; corner < kCorners; ++corner) {
      const T* weights = corners.weights[corner];
      const auto* offsets = corners.offsets[corner];
      for (int64_t i = 0; i < places; ++i) to[offsets[i]] += gradients[i] * weights[i];
    }
  }

  Input gradients_;
  bool of_images_ = false, of_grid_ = false;
};

}  // namespace

std::unique_ptr<CallKernel> compile_grid_sample(const ir::Call& call) {
  if (call.inputs[0].dtype == DType::f64) return std::make_unique<GridSample<double>>(call);
  return std::make_unique<GridSample<float>>(call);
}
std::unique_ptr<CallKernel> compile_grid_sample_backward(const ir::Call& call) {
  if (call.inputs[0].dtype == DType::f64) return std::make_unique<GridSampleBackward<double>>(call);
  return std::make_unique<GridSampleBackward<float>>(call);
}

}  // namespace tenon::backends::cpu
#endif
