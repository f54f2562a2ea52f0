// Leaves, reductions, indexed ops, sorting, scanning, matmul and stores, each written out as its definition.

#include "tenon/backends/reference/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tenon/base/error.h"
#include "tenon/ir/philox.h"

namespace tenon::backends::reference {
namespace {

using ir::Op;

// Checked before anything is written, so that a bad index changes nothing.
void check_indices(const ir::Call& call, const Array& index, int64_t size) {
  const auto& attrs = std::get<ir::AxisAttrs>(call.attrs);
  for (int64_t i : index.whole) {
    if (i < 0 || i >= size) base::throw_error(ir::name_of(call.op, attrs.use), ir::bad_index(attrs.use, i, attrs.axis, size));
  }
}

void run_gather(const ir::Call& call, const Array& source, const Array& index, Array& out) {
  const auto axis = static_cast<size_t>(std::get<ir::AxisAttrs>(call.attrs).axis);
  const Lines lines(source.type.shape, axis);
  check_indices(call, index, lines.length);
  const int64_t picks = index.size();
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t p = 0; p < picks; ++p) {
      for (int64_t n = 0; n < lines.inner; ++n) {
        const auto from = static_cast<size_t>(lines.at(o, index.whole[static_cast<size_t>(p)], n));
        const auto to = static_cast<size_t>((o * picks + p) * lines.inner + n);
        if (out.is_real())
          out.real[to] = source.real[from];
        else
          out.whole[to] = source.whole[from];
      }
    }
  }
}

// Writes or adds in the order of the indices.
void run_scatter(const ir::Call& call, const Arrays& in, Array& out) {
  const auto axis = static_cast<size_t>(std::get<ir::AxisAttrs>(call.attrs).axis);
  const Array &index = in[1], &value = in[2];
  const bool adds = call.op == Op::scatter_add;
  const Lines lines(out.type.shape, axis);
  check_indices(call, index, lines.length);
  out.real = in[0].real;
  out.whole = in[0].whole;
  const int64_t picks = index.size();
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t p = 0; p < picks; ++p) {
      for (int64_t n = 0; n < lines.inner; ++n) {
        const auto to = static_cast<size_t>(lines.at(o, index.whole[static_cast<size_t>(p)], n));
        const auto from = static_cast<size_t>((o * picks + p) * lines.inner + n);
        if (out.is_real())
          out.real[to] = adds ? out.real[to] + value.real[from] : value.real[from];
        else
          out.whole[to] = static_cast<int64_t>((adds ? static_cast<uint64_t>(out.whole[to]) : 0) +
                                               static_cast<uint64_t>(value.whole[from]));
      }
    }
  }
}

void run_contract(const Array& a, const Array& b, Array& out) {
  const size_t rank = a.type.shape.size();
  const int64_t m = a.type.shape[rank - 2], k = a.type.shape[rank - 1], n = b.type.shape[rank - 1];
  const int64_t batches = m * n == 0 ? 0 : out.size() / (m * n);
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t i = 0; i < k; ++i) {
        const auto left = static_cast<size_t>((batch * m + row) * k + i);
        for (int64_t column = 0; column < n; ++column) {
          const auto right = static_cast<size_t>((batch * k + i) * n + column);
          const auto to = static_cast<size_t>((batch * m + row) * n + column);
          if (out.is_real() && a.is_real())
            out.real[to] += a.real[left] * b.real[right];
          else if (out.is_real())
            out.real[to] += static_cast<double>(a.whole[left]) * static_cast<double>(b.whole[right]);
          else
            out.whole[to] =
                static_cast<int64_t>(static_cast<uint64_t>(out.whole[to]) +
                                     static_cast<uint64_t>(a.whole[left]) * static_cast<uint64_t>(b.whole[right]));
        }
      }
    }
  }
}

