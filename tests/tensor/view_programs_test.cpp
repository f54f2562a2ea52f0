// Views against plain arrays and loops: random programs of reads and writes, slices, index expressions.

#include <algorithm>
#include <limits>
#include <random>

#include "tenon/exec/eval.h"
#include "tests/tensor/views.h"

namespace tenon {
namespace {

// ---- random programs against a plain array ----

// A program of views, writes, reads and lazily held values over a few buffers, run beside a model that knows nothing
// but arrays of numbers and lists of positions.
class Program {
 public:
  Program(uint32_t seed, bool eager) : random_(seed), eager_(eager) {
    for (const Dims& shape : {Dims{4, 6}, Dims{12}, Dims{2, 3, 4}}) {
      memory_.emplace_back(static_cast<size_t>(ir::count(shape)));
      std::iota(memory_.back().begin(), memory_.back().end(), static_cast<int64_t>(100 * memory_.size()));
      View view{from_vector(memory_.back(), shape), memory_.size() - 1, Wholes(memory_.back().size())};
      std::iota(view.positions.begin(), view.positions.end(), int64_t{0});
      views_.push_back(view);
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) step();
    for (const View& view : views_) check(view);
    for (const Held& held : held_) EXPECT_EQ(wholes(held.tensor), held.values) << log_;
  }

 private:
  struct View {
    Tensor tensor;
    size_t buffer;
    Wholes positions;  // of each element in its buffer, in row-major order
  };
  struct Held {
    Tensor tensor;
    Wholes values;
  };

  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }
  View& any_view() { return views_[static_cast<size_t>(below(static_cast<int64_t>(views_.size())))]; }
  void note(const std::string& what) { log_ += what + "\n"; }

  Wholes values(const View& view) const {
    Wholes seen;
    for (int64_t at : view.positions) seen.push_back(memory_[view.buffer][static_cast<size_t>(at)]);
    return seen;
  }

  void check(const View& view) { EXPECT_EQ(wholes(view.tensor), values(view)) << log_; }

  void step() {
    switch (below(8)) {
      case 0:
      case 1: add_view(); break;
      case 2: fill(); break;
      case 3: copy_between(); break;
      case 4: change(); break;
      case 5: hold(); break;
      case 6: read(); break;
      default: forget(); break;
    }
    if (!eager_) return;
    for (const View& view : views_) view.tensor.eval();
    for (const Held& held : held_) held.tensor.eval();
  }

  void add_view() {
    if (views_.size() > 12) return;
    const View from = any_view();
    const Dims shape = from.tensor.shape();
    if (shape.empty()) return;
    const int64_t axis = below(static_cast<int64_t>(shape.size()));
    const int64_t size = shape[static_cast<size_t>(axis)];
    View made = from;
    // Positions follow the same move on a tensor that holds them.
    Tensor positions = from_vector(from.positions, shape);
    const auto move = [&](auto f) {
      made.tensor = f(from.tensor);
      made.positions = wholes(f(positions));
    };
    switch (below(5)) {
      case 0: move([&](const Tensor& t) { return t.transpose(axis, 0); }); break;
      case 1:
        if (size == 0) return;
        move([&](const Tensor& t) { return t.select(axis, size - 1); });
        break;
      case 2: {
        const int64_t start = below(size + 1), stop = below(size + 1), step = below(2) + 1;
        move([&](const Tensor& t) { return t.slice(axis, std::min(start, stop), std::max(start, stop), step); });
        break;
      }
      case 3: {
        const int64_t step = -1 - below(2);
        move([&](const Tensor& t) { return t.slice(axis, {}, {}, step); });
        break;
      }
      default: move([&](const Tensor& t) { return t.unsqueeze(axis); }); break;
    }
    if (made.positions.empty() || made.tensor.dim() > 5) return;
    note(fmt::format("view {} = of {} positions {}", views_.size(), from.buffer, fmt::join(made.positions, " ")));
    views_.push_back(made);
  }

