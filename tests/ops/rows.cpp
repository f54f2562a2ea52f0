// The rows, in the order of ops.def, and what runs them.

#include "tests/ops/rows.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <ostream>

#include "tenon/backends/cpu/cpu_device.h"
#include "tenon/backends/reference/reference_device.h"
#include "tenon/device/registry.h"
#include "tenon/ir/build.h"
#include "tenon/ir/infer.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/composed.h"
#include "tenon/tensor/ops.h"

namespace tenon::ops_test {
namespace {

using ir::Op;
using ir::ScanKind;
using ir::Value;
using Samples = std::vector<Sample>;
using Specs = std::vector<OperandSpec>;

constexpr auto kDiff = Slope::finite_differences;

// ---- Samples that many rows share ----------------------------------------------------------------------------------

/// The same operands in another shape.
Specs reshaped(Specs operands, const Dims& shape) {
  for (OperandSpec& operand : operands) operand.shape = shape;
  return operands;
}

/// An op that takes any shape, on a matrix, a single number and nothing at all.
Samples in_any_shape(const Specs& operands, const std::function<Value(const Recording&)>& record) {
  const auto all = [record](const Recording& r) { return std::vector{record(r)}; };
  return {{"matrix", reshaped(operands, {3, 4}), all},
          {"cube", reshaped(operands, {2, 3, 5}), all},
          {"number", reshaped(operands, {}), all},
          {"empty", reshaped(operands, {3, 0}), all},
          {"long_rows", reshaped(operands, {2, 1037}), all, true},
          {"short_rows", reshaped(operands, {131, 3}), all, true}};
}

/// One result on operands of given shapes.
Sample sample(std::string name, Specs operands, std::function<Value(const Recording&)> record) {
  return {std::move(name), std::move(operands), [record](const Recording& r) { return std::vector{record(r)}; }};
}

Sample large(Sample made) {
  made.large = true;
  return made;
}

struct Range {
  double low = -2, high = 2;
};

Row unary(Op op, Range domain, Expectation expected, Slope slope) {
  return {
      op,
      in_any_shape({{"x", {}, domain.low, domain.high}}, [op](const Recording& r) { return ir::unary(op, r.in[0]); }),
      expected, slope};
}

Row binary(Op op, const OperandSpec& a, const OperandSpec& b, Expectation expected, Slope slope) {
  return {op, in_any_shape({a, b}, [op](const Recording& r) { return ir::binary(op, r.in[0], r.in[1]); }), expected,
          slope};
}

Sample moved(std::string name, const Dims& shape, std::function<Value(const Value&)> move) {
  return sample(std::move(name), {{"x", shape}}, [move](const Recording& r) { return move(r.in[0]); });
}

Row reduction(Op op, Range domain, Range large_domain, bool has_identity) {
  const auto within = [&](Range range, std::string name, const Dims& shape, const Dims& axes) {
    return sample(std::move(name), {{"x", shape, range.low, range.high, -5, 5}},
                  [op, axes](const Recording& r) { return ir::reduce(op, r.in[0], axes); });
  };
  const auto over = [&](std::string name, const Dims& shape, const Dims& axes) {
    return within(domain, std::move(name), shape, axes);
  };
  Row row{op,
          {over("rows", {3, 4}, {1}), over("columns", {5, 3}, {0}), over("outer_and_inner", {3, 2, 4}, {0, 2}),
           over("everything", {3, 4}, {0, 1}), over("one_element", {1, 1}, {0, 1}), over("empty_result", {0, 3}, {1}),
           large(within(large_domain, "long_rows", {3, 1037}, {1})),
           large(within(large_domain, "long_columns", {1037, 3}, {0})),
           large(within(large_domain, "long_everything", {37, 131}, {0, 1}))},
          {},
          kDiff};
  if (has_identity) row.samples.push_back(over("nothing", {0, 3}, {0}));
  return row;
}

// ---- Leaves --------------------------------------------------------------------------------------------------------

Row constant_row() {
  return {Op::constant,
          {sample("number", {}, [](const Recording& r) { return ir::constant(2.5, r.dtype, r.device); })},
          {[](double, double, double) { return 2.5; }, [](int64_t, int64_t, int64_t) -> int64_t { return 2; }}};
}

Row iota_row() {
  const auto counting = [](std::string name, int64_t size) {
    return sample(std::move(name), {}, [size](const Recording& r) { return ir::iota(size, r.dtype, r.device); });
  };
  return {Op::iota, {counting("seven", 7), counting("empty", 0)}, {}};
}

Row random_bits_row() {
  const auto drawn = [](std::string name, int64_t words, uint64_t offset) {
    return sample(std::move(name), {{"state", {2}, 0, 0, 0, 1000, Role::state}},
                  [words, offset](const Recording& r) { return ir::random_bits(r.in[0], words, offset); });
  };
  return {Op::random_bits, {drawn("words", 9, 0), drawn("from_offset", 6, 7), drawn("empty", 0, 0)}, {}};
}

// ---- Movement ------------------------------------------------------------------------------------------------------

Row reshape_row() {
  const auto to = [](std::string name, const Dims& from, const Dims& shape) {
    return moved(std::move(name), from, [shape](const Value& x) { return ir::reshape(x, shape); });
  };
  return {Op::reshape,
          {to("joined", {3, 4}, {12}), to("regrouped", {3, 4}, {2, 6}), to("of_one", {1, 1}, {}),
           to("of_number", {}, {1}), to("empty", {0, 4}, {2, 0})},
          {},
          kDiff};
}

Row permute_row() {
  const auto by = [](std::string name, const Dims& from, const Dims& axes) {
    return moved(std::move(name), from, [axes](const Value& x) { return ir::permute(x, axes); });
  };
  return {Op::permute,
          {by("transposed", {3, 4}, {1, 0}), by("rotated", {2, 3, 4}, {2, 0, 1}), by("empty", {3, 0}, {1, 0})},
          {},
          kDiff};
}

Row expand_row() {
  const auto to = [](std::string name, const Dims& from, const Dims& shape) {
    return moved(std::move(name), from, [shape](const Value& x) { return ir::expand(x, shape); });
  };
  return {Op::expand,
          {to("row", {1, 4}, {3, 4}), to("column", {3, 1}, {3, 4}), to("both", {1, 3, 1}, {2, 3, 2}),
           to("to_nothing", {1, 4}, {0, 4}), to("empty", {1, 0}, {3, 0})},
          {},
          kDiff};
}

Row pad_row() {
  const auto by = [](std::string name, const Dims& from, const Dims& before, const Dims& after) {
    return moved(std::move(name), from, [before, after](const Value& x) { return ir::pad(x, before, after); });
  };
  return {Op::pad,
          {by("around", {3, 4}, {1, 2}, {2, 1}), by("in_front", {3, 4}, {0, 3}, {0, 0}),
           by("empty", {0, 2}, {1, 0}, {1, 1}), by("stays_empty", {0, 2}, {0, 1}, {0, 0})},
          {},
          kDiff};
}

Row shrink_row() {
  const auto by = [](std::string name, const Dims& from, const Dims& start, const Dims& size, const Dims& step) {
    return moved(std::move(name), from,
                 [start, size, step](const Value& x) { return ir::shrink(x, start, size, step); });
  };
  return {Op::shrink,
          {by("window", {4, 5}, {1, 2}, {2, 3}, {1, 1}), by("steps", {5, 7}, {1, 0}, {2, 3}, {3, 2}),
           by("last_step_reaches_the_end", {6}, {1}, {3}, {2}), by("to_nothing", {3, 4}, {1, 4}, {2, 0}, {1, 1}),
           by("empty", {0, 4}, {0, 1}, {0, 2}, {1, 2})},
          {},
          kDiff};
}

Row flip_row() {
  const auto by = [](std::string name, const Dims& from, const Dims& axes) {
    return moved(std::move(name), from, [axes](const Value& x) { return ir::flip(x, axes); });
  };
  return {Op::flip,
          {by("rows", {3, 4}, {0}), by("columns", {3, 4}, {1}), by("both", {2, 3}, {0, 1}), by("empty", {0, 3}, {0})},
          {},
          kDiff};
}

// ---- Conversions ---------------------------------------------------------------------------------------------------

Row cast_row() {
  Row row{Op::cast,
          {},
          {[](double x, double, double) { return x; }, [](int64_t x, int64_t, int64_t) { return x; }},
          Slope::by_hand};
  for (DType to : kAllDTypes) {
    row.samples.push_back(sample(fmt::format("to_{}", tenon::name(to)), {{"x", {3, 4}, -9, 9}},
                                 [to](const Recording& r) { return ir::cast(r.in[0], to); }));
  }
  row.samples.push_back(
      sample("number", {{"x", {}}}, [](const Recording& r) { return ir::cast(r.in[0], DType::f32); }));
  row.samples.push_back(
      sample("empty", {{"x", {3, 0}}}, [](const Recording& r) { return ir::cast(r.in[0], DType::f16); }));
  return row;
}

/// The other dtype with as many bits, or itself.
DType same_width(DType dtype) {
  switch (dtype) {
    case DType::f32: return DType::i32;
    case DType::i32: return DType::f32;
    case DType::f64: return DType::i64;
    case DType::i64: return DType::f64;
    case DType::f16: return DType::bf16;
    case DType::bf16: return DType::f16;
    default: return dtype;
  }
}

Row bitcast_row() {
  return {
      Op::bitcast,
      in_any_shape({{"x", {}}}, [](const Recording& r) { return ir::bitcast(r.in[0], same_width(r.in[0].dtype())); }),
      {}};
}

// ---- Choosing, indexing --------------------------------------------------------------------------------------------

Row where_row() {
  return {Op::where,
          in_any_shape({{"condition", {}, 0, 1, 0, 1, Role::condition}, {"a", {}}, {"b", {}}},
                       [](const Recording& r) { return ir::where(r.in[0], r.in[1], r.in[2]); }),
          {[](double c, double a, double b) { return c != 0 ? a : b; },
           [](int64_t c, int64_t a, int64_t b) { return c != 0 ? a : b; }},
          kDiff};
}

Row gather_row() {
  const auto along = [](std::string name, size_t axis, const Dims& source, const Dims& index, Role role) {
    const int64_t last = std::max<int64_t>(source[axis] - 1, 0);
    return sample(std::move(name), {{"source", source}, {"index", index, 0, 0, 0, last, role}},
                  [axis](const Recording& r) { return ir::gather(r.in[0], r.in[1], axis); });
  };
  return {
      Op::gather,
      {along("rows", 0, {5, 4}, {2, 3}, Role::index), along("columns", 1, {3, 4}, {6}, Role::index32),
       along("one", 0, {5, 2}, {}, Role::index), along("middle", 1, {2, 3, 2}, {4}, Role::index),
       along("no_index", 0, {5, 4}, {0}, Role::index), along("nothing_from_nothing", 0, {0, 4}, {0}, Role::index32),
       along("empty_rows", 0, {3, 0}, {2}, Role::index), large(along("long_rows", 0, {70, 131}, {40}, Role::index32)),
       large(along("short_rows", 1, {5, 300}, {400}, Role::index))},
      {},
      kDiff};
}

Row scatter_row(Op op) {
  // More indices than places, so that some places are hit twice.
  const auto along = [op](std::string name, size_t axis, const Dims& base, const Dims& index, const Dims& value,
                          Role role) {
    const int64_t last = std::max<int64_t>(base[axis] - 1, 0);
    return sample(std::move(name), {{"base", base}, {"index", index, 0, 0, 0, last, role}, {"value", value}},
                  [op, axis](const Recording& r) {
                    const auto scatter = op == Op::scatter ? ir::scatter : ir::scatter_add;
                    return scatter(r.in[0], r.in[1], r.in[2], axis);
                  });
  };
  return {op,
          {along("rows", 0, {5, 2}, {2, 3}, {2, 3, 2}, Role::index),
           along("columns", 1, {3, 4}, {6}, {3, 6}, Role::index32), along("one", 0, {5, 2}, {}, {2}, Role::index),
           along("no_index", 0, {5, 4}, {0}, {0, 4}, Role::index),
           large(along("long_rows", 0, {17, 131}, {40}, {40, 131}, Role::index32)),
           large(along("short_rows", 1, {5, 30}, {400}, {5, 400}, Role::index))},
          {},
          kDiff};
}

// ---- Calls ---------------------------------------------------------------------------------------------------------

Row contract_row() {
  const auto times = [](std::string name, const Dims& a, const Dims& b) {
    return sample(std::move(name), {{"a", a}, {"b", b}},
                  [](const Recording& r) { return ir::contract(r.in[0], r.in[1], r.dtype); });
  };
  return {Op::contract,
          {times("matrices", {3, 4}, {4, 5}), times("batches", {2, 3, 4}, {2, 4, 2}), times("one_row", {1, 4}, {4, 3}),
           sample("accumulated_wide", {{"a", {3, 4}}, {"b", {4, 2}}},
                  [](const Recording& r) { return ir::contract(r.in[0], r.in[1], accumulator(r.dtype)); }),
           times("nothing_to_sum", {3, 0}, {0, 2}), times("no_rows", {0, 4}, {4, 2}),
           times("no_batches", {0, 2, 3}, {0, 3, 2}), large(times("tiles_and_tails", {37, 65}, {65, 50})),
           large(times("many_batches", {6, 5, 33}, {6, 33, 7}))},
          {},
          kDiff};
}

struct Heads {
  int64_t batch = 1, heads = 2, groups = 2, rows = 3, columns = 4, width = 2, value_width = 2;
};

Specs attention_operands(const Heads& h, bool masked) {
  Specs specs{{"q", {h.batch, h.heads, h.rows, h.width}},
              {"k", {h.batch, h.groups, h.columns, h.width}},
              {"v", {h.batch, h.groups, h.columns, h.value_width}}};
  if (masked) specs.push_back({"mask", {h.batch, h.heads, h.rows, h.columns}});
  return specs;
}

std::vector<Value> all_results(Op op, const Recording& r, const ir::AttentionAttrs& attrs) {
  const ir::NodeRef node = ir::Node::make(op, ir::Operands(r.in.begin(), r.in.end()), attrs);
  std::vector<Value> results;
  for (uint32_t i = 0; i < node->results(); ++i) results.push_back({node, i});
  return results;
}

/// Plain, causal, masked, with shared key heads, and empty: for attention and its gradient alike.
Row attention_row(Op op) {
  Row row{op, {}, {}, kDiff};
  const auto add = [&](std::string name, const Heads& h, const ir::AttentionAttrs& attrs) {
    Specs operands = attention_operands(h, attrs.has_mask);
    if (attrs.dropout > 0) operands.push_back({"state", {2}, 0, 1, 1, 99, Role::state});
    if (op == Op::attention_backward) {
      operands.push_back({"o", {h.batch, h.heads, h.rows, h.value_width}});
      operands.push_back({"lse", {h.batch, h.heads, h.rows}, 1, 2, 1, 2, Role::wide});
      operands.push_back({"grad", {h.batch, h.heads, h.rows, h.value_width}});
    }
    row.samples.push_back(
        {std::move(name), operands, [op, attrs](const Recording& r) { return all_results(op, r, attrs); }});
  };
  add("plain", {}, {0.7, false, false});
  add("batched", {.batch = 2, .heads = 1, .groups = 1, .rows = 2, .columns = 2}, {0.5, false, false});
  add("causal", {.columns = 3}, {0.7, true, false});
  add("causal_over_fewer_columns", {.heads = 1, .groups = 1, .columns = 2}, {0.7, true, false});
  add("masked", {.heads = 1, .groups = 1}, {0.7, false, true});
  add("shared_heads", {.heads = 4, .groups = 2, .rows = 2, .columns = 2, .value_width = 3}, {0.7, true, true});
  add("dropped", {.heads = 4, .groups = 2, .rows = 5, .columns = 6}, {0.7, false, false, 0.4, 12});
  add("dropped_causal_masked", {.rows = 5, .columns = 5}, {0.7, true, true, 0.25, 3});
  add("dropped_long", {.heads = 2, .groups = 1, .rows = 70, .columns = 137, .width = 8, .value_width = 8},
      {0.25, true, false, 0.1, 1001});
  row.samples.back().large = true;
  add("empty", {.batch = 0}, {0.7, true, false});
  add("long", {.heads = 2, .groups = 1, .rows = 37, .columns = 70, .width = 16, .value_width = 16},
      {0.25, true, false});
  row.samples.back().large = true;
  return row;
}

/// One axis with PyTorch's size of the result.
ir::ConvAxis axis_of(int64_t image, int64_t kernel, int64_t stride = 1, int64_t padding = 0, int64_t dilation = 1) {
  const int64_t out = (image + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  return {image, kernel, out, stride, padding, dilation};
}

/// The same convolutions for each of its three sides.
Row conv_row(Op op) {
  Row row{op, {}, {}, kDiff};
  struct Channels {
    int64_t images = 1, in = 1, out = 1, groups = 1;  // channels of a group
  };
  const auto add = [&](std::string name, const Channels& c, const std::vector<ir::ConvAxis>& axes,
                       bool is_wide = false) {
    const auto shape = [&](int64_t first, int64_t second, int64_t ir::ConvAxis::*size) {
      Dims dims{first, second};
      for (const ir::ConvAxis& axis : axes) dims.push_back(axis.*size);
      return dims;
    };
    const OperandSpec x{"x", shape(c.images, c.in * c.groups, &ir::ConvAxis::image)};
    const OperandSpec w{"w", shape(c.out * c.groups, c.in, &ir::ConvAxis::kernel)};
    const OperandSpec y{"y", shape(c.images, c.out * c.groups, &ir::ConvAxis::out)};
    const Specs operands = op == Op::conv ? Specs{x, w} : op == Op::conv_transpose ? Specs{y, w} : Specs{x, y};
    row.samples.push_back(sample(std::move(name), operands, [op, axes, c, is_wide](const Recording& r) {
      const ir::ConvAttrs attrs{axes, c.groups, is_wide ? accumulator(r.dtype) : r.dtype};
      return Value{ir::Node::make(op, {r.in[0], r.in[1]}, attrs), 0};
    }));
  };
  add("plain", {.in = 2, .out = 2}, {axis_of(3, 2), axis_of(4, 3)});
  add("sequence", {.images = 2, .in = 2}, {axis_of(5, 3, 2, 1)}, true);
  add("strided_and_padded", {.out = 2}, {axis_of(4, 3, 2, 1), axis_of(5, 2, 3, 1)});
  add("dilated_in_groups", {.groups = 2}, {axis_of(4, 2, 1, 1, 2), axis_of(3, 2, 2, 2, 3)});
  add("no_images", {.images = 0, .in = 2, .out = 2}, {axis_of(3, 2), axis_of(3, 2)});
  add("longer_strides_than_kernels", {}, {axis_of(5, 1, 2), axis_of(7, 2, 3)});
  add("tiles_and_tails", {.images = 2, .in = 5, .out = 11, .groups = 2}, {axis_of(5, 3, 2, 1), axis_of(14, 3, 1, 1)});
  row.samples.back().large = true;
  add("many_channels", {.in = 19, .out = 13}, {axis_of(4, 3, 1, 1), axis_of(5, 3, 1, 1)});
  row.samples.back().large = true;
  return row;
}

Row pool_row(Op op) {
  Row row{op, {}, {}, kDiff};
  const auto add = [&](std::string name, int64_t images, int64_t channels, const std::vector<ir::ConvAxis>& axes) {
    const ir::PoolAttrs attrs{axes};
    Dims image{images, channels}, out = image;
    for (const ir::ConvAxis& axis : axes) {
      image.push_back(axis.image);
      out.push_back(axis.out);
    }
    if (op == Op::max_pool) {
      row.samples.push_back({std::move(name), {{"x", image}}, [attrs](const Recording& r) {
                               const auto [values, places] = ir::max_pool(r.in[0], attrs);
                               return std::vector{values, places};
                             }});
      return;
    }
    const OperandSpec places{"places", out, 0, 0, 0, attrs.places() - 1, Role::index};
    row.samples.push_back(sample(std::move(name), {{"g", out}, places}, [attrs](const Recording& r) {
      return ir::max_pool_backward(r.in[0], ir::cast(r.in[1], attrs.place_dtype()), attrs);
    }));
  };
  ir::ConvAxis hanging = axis_of(5, 2, 2);
  hanging.out = 3;
  add("plain", 1, 2, {axis_of(4, 2, 2), axis_of(6, 2, 2)});
  add("sequence", 2, 1, {axis_of(5, 3, 2, 1)});
  add("overlapping_and_padded", 1, 1, {axis_of(4, 3, 2, 1), axis_of(5, 3, 1, 1)});
  add("hanging_over", 1, 1, {hanging, hanging});
  add("dilated", 1, 1, {axis_of(5, 2, 1, 0, 2), axis_of(6, 2, 2, 1, 3)});
  add("no_images", 0, 2, {axis_of(4, 2, 2), axis_of(4, 2, 2)});
  add("longer_strides_than_windows", 1, 1, {axis_of(5, 1, 2), axis_of(7, 2, 3)});
  add("tiles_and_tails", 3, 5, {axis_of(14, 2, 2), axis_of(14, 2, 2)});
  row.samples.back().large = true;
  add("wide_rows", 2, 3, {axis_of(9, 3, 2, 1), axis_of(77, 3, 2, 1)});
  row.samples.back().large = true;
  return row;
}

/// Every kind of cell, from either end, with and without what is optional: for a layer and its gradient alike.
Row recurrent_row(Op op) {
  Row row{op, {}, {}, kDiff};
  struct Sizes {
    int64_t steps = 2, batch = 2, hidden = 2;
  };
  const auto add = [&](std::string name, ir::RecurrentAttrs attrs, const Sizes& sizes = {}) {
    const int64_t gates = attrs.gates(), steps = sizes.steps, batch = sizes.batch, hidden = sizes.hidden;
    const Dims state{batch, hidden}, all{steps + 1, batch, hidden};
    Specs operands{{"inputs", {gates, steps, batch, hidden}}, {"weights", {gates, hidden, hidden}}, {"h", state}};
    if (attrs.has_cells()) operands.push_back({"c", state});
    if (attrs.has_bias) operands.push_back({"bias", {gates, hidden}});
    if (attrs.has_mask) operands.push_back({"mask", {steps, batch, 1}, 0, 1, 0, 1, Role::condition});
    attrs.keeps = attrs.keeps || op == Op::recurrent_backward;
    if (op == Op::recurrent_backward) {
      operands.push_back({"states", all});
      if (attrs.has_products()) operands.push_back({"products", {steps, gates, batch, hidden}});
      if (attrs.has_cells()) operands.push_back({"cells", {steps, batch, hidden}});
      if (attrs.from_states) operands.push_back({"of_states", all});
      if (attrs.from_last) operands.push_back({"of_last", state});
      if (attrs.from_cells) operands.push_back({"of_cells", state});
    } else {
      attrs.from_states = attrs.from_last = attrs.from_cells = false;
    }
    for (OperandSpec& operand : operands) {
      if (operand.role == Role::element) operand.low = -1, operand.high = 1;
    }
    row.samples.push_back({std::move(name), operands, [op, attrs](const Recording& r) {
                             ir::RecurrentAttrs typed = attrs;
                             typed.product = r.dtype;
                             const ir::Operands in(r.in.begin(), r.in.end());
                             const ir::NodeRef node = ir::Node::make(op, in, typed);
                             std::vector<Value> results;
                             for (uint32_t i = 0; i < node->results(); ++i) results.push_back({node, i});
                             return results;
                           }});
  };
  using ir::Cell;
  add("tanh", {.cell = Cell::tanh, .from_states = true}, {.steps = 3});
  add("relu_reverse", {.cell = Cell::relu, .reverse = true, .from_states = true, .from_last = true});
  add("lstm", {.cell = Cell::lstm, .keeps = true, .from_states = true});
  add("lstm_masked",
      {.cell = Cell::lstm, .has_mask = true, .from_states = true, .from_last = true, .from_cells = true});
  add("lstm_reverse", {.cell = Cell::lstm, .reverse = true, .keeps = true, .from_cells = true});
  add("gru", {.cell = Cell::gru, .has_bias = true, .keeps = true, .from_states = true, .from_last = true});
  add("gru_reverse_masked", {.cell = Cell::gru, .reverse = true, .has_mask = true, .from_last = true});
  add("one_step", {.cell = Cell::gru, .has_bias = true, .keeps = true, .from_states = true}, {.steps = 1});
  add("no_batch", {.cell = Cell::lstm, .keeps = true, .from_states = true}, {.batch = 0});
  add("tiles_and_tails", {.cell = Cell::lstm, .keeps = true, .from_states = true},
      {.steps = 3, .batch = 5, .hidden = 33});
  row.samples.back().large = true;
  return row;
}

Row sort_row() {
  const auto along = [](std::string name, const Dims& shape, size_t axis, bool descending) {
    return Sample{std::move(name), {{"x", shape}}, [axis, descending](const Recording& r) {
                    const auto [values, indices] = ir::sort(r.in[0], axis, descending);
                    return std::vector{values, indices};
                  }};
  };
  return {Op::sort,
          {along("rows", {3, 5}, 1, false), along("columns_down", {5, 3}, 0, true), along("middle", {2, 4, 3}, 1, true),
           along("one", {1}, 0, false), along("empty", {3, 0}, 1, false), along("no_rows", {0, 3}, 1, true),
           large(along("long_rows", {3, 517}, 1, true)), large(along("long_columns", {131, 5}, 0, false))},
          {},
          kDiff};
}

Row scan_row() {
  const auto along = [](std::string name, const Dims& shape, size_t axis, ScanKind kind) {
    return sample(std::move(name), {{"x", shape, -1.5, 1.5}},
                  [axis, kind](const Recording& r) { return ir::scan(r.in[0], axis, kind); });
  };
  return {Op::scan,
          {along("sum_rows", {3, 5}, 1, ScanKind::sum), along("sum_columns", {5, 3}, 0, ScanKind::sum),
           along("prod_rows", {3, 5}, 1, ScanKind::prod), along("prod_middle", {2, 4, 2}, 1, ScanKind::prod),
           along("empty", {3, 0}, 1, ScanKind::sum), along("no_rows", {0, 3}, 1, ScanKind::prod),
           along("max_rows", {3, 5}, 1, ScanKind::max), along("max_middle", {2, 4, 2}, 1, ScanKind::max),
           large(along("long_max_rows", {3, 517}, 1, ScanKind::max)),
           large(along("long_max_columns", {131, 5}, 0, ScanKind::max)),
           large(along("long_sum_rows", {3, 517}, 1, ScanKind::sum)),
           large(along("long_prod_columns", {131, 5}, 0, ScanKind::prod))},
          {},
          kDiff};
}

// ---- Effects and marks ---------------------------------------------------------------------------------------------

Row store_row() {
  using ir::Move;
  const auto into = [](std::string name, const Dims& base, const Dims& value, const std::vector<Move>& target) {
    return sample(std::move(name), {{"base", base}, {"value", value}},
                  [target](const Recording& r) { return ir::store(r.in[0], r.in[1], target); });
  };
  const Move window{Op::shrink, ir::ShrinkAttrs{{1, 2}, {2, 3}, {1, 1}}},
      steps{Op::shrink, ir::ShrinkAttrs{{0, 1}, {2, 2}, {2, 2}}};
  const Move turned{Op::permute, ir::AxesAttrs{{1, 0}}}, back{Op::flip, ir::AxesAttrs{{0}}};
  const Move none{Op::shrink, ir::ShrinkAttrs{{0, 0}, {0, 5}, {1, 1}}};
  return {Op::store,
          {into("everything", {3, 4}, {3, 4}, {}), into("window", {4, 5}, {2, 3}, {window}),
           into("steps", {4, 5}, {2, 2}, {steps}), into("backwards_and_turned", {3, 4}, {4, 3}, {back, turned}),
           into("nothing", {4, 5}, {0, 5}, {none}), into("number", {}, {}, {})},
          {},
          kDiff};
}

/// Another device than this one to send values to.
ir::DeviceId elsewhere(ir::DeviceId here) {
  static const ir::DeviceId kOther = device::add({"ops_test_other", backends::reference::open});
  const ir::DeviceId reference = device::find("reference");
  return here == reference ? kOther : reference;
}

/// Exchanges its operands, so that a gradient that goes to the wrong one shows.
std::vector<Value> exchanged(const Recording& r) {
  auto rule = std::make_shared<ir::CustomRule>();
  rule->name = "exchange";
  rule->backward = [](std::span<const Value>, std::span<const Value> grads) {
    return std::vector<Value>{grads[1], grads[0]};
  };
  const ir::NodeRef node = ir::Node::make(Op::custom, {ir::detach(r.in[1]), ir::detach(r.in[0]), r.in[0], r.in[1]},
                                          ir::CustomAttrs{rule, 2});
  return {{node, 0}, {node, 1}};
}

Row custom_row() {
  return {Op::custom,
          {{"matrix", {{"a", {3, 4}}, {"b", {3, 4}}}, exchanged},
           {"number", {{"a", {}}, {"b", {}}}, exchanged},
           {"empty", {{"a", {0}}, {"b", {0}}}, exchanged}},
          {},
          kDiff};
}

// Smaller and larger of two numbers, and what was given, turned.
std::vector<Value> composed_of(const Recording& r) {
  const Tensor in[] = {tensor_showing(r.in[0]), tensor_showing(r.in[1])};
  const auto made = composed("rows", {}, in, [](std::span<const Tensor> x) {
    const Tensor is_less = lt(x[0], x[1]);
    return std::vector{where(is_less, x[0], x[1]), where(is_less, x[1], x[0]), x[0].flip({0})};
  });
  return {value_of(made[0]), value_of(made[1]), value_of(made[2])};
}

Row composed_row() {
  return {Op::composed,
          {{"matrix", {{"a", {3, 4}}, {"b", {3, 4}}}, composed_of},
           {"vector", {{"a", {5}}, {"b", {5}}}, composed_of},
           {"empty", {{"a", {0}}, {"b", {0}}}, composed_of},
           {"long_rows", {{"a", {2, 1037}}, {"b", {2, 1037}}}, composed_of, true}},
          {},
          kDiff};
}

Row passing(Op op, std::function<Value(const Recording&)> record, Slope slope = kDiff) {
  return {op,
          in_any_shape({{"x", {}}}, record),
          {[](double x, double, double) { return x; }, [](int64_t x, int64_t, int64_t) { return x; }},
          slope};
}

Value sent_and_returned(const Recording& r) { return ir::copy(ir::copy(r.in[0], elsewhere(r.device)), r.device); }

Value ordered(const Recording& r) {
  const Value first = ir::contiguous(ir::reshape(r.in[0], {ir::count(r.in[0].shape())}));
  return ir::after(r.in[0], {&first, 1});
}

Value differentiable(const Value& x) { return ir::param(x, std::make_shared<ir::Param>()); }

// A value that needs no gradient is detached already, so there must be a parameter and an op on it.
Value detached(const Recording& r) { return ir::detach(ir::contiguous(differentiable(r.in[0]))); }

// ---- The table -----------------------------------------------------------------------------------------------------

std::vector<Row> all_rows() {
  using D = double;
  using I = int64_t;
  const OperandSpec a{"a", {}}, b{"b", {}}, positive{"a", {}, 0.2, 3}, divisor{"b", {}, 0.5, 3},
      bits{"shift", {}, 0, 0, 0, 7};
  return {
      {Op::buffer,
       in_any_shape({a}, [](const Recording& r) { return r.in[0]; }),
       {[](D x, D, D) { return x; }, [](I x, I, I) { return x; }}},
      constant_row(),
      iota_row(),
      random_bits_row(),

      reshape_row(),
      permute_row(),
      expand_row(),
      pad_row(),
      shrink_row(),
      flip_row(),

      unary(Op::neg, {}, {[](D x, D, D) { return -x; }, [](I x, I, I) { return -x; }}, kDiff),
      unary(Op::abs, {}, {[](D x, D, D) { return std::fabs(x); }, [](I x, I, I) { return x < 0 ? -x : x; }}, kDiff),
      unary(Op::sqrt, {0.1, 4}, {[](D x, D, D) { return std::sqrt(x); }}, kDiff),
      unary(Op::exp, {}, {[](D x, D, D) { return std::exp(x); }}, kDiff),
      unary(Op::exp2, {}, {[](D x, D, D) { return std::exp2(x); }}, kDiff),
      unary(Op::expm1, {}, {[](D x, D, D) { return std::expm1(x); }}, kDiff),
      unary(Op::log, {0.1, 4}, {[](D x, D, D) { return std::log(x); }}, kDiff),
      unary(Op::log2, {0.1, 4}, {[](D x, D, D) { return std::log2(x); }}, kDiff),
      unary(Op::log1p, {-0.8, 4}, {[](D x, D, D) { return std::log1p(x); }}, kDiff),
      unary(Op::sin, {-4, 4}, {[](D x, D, D) { return std::sin(x); }}, kDiff),
      unary(Op::cos, {-4, 4}, {[](D x, D, D) { return std::cos(x); }}, kDiff),
      unary(Op::atan, {-4, 4}, {[](D x, D, D) { return std::atan(x); }}, kDiff),
      unary(Op::tanh, {}, {[](D x, D, D) { return std::tanh(x); }}, kDiff),
      unary(Op::sigmoid, {-4, 4},
            {[](D x, D, D) { return static_cast<D>(1 / (1 + std::exp(-static_cast<long double>(x)))); }}, kDiff),
      unary(Op::erf, {}, {[](D x, D, D) { return std::erf(x); }}, kDiff),
      unary(Op::round, {-9, 9}, {[](D x, D, D) { return std::nearbyint(x); }}, kDiff),
      unary(Op::floor, {-9, 9}, {[](D x, D, D) { return std::floor(x); }}, kDiff),
      cast_row(),
      bitcast_row(),

      binary(Op::add, a, b, {[](D x, D y, D) { return x + y; }, [](I x, I y, I) { return x + y; }}, kDiff),
      binary(Op::mul, a, b, {[](D x, D y, D) { return x * y; }, [](I x, I y, I) { return x * y; }}, kDiff),
      binary(Op::div, a, divisor, {[](D x, D y, D) { return x / y; }}, kDiff),
      binary(Op::pow, positive, b, {[](D x, D y, D) { return std::pow(x, y); }}, kDiff),
      binary(Op::maximum, a, b, {[](D x, D y, D) { return x < y ? y : x; }, [](I x, I y, I) { return x < y ? y : x; }},
             kDiff),
      binary(Op::idiv, a, b, {nullptr, [](I x, I y, I) { return y == 0 ? 0 : x / y; }}, Slope::none),
      binary(Op::mod, {"a", {}, -7, 7}, divisor,
             {[](D x, D y, D) { return std::fmod(x, y); }, [](I x, I y, I) { return y == 0 ? 0 : x % y; }}, kDiff),
      binary(Op::less, a, b, {[](D x, D y, D) -> D { return x < y; }, [](I x, I y, I) -> I { return x < y; }},
             Slope::none),
      binary(Op::equal, a, b, {[](D x, D y, D) -> D { return x == y; }, [](I x, I y, I) -> I { return x == y; }},
             Slope::none),
      binary(Op::bit_and, a, b, {nullptr, [](I x, I y, I) { return x & y; }}, Slope::none),
      binary(Op::bit_or, a, b, {nullptr, [](I x, I y, I) { return x | y; }}, Slope::none),
      binary(Op::bit_xor, a, b, {nullptr, [](I x, I y, I) { return x ^ y; }}, Slope::none),
      binary(Op::shl, a, bits, {nullptr, [](I x, I n, I) { return x * (I{1} << n); }}, Slope::none),
      binary(Op::shr, a, bits, {nullptr, [](I x, I n, I) { return x >> n; }}, Slope::none),
      where_row(),

      reduction(Op::sum, {}, {}, true),
      reduction(Op::max, {}, {}, false),
      reduction(Op::prod, {-1.5, 1.5}, {0.95, 1.05}, true),

      gather_row(),
      scatter_row(Op::scatter),
      scatter_row(Op::scatter_add),

      contract_row(),
      attention_row(Op::attention),
      attention_row(Op::attention_backward),
      conv_row(Op::conv),
      conv_row(Op::conv_transpose),
      conv_row(Op::conv_weight),
      pool_row(Op::max_pool),
      pool_row(Op::max_pool_backward),
      recurrent_row(Op::recurrent),
      recurrent_row(Op::recurrent_backward),
      sort_row(),
      scan_row(),

      store_row(),
      passing(Op::after, ordered),
      passing(Op::copy, sent_and_returned),
      passing(Op::contiguous, [](const Recording& r) { return ir::contiguous(r.in[0]); }),
      passing(Op::detach, detached, Slope::none),
      passing(Op::param, [](const Recording& r) { return differentiable(r.in[0]); }),
      custom_row(),
      composed_row(),
  };
}

// ---- Values --------------------------------------------------------------------------------------------------------

/// Uniform in [0, 1), from a counter (splitmix64): the library's own random numbers are under test here.
double uniform(uint64_t counter) {
  uint64_t z = (counter + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

}  // namespace

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = all_rows();
  return kRows;
}

const Row* find_row(Op op) {
  const auto found = std::find_if(rows().begin(), rows().end(), [&](const Row& row) { return row.op == op; });
  return found == rows().end() ? nullptr : &*found;
}

std::vector<DType> dtypes_of(Op op) {
  const ir::OpInfo& info = ir::info(op);
  const auto allowed = [&](DType dtype) {
    switch (info.dtype_rule) {
      case ir::DTypeRule::random: return dtype == DType::i64;  // the state; there are no elements
      case ir::DTypeRule::number:
      case ir::DTypeRule::contract: return dtype != DType::boolean;
      case ir::DTypeRule::real:
      case ir::DTypeRule::conv:
      case ir::DTypeRule::pool:
      case ir::DTypeRule::recurrent:
      case ir::DTypeRule::attention: return is_float(dtype);
      case ir::DTypeRule::integer: return is_integer(dtype);
      case ir::DTypeRule::bits: return !is_float(dtype);
      case ir::DTypeRule::indexed: return op != Op::scatter_add || dtype != DType::boolean;  // adding needs numbers
      default: return true;
    }
  };
  std::vector<DType> dtypes;
  std::copy_if(std::begin(kAllDTypes), std::end(kAllDTypes), std::back_inserter(dtypes), allowed);
  return dtypes;
}

DType dtype_of(const OperandSpec& operand, DType element) {
  switch (operand.role) {
    case Role::wide: return accumulator(element);
    case Role::condition: return DType::boolean;
    case Role::index:
    case Role::state: return DType::i64;
    case Role::index32: return DType::i32;
    default: return element;
  }
}

std::vector<Host> values_for(const Sample& sample, DType element, uint64_t seed) {
  std::vector<Host> arrays;
  for (size_t k = 0; k < sample.operands.size(); ++k) {
    const OperandSpec& operand = sample.operands[k];
    Host array({dtype_of(operand, element), operand.shape});
    const auto low = array.type.dtype == DType::u8 ? std::max<int64_t>(operand.whole_low, 0) : operand.whole_low;
    for (int64_t i = 0; i < array.size(); ++i) {
      const double u = uniform(seed * 1000003 + k * 1009 + static_cast<uint64_t>(i));
      if (is_float(array.type.dtype))
        array.set(i, operand.low + u * (operand.high - operand.low));
      else if (array.type.dtype == DType::boolean)
        array.set(i, u < 0.5);
      else
        array.set(i, std::floor(static_cast<double>(low) + u * static_cast<double>(operand.whole_high - low + 1)));
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

Layout layout_of(const OperandSpec& operand, Layout layout) {
  return operand.role == Role::state ? Layout::contiguous : layout;
}

std::vector<Host> run(const Sample& sample, DType element, ir::DeviceId device, std::span<const Host> operands,
                      Layout layout) {
  std::vector<Value> in;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Layout own = layout_of(sample.operands[i], layout);
    in.push_back(seen(own, upload(stored(own, operands[i]), device), operands[i].type.shape));
  }
  const std::vector<Value> results = sample.record({in, element, device});
  ir::verify(results);
  return read_all(results);
}

// The cpu as a device that has next to nothing: few buffers, and no call where a decomposition serves.
std::unique_ptr<device::Device> open_poor_cpu() {
  ir::Limits limits;
  limits.max_buffers = 4;
  limits.missing_calls = {ir::Op::contract,
                          ir::Op::gather,
                          ir::Op::scatter,
                          ir::Op::scatter_add,
                          ir::Op::scan,
                          ir::Op::sort,
                          ir::Op::attention,
                          ir::Op::attention_backward,
                          ir::Op::store,
                          ir::Op::contiguous,
                          ir::Op::conv,
                          ir::Op::conv_transpose,
                          ir::Op::conv_weight,
                          ir::Op::max_pool,
                          ir::Op::max_pool_backward};
  return backends::cpu::open_with(limits);
}

std::vector<std::string> computing_devices() {
  static const ir::DeviceId kPoor = device::add({"poor_cpu", open_poor_cpu});
  static_cast<void>(kPoor);
  std::vector<std::string> names = device::names();
  std::erase_if(names, [](const std::string& name) { return name == "null" || name == "ops_test_other"; });
  return names;
}

std::vector<DType> floats_on(const std::string& device) {
  std::vector<DType> dtypes = {DType::f32, DType::f16, DType::bf16};
  if (why_no_f64(device).empty()) dtypes.push_back(DType::f64);
  return dtypes;
}

std::string why_no_f64(const std::string& device) {
  const bool lacks = device::open(device::find(device)).limits().missing_dtypes.contains(DType::f64);
  return lacks ? fmt::format("{} has no f64", device) : std::string();
}

bool takes_few_cases(const std::string& device) {
  static const bool kAll = std::getenv("TENON_ALL_CASES") != nullptr;
  return !kAll && (device.starts_with("opencl") || device.starts_with("cuda") || device.starts_with("vulkan") ||
                   device.starts_with("simulated"));
}

}  // namespace tenon::ops_test

namespace tenon::ir {
void PrintTo(Op op, std::ostream* out) { *out << name(op); }
}  // namespace tenon::ir