// Stable; NaN is larger than everything, as in PyTorch.
void run_sort(const ir::SortAttrs& attrs, const Array& in, Array& values, Array& indices) {
  const Lines lines(in.type.shape, static_cast<size_t>(attrs.axis));
  std::vector<int64_t> order(static_cast<size_t>(lines.length));
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t n = 0; n < lines.inner; ++n) {
      const auto position = [&](int64_t i) { return static_cast<size_t>(lines.at(o, i, n)); };
      const auto before = [&](int64_t i, int64_t j) {
        if (attrs.descending) std::swap(i, j);
        if (!in.is_real()) return in.whole[position(i)] < in.whole[position(j)];
        const double a = in.real[position(i)], b = in.real[position(j)];
        return std::isnan(b) ? !std::isnan(a) : a < b;
      };
      std::iota(order.begin(), order.end(), int64_t{0});
      std::stable_sort(order.begin(), order.end(), before);
      for (int64_t i = 0; i < lines.length; ++i) {
        const int64_t from = order[static_cast<size_t>(i)];
        if (in.is_real())
          values.real[position(i)] = in.real[position(from)];
        else
          values.whole[position(i)] = in.whole[position(from)];
        indices.whole[position(i)] = from;
      }
    }
  }
}

// Sums and products wrap.
int64_t joined_whole(ir::ScanKind kind, int64_t total, int64_t x) {
  const auto a = static_cast<uint64_t>(total), b = static_cast<uint64_t>(x);
  if (kind == ir::ScanKind::max) return std::max(total, x);
  return static_cast<int64_t>(kind == ir::ScanKind::sum ? a + b : a * b);
}

void run_scan(const ir::ScanAttrs& attrs, const Array& in, Array& out) {
  const Lines lines(in.type.shape, static_cast<size_t>(attrs.axis));
  const auto joined = [&](double total, double x) {
    if (attrs.kind == ir::ScanKind::sum) return total + x;
    if (attrs.kind == ir::ScanKind::prod) return total * x;
    return x < total || (total != total && x == x) ? total : x;
  };
  const int first = attrs.kind == ir::ScanKind::sum ? 0 : 1;
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t n = 0; n < lines.inner; ++n) {
      double real = attrs.kind == ir::ScanKind::max ? -std::numeric_limits<double>::infinity() : first;
      int64_t whole = attrs.kind == ir::ScanKind::max ? std::numeric_limits<int64_t>::min() : first;
      for (int64_t i = 0; i < lines.length; ++i) {
        const auto at = static_cast<size_t>(lines.at(o, i, n));
        if (in.is_real()) {
          real = joined(real, in.real[at]);
          out.real[at] = real;
        } else {
          whole = joined_whole(attrs.kind, whole, in.whole[at]);
          out.whole[at] = whole;
        }
      }
    }
  }
}

}  // namespace

void run_leaf(const ir::Call& call, const Arrays& in, Array& out) {
  if (call.op == Op::constant) {
    const auto& attrs = std::get<ir::ConstantAttrs>(call.attrs);
    if (out.is_real())
      out.real[0] = attrs.as_double();
    else
      out.whole[0] = attrs.as_int();
  } else if (call.op == Op::iota) {
    std::iota(out.real.begin(), out.real.end(), 0.0);
    std::iota(out.whole.begin(), out.whole.end(), int64_t{0});
  } else {
    const auto& attrs = std::get<ir::RandomAttrs>(call.attrs);
    const auto seed = static_cast<uint64_t>(in[0].whole[0]), counter = static_cast<uint64_t>(in[0].whole[1]);
    for (size_t i = 0; i < out.whole.size(); ++i) {
      out.whole[i] = static_cast<int32_t>(ir::philox_word(seed, counter + attrs.offset + i));
    }
  }
}

// Adds a number, and what rounding loses of it to `lost` (Neumaier): what others are compared with is exact.
void add_up(double& total, double& lost, double value) {
  const double next = total + value;
  if (std::isfinite(next))
    lost += std::fabs(total) >= std::fabs(value) ? (total - next) + value : (value - next) + total;
  total = next;
}