  void write(const View& view, const Wholes& next) {
    for (size_t i = 0; i < next.size(); ++i) memory_[view.buffer][static_cast<size_t>(view.positions[i])] = next[i];
  }

  void fill() {
    View& view = any_view();
    const int64_t number = below(1000);
    note(fmt::format("fill {} with {}", fmt::join(view.positions, " "), number));
    view.tensor.fill_(number);
    write(view, Wholes(view.positions.size(), number));
  }

  // From any other view of as many elements, perhaps of the same memory.
  void copy_between() {
    View &to = any_view(), &from = any_view();
    if (to.positions.size() != from.positions.size()) return;
    note(fmt::format("copy {}:{} to {}:{}", from.buffer, fmt::join(from.positions, " "), to.buffer,
                     fmt::join(to.positions, " ")));
    const Wholes next = values(from);
    to.tensor.copy_(from.tensor.reshape(to.tensor.shape()));
    write(to, next);
  }

  void change() {
    View &to = any_view(), &from = any_view();
    Wholes next = values(to);
    if (to.positions.size() == from.positions.size()) {
      note(fmt::format("add {}:{} to {}:{}", from.buffer, fmt::join(from.positions, " "), to.buffer,
                       fmt::join(to.positions, " ")));
      const Wholes other = values(from);
      for (size_t i = 0; i < next.size(); ++i) next[i] += other[i];
      to.tensor.add_(from.tensor.reshape(to.tensor.shape()));
    } else {
      note(fmt::format("add 1 to {}:{}", to.buffer, fmt::join(to.positions, " ")));
      for (int64_t& value : next) value += 1;
      to.tensor.add_(1);
    }
    write(to, next);
  }

  void hold() {
    if (held_.size() > 8) return;
    const View& view = any_view();
    note(fmt::format("hold {}:{}", view.buffer, fmt::join(view.positions, " ")));
    Held held{view.tensor.clone(), values(view)};
    if (below(2)) {
      held.tensor = view.tensor * 3 + 1;
      for (int64_t& value : held.values) value = value * 3 + 1;
    }
    held_.push_back(held);
  }

  void read() {
    const View& view = any_view();
    note(fmt::format("read {}:{}", view.buffer, fmt::join(view.positions, " ")));
    if (below(2))
      check(view);
    else
      view.tensor.eval();
  }

  void forget() {
    if (views_.size() > 4 && below(2))
      views_.erase(views_.begin() + 1 + below(static_cast<int64_t>(views_.size()) - 1));
    if (held_.empty()) return;
    const auto at = held_.begin() + below(static_cast<int64_t>(held_.size()));
    note("forget a held value");
    if (below(2)) {
      EXPECT_EQ(wholes(at->tensor), at->values) << log_;
    }
    held_.erase(at);
  }