void run_reduce(const ir::Call& call, const Arrays& in, Array& out) {
  const Array& x = in[0];
  const ir::Identity identity = ir::info(call.op).identity;
  const bool is_lowest = identity == ir::Identity::lowest;
  const int64_t number = identity == ir::Identity::one ? 1 : 0;
  const double start = is_lowest ? -std::numeric_limits<double>::infinity() : static_cast<double>(number);
  const int64_t start_whole = is_lowest ? std::numeric_limits<int64_t>::min() : number;
  std::fill(out.real.begin(), out.real.end(), start);
  std::fill(out.whole.begin(), out.whole.end(), start_whole);
  std::vector<double> lost(out.real.size(), 0.0);
  // Every element goes to the result that it is expanded from: the result's map with stride 0 along the reduced axes.
  ir::IndexMap target(out.type.shape);
  target.apply(ir::Move{Op::expand, ir::ShapeAttrs{x.type.shape}});
  target.for_each([&](int64_t from_position, int64_t to_position) {
    const auto from = static_cast<size_t>(from_position), to = static_cast<size_t>(to_position);
    if (x.is_real()) {
      double& total = out.real[to];
      const double value = x.real[from];
      if (call.op == Op::sum)
        add_up(total, lost[to], value);
      else if (call.op == Op::prod)
        total *= value;
      else
        total = std::isnan(total) || total >= value ? total : value;
    } else {
      int64_t& total = out.whole[to];
      const int64_t value = x.whole[from];
      if (call.op == Op::sum)
        total = static_cast<int64_t>(static_cast<uint64_t>(total) + static_cast<uint64_t>(value));
      else if (call.op == Op::prod)
        total = static_cast<int64_t>(static_cast<uint64_t>(total) * static_cast<uint64_t>(value));
      else
        total = std::max(total, value);
    }
  });
  for (size_t i = 0; i < lost.size(); ++i) {
    if (lost[i] != 0 && std::isfinite(out.real[i])) out.real[i] += lost[i];
  }
}

void run_indexed(const ir::Call& call, const Arrays& in, Array& out) {
  if (call.op == Op::gather) return run_gather(call, in[0], in[1], out);
  run_scatter(call, in, out);
}

void run_call(const ir::Call& call, const Arrays& in, Arrays& out) {
  switch (call.op) {
    case Op::contract: return run_contract(in[0], in[1], out[0]);
    case Op::sort: return run_sort(std::get<ir::SortAttrs>(call.attrs), in[0], out[0], out[1]);
    case Op::scan: return run_scan(std::get<ir::ScanAttrs>(call.attrs), in[0], out[0]);
    case Op::attention: return run_attention(std::get<ir::AttentionAttrs>(call.attrs), in, out);
    case Op::attention_backward: return run_attention_backward(std::get<ir::AttentionAttrs>(call.attrs), in, out);
    case Op::conv:
    case Op::conv_transpose:
    case Op::conv_weight: return run_convolution(call, in, out[0]);
    case Op::max_pool: return run_max_pool(call, in[0], out[0], out[1]);
    case Op::max_pool_backward: return run_max_pool_backward(call, in[0], in[1], out[0]);
    default: base::fail(ir::name(call.op), "the reference device has no such call");
  }
}

void run_effect(const ir::Call& call, const Arrays& in, Array& out) {
  out.real = in[0].real;
  out.whole = in[0].whole;
  if (call.op != Op::store) return;
  ir::IndexMap target(out.type.shape);
  target.apply(std::get<ir::StoreAttrs>(call.attrs).target);
  target.for_each([&](int64_t from, int64_t to) {
    if (out.is_real())
      out.real[static_cast<size_t>(to)] = in[1].real[static_cast<size_t>(from)];
    else
      out.whole[static_cast<size_t>(to)] = in[1].whole[static_cast<size_t>(from)];
  });
}

}  // namespace tenon::backends::reference