  std::mt19937 random_;
  bool eager_;
  std::vector<Wholes> memory_;
  std::vector<View> views_;
  std::vector<Held> held_;
  std::string log_;
};

TEST(Views, RandomProgramsReadWhatPlainMemoryHolds) {
  for (uint32_t seed = 0; seed < 300 && !HasFailure(); ++seed) Program(seed, false).run(40);
}

TEST(Views, RandomProgramsRunAtOnceReadTheSame) {
  for (uint32_t seed = 0; seed < 100 && !HasFailure(); ++seed) Program(seed, true).run(40);
}

// ---- slices against a loop ----

// Python's rule for start:stop:step over n elements.
std::vector<int64_t> sliced_positions(int64_t n, std::optional<int64_t> start, std::optional<int64_t> stop,
                                      int64_t step) {
  std::vector<int64_t> positions;
  const auto from_end = [n](int64_t at) { return at < 0 ? at + n : at; };
  if (step > 0) {
    const int64_t first = start ? std::clamp<int64_t>(from_end(*start), 0, n) : 0,
                  last = stop ? std::clamp<int64_t>(from_end(*stop), 0, n) : n;
    for (int64_t i = first; i < last; i += step) positions.push_back(i);
  } else {
    const int64_t first = start ? std::clamp<int64_t>(from_end(*start), -1, n - 1) : n - 1;
    const int64_t last = stop ? std::clamp<int64_t>(from_end(*stop), -1, n - 1) : -1;
    for (int64_t i = first; i > last; i += step) positions.push_back(i);
  }
  return positions;
}

TEST(Views, EverySliceIsThatOfALoop) {
  std::vector<std::optional<int64_t>> bounds{std::nullopt};
  for (int64_t at = -7; at <= 7; ++at) bounds.emplace_back(at);
  for (int64_t n : {0, 1, 5}) {
    const Tensor x = counting({n});
    for (const auto& start : bounds) {
      for (const auto& stop : bounds) {
        for (int64_t step : {-6, -3, -2, -1, 1, 2, 3, 6}) {
          const Tensor y = x.slice(0, start, stop, step);
          ASSERT_EQ(wholes(y), sliced_positions(n, start, stop, step))
              << n << " elements [" << (start ? std::to_string(*start) : "") << ":"
              << (stop ? std::to_string(*stop) : "") << ":" << step << "]";
        }
      }
    }
  }
}

TEST(Views, EverySliceWritesWhereItReads) {
  std::vector<std::optional<int64_t>> bounds{std::nullopt, -6, -4, -1, 0, 2, 3, 5, 9};
  for (const auto& start : bounds) {
    for (const auto& stop : bounds) {
      for (int64_t step : {-3, -2, -1, 1, 2, 3}) {
        Tensor x = counting({5});
        Wholes expected = wholes(x);
        int64_t next = 100;
        const auto positions = sliced_positions(5, start, stop, step);
        for (int64_t at : positions) expected[static_cast<size_t>(at)] = next++;
        x.slice(0, start, stop, step).copy_(arange(100, 100 + static_cast<int64_t>(positions.size())));
        ASSERT_EQ(wholes(x), expected);
      }
    }
  }
}

TEST(Views, SlicesOfSlicesInTwoDims) {
  const Tensor x = counting({5, 7});
  const Tensor y = x.slice(0, 4, 0, -2).slice(1, 1, {}, 3).slice(0, {}, {}, -1);  // rows 2, 4; columns 1, 4
  EXPECT_EQ(wholes(y), Wholes({15, 18, 29, 32}));
}

TEST(Views, StepsBeyondTheEndTakeOneElement) {
  const Tensor x = counting({5});
  EXPECT_EQ(wholes(x.slice(0, 1, {}, 100)), Wholes({1}));
  EXPECT_EQ(wholes(x.slice(0, {}, {}, -100)), Wholes({4}));
  EXPECT_EQ(wholes(x.slice(0, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max())),
            Wholes({0, 1, 2, 3, 4}));
  EXPECT_EQ(wholes(x.slice(0, {}, {}, std::numeric_limits<int64_t>::max())), Wholes({0}));
}

// ---- index expressions ----

TEST(Views, IndexWithPositionsAndSlices) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(x.index({1, 2, 3}).item<int64_t>(), 23);
  EXPECT_EQ(wholes(x.index({1, Slice(), 0})), Wholes({12, 16, 20}));
  EXPECT_EQ(wholes(x.index({-1, -1})), Wholes({20, 21, 22, 23}));
  EXPECT_EQ(wholes(x.index({Slice(), 1, Slice(1, 4, 2)})), Wholes({5, 7, 17, 19}));
  EXPECT_EQ(wholes(x.index({0, Slice({}, {}, -1), 0})), Wholes({8, 4, 0}));
  EXPECT_EQ(x.index({}).shape(), x.shape());
}

TEST(Views, IndexWithNewAxisAndEllipsis) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(x.index({NewAxis()}).shape(), (Dims{1, 2, 3, 4}));
  EXPECT_EQ(x.index({Slice(), NewAxis(), 0}).shape(), (Dims{2, 1, 4}));
  EXPECT_EQ(x.index({Ellipsis(), NewAxis()}).shape(), (Dims{2, 3, 4, 1}));
  EXPECT_EQ(x.index({0, Ellipsis(), 1}).shape(), (Dims{3}));
  EXPECT_EQ(wholes(x.index({0, Ellipsis(), 1})), Wholes({1, 5, 9}));
  EXPECT_EQ(wholes(x.index({Ellipsis(), 1, 2})), Wholes({6, 18}));
  EXPECT_EQ(x.index({0, 0, Ellipsis(), 0}).shape(), Dims{});  // an ellipsis may stand for nothing
}

TEST(Views, IndexWithATensorOfPositions) {
  const Tensor x = counting({3, 4});
  EXPECT_EQ(wholes(x.index({tensor({2, 0, 2})})), Wholes({8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(wholes(x.index({Slice(), tensor({3, 1})})), Wholes({3, 1, 7, 5, 11, 9}));
  EXPECT_EQ(x.index({tensor({{0, 1}, {2, 0}})}).shape(), (Dims{2, 2, 4}));
  EXPECT_EQ(wholes(x.index({1, tensor({3, 1})})), Wholes({7, 5}));
  EXPECT_EQ(x.index({scalar(1)}).shape(), (Dims{4}));
  EXPECT_EQ(wholes(x.index({scalar(1)})), Wholes({4, 5, 6, 7}));
}

TEST(Views, NegativePositionsInATensorCountFromTheEnd) {
  const Tensor x = counting({3, 2});
  Wholes picked;
  EXPECT_NO_THROW(picked = wholes(x.index({tensor({-1, 0})})));
  EXPECT_EQ(picked, Wholes({4, 5, 0, 1}));
}

// As in PyTorch and numpy, tensors of positions are broadcast together and pick points, not the grid of all pairs.
TEST(Views, SeveralTensorsOfPositionsPickPoints) {
  const Tensor x = counting({3, 4});
  const Tensor points = x.index({tensor({0, 1, 2}), tensor({3, 0, 1})});
  EXPECT_EQ(points.shape(), (Dims{3}));
  EXPECT_EQ(wholes(points), Wholes({3, 4, 9}));
  EXPECT_EQ(x.index({tensor({{0}, {2}}), tensor({1, 3})}).shape(), (Dims{2, 2}));
}

TEST(Views, PickingWithATensorCopies) {
  Tensor x = counting({3});
  Tensor picked = x.index({tensor({0, 1})});
  picked.fill_(9);
  EXPECT_EQ(wholes(x), Wholes({0, 1, 2}));
}

TEST(Views, IndexPutWithNumbersAndBroadcasting) {
  Tensor x = counting({2, 3});
  x.index_put_({0, 1}, 9);
  EXPECT_EQ(wholes(x), Wholes({0, 9, 2, 3, 4, 5}));
  x.index_put_({Slice(), 2}, -1);
  EXPECT_EQ(wholes(x), Wholes({0, 9, -1, 3, 4, -1}));
  x.index_put_({Ellipsis()}, tensor({7, 8, 9}));  // a row into both
  EXPECT_EQ(wholes(x), Wholes({7, 8, 9, 7, 8, 9}));
  x.index_put_({Slice(), Slice(0, 2)}, tensor({{1}, {2}}));  // a column into two
  EXPECT_EQ(wholes(x), Wholes({1, 1, 9, 2, 2, 9}));
  x.index_put_({1}, scalar(5));
  EXPECT_EQ(wholes(x), Wholes({1, 1, 9, 5, 5, 5}));
  x.index_put_({Slice({}, {}, -1), 0}, tensor({10, 20}));
  EXPECT_EQ(wholes(x), Wholes({20, 1, 9, 10, 5, 5}));
  x.index_put_({0}, tensor({0.9, 1.9, -2.9}));  // converted to the target's dtype
  EXPECT_EQ(wholes(x), Wholes({0, 1, -2, 10, 5, 5}));
}

TEST(Views, IndexPutWithATensorOfPositionsWritesThere) {
  Tensor x = counting({4});
  x.index_put_({tensor({0, 2})}, 9);
  EXPECT_EQ(wholes(x), Wholes({9, 1, 9, 3}));
}

}  // namespace
}  // namespace tenon
