// Random programs over captured functions: whatever a program does, it sees what it would see had nothing been
// captured.
//
// A program is data: a few functions (short lists of steps over registers and shared states) and a list of actions that
// call them, hold, copy, write and read what they gave, and change the states beside them. It is interpreted three
// times: with captured functions on the cpu device, with the plain functions there, and with the plain functions on the
// reference device. All numbers are small integers, so that the three must agree in every bit.
//
// TENON_RANDOM_PROGRAMS and TENON_RANDOM_SEED choose how many programs run and the seed of the first. A program that
// fails is printed, shortened by every step and action that it fails without.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr int64_t kSide = 4;
constexpr size_t kRegisters = 4, kStates = 3, kParams = 2, kScalars = 2, kFunctions = 3, kHeld = 6, kArguments = 2;

// ---- programs ----

// What a function does in one step. Registers r, states s, parameters w, arguments x.
enum class Do {
  add,
  subtract,
  multiply,
  larger,
  product,
  transpose,
  row_sums,
  running_sums,
  load_argument,
  load_state,
  load_rows_of_state,
  load_param,
  load_counter,
  times_one,
  join_one,
  reshape_to_itself,
  pad_by_nothing,
  clone,
  scale,
  draw,
  dropout,
  set_state,
  fill_state,
  clear_state,
  add_to_state,
  set_rows,
  set_transposed,
  set_unsqueezed,
  set_row,
  shift_rows,
  count_up,
  backward,
  backward_of_product,
  clear_gradient,
  update_param,
  may_throw,
  kCount
};
constexpr const char* kDoNames[] = {"r{a} = r{b} + r{c}",
                                    "r{a} = r{b} - r{c}",
                                    "r{a} = r{b} * r{c}",
                                    "r{a} = maximum(r{b}, r{c})",
                                    "r{a} = r{b} @ r{c}",
                                    "r{a} = r{b}.t()",
                                    "r{a} = r{b} + sum(r{c}, 1)",
                                    "r{a} = cumsum(r{b}, 0)",
                                    "r{a} = x{b}",
                                    "r{a} = s{b}",
                                    "r{a} = s{b}[{from}:] again and again, 4 rows",
                                    "r{a} = w{b} * 2",
                                    "r{a} = counter",
                                    "r{a} = r{b} * 1",
                                    "r{a} = cat([r{b}])",
                                    "r{a} = r{b}.reshape(its shape)",
                                    "r{a} = pad(r{b}, 0)",
                                    "r{a} = r{b}.clone()",
                                    "r{a} = r{b} * scalar{c}",
                                    "r{a} = r{b} + randint()",
                                    "r{a} = dropout(r{b})",
                                    "s{a}.copy_(r{b})",
                                    "s{a}.fill_({c})",
                                    "s{a}.zero_()",
                                    "s{a}.copy_(s{a} + r{b})",
                                    "s{a}[{from}:].copy_(r{b}[{from}:])",
                                    "s{a}.t().copy_(r{b})",
                                    "s{a}.unsqueeze(0).copy_(r{b})",
                                    "s{a}[{from}].copy_(r{b}[0])",
                                    "s{a}[1:].copy_(s{a}[:-1])",
                                    "counter.add_(1)",
                                    "sum(r{b} * w{a}).backward()",
                                    "sum((r{b} @ w{a}) * r{c}).backward()",
                                    "w{a}.zero_grad()",
                                    "w{a}.copy_(w{a} - its new gradient)",
                                    "throw, if this call is to"};
static_assert(std::size(kDoNames) == static_cast<size_t>(Do::kCount));

struct Step {
  Do what;
  size_t a, b, c;
  int64_t from;
};

enum class Gives {
  value,
  value_twice,
  value_and_view,
  state,
  state_rows,
  state_transposed,
  argument,
  argument_rows,
  counter,
  kCount
};
constexpr const char* kGivesNames[] = {
    "r{}", "r{} twice", "r{} and a view of it", "s{}", "s{}[1:3]", "s{}.t()", "x{}", "x{}[:2]", "counter"};

struct Result {
  Gives what;
  size_t which;
};

struct Function {
  std::vector<Step> steps;
  std::vector<Result> results;
};

// What the program around the functions does. Held tensors h.
enum class Act {
  call,
  call_and_drop,
  call_that_throws,
  read,
  clone,
  expression,
  view,
  write,
  drop,
  read_state,
  write_state,
  write_rows_of_state,
  hold_state,
  hold_view_of_state,
  hold_expression_of_state,
  count_up,
  set_scalar,
  switch_training,
  draw,
  read_param,
  read_gradient,
  hold_gradient,
  clear_gradient,
  write_param,
  kCount
};
constexpr const char* kActNames[] = {"h{a}.. = f{f}({b}, {c})",
                                     "f{f}({b}, {c})",
                                     "h{a}.. = f{f}({b}, {c}), which is to throw",
                                     "read h{a}",
                                     "h{a} = h{b}.clone()",
                                     "h{a} = h{b} + h{c}",
                                     "h{a} = a view of h{b}",
                                     "h{a}.copy_(h{a} + 1)",
                                     "drop h{a}",
                                     "read s{s}",
                                     "s{s}.copy_(data {n})",
                                     "s{s}[1:3].fill_({n})",
                                     "h{a} = s{s}",
                                     "h{a} = s{s}[1:]",
                                     "h{a} = s{s} * 2",
                                     "counter.add_(1)",
                                     "scalar{k}.set({n})",
                                     "switch training",
                                     "h{a} = randint()",
                                     "read w{p}",
                                     "read the gradient of w{p}",
                                     "h{a} = the gradient of w{p}",
                                     "clear the gradient of w{p}",
                                     "w{p}.copy_(data {n})"};
static_assert(std::size(kActNames) == static_cast<size_t>(Act::kCount));

// An argument: data of its own, or something held.
struct Given {
  enum Kind { data, short_data, held } kind;
  size_t number;
};

struct Action {
  Act what;
  size_t a, b, c, f;
  Given x[kArguments];
  int number;
};

struct Program {
  std::vector<Function> functions;
  std::vector<Action> actions;
};

Program random_program(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  Program program;
  for (size_t f = 0; f < kFunctions; ++f) {
    Function function;
    for (size_t i = 2 + below(6); i-- > 0;)
      function.steps.push_back({static_cast<Do>(below(static_cast<size_t>(Do::kCount))), below(kRegisters),
                                below(kRegisters), below(kRegisters), static_cast<int64_t>(below(kSide))});
    for (size_t i = 1 + below(3); i-- > 0;) {
      // Mostly values: a program that only looks at its states compares little.
      const auto what = below(2) == 0 ? Gives::value : static_cast<Gives>(below(static_cast<size_t>(Gives::kCount)));
      function.results.push_back({what, below(kRegisters)});
    }
    program.functions.push_back(std::move(function));
  }
  const size_t actions = 12 + below(20);
  const size_t favourite = below(kFunctions);  // called often enough to be replayed
  while (program.actions.size() < actions) {
    const bool calls = below(2) == 0;
    Action action{calls ? Act::call : static_cast<Act>(below(static_cast<size_t>(Act::kCount))),
                  below(kHeld),
                  below(kHeld),
                  below(kHeld),
                  below(3) == 0 ? below(kFunctions) : favourite,
                  {},
                  static_cast<int>(below(9)) - 4};
    for (Given& x : action.x) {
      const size_t kind = below(12);
      x = {kind < 6 ? Given::data : kind < 7 ? Given::short_data : Given::held, below(kHeld)};
    }
    program.actions.push_back(action);
  }
  return program;
}

// ---- programs as text ----

void replace_all(std::string& text, std::string_view mark, const std::string& by) {
  for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), by);
}

std::string to_text(const Step& step) {
  std::string text = kDoNames[static_cast<size_t>(step.what)];
  replace_all(text, "s{a}", fmt::format("s{}", step.a % kStates));
  replace_all(text, "s{b}", fmt::format("s{}", step.b % kStates));
  replace_all(text, "w{a}", fmt::format("w{}", step.a % kParams));
  replace_all(text, "w{b}", fmt::format("w{}", step.b % kParams));
  replace_all(text, "x{b}", fmt::format("x{}", step.b % kArguments));
  replace_all(text, "scalar{c}", fmt::format("scalar{}", step.c % kScalars));
  replace_all(text, "{a}", fmt::to_string(step.a));
  replace_all(text, "{b}", fmt::to_string(step.b));
  replace_all(text, "{c}", fmt::to_string(step.c));
  replace_all(text, "{from}", fmt::to_string(step.from));
  return text;
}

std::string to_text(const Given& given) {
  if (given.kind == Given::held) return fmt::format("h{}", given.number);
  return fmt::format("{}data {}", given.kind == Given::short_data ? "short " : "", given.number);
}

std::string to_text(const Action& action) {
  std::string text = kActNames[static_cast<size_t>(action.what)];
  if (action.what <= Act::call_that_throws) {
    replace_all(text, "{b}", to_text(action.x[0]));
    replace_all(text, "{c}", to_text(action.x[1]));
  }
  replace_all(text, "{a}", fmt::to_string(action.a));
  replace_all(text, "{b}", fmt::to_string(action.b));
  replace_all(text, "{c}", fmt::to_string(action.c));
  replace_all(text, "{f}", fmt::to_string(action.f));
  replace_all(text, "{s}", fmt::to_string(action.b % kStates));
  replace_all(text, "{k}", fmt::to_string(action.b % kScalars));
  replace_all(text, "{p}", fmt::to_string(action.b % kParams));
  replace_all(text, "{n}", fmt::to_string(action.number));
  return text;
}

std::string to_text(const Program& program) {
  std::string text;
  for (size_t f = 0; f < program.functions.size(); ++f) {
    const bool called = std::any_of(program.actions.begin(), program.actions.end(), [&](const Action& action) {
      return action.what <= Act::call_that_throws && action.f == f;
    });
    if (!called) continue;
    text += fmt::format("  f{}(x0, x1):  # r0 = x0, r1 = x1, r2 = r3 = 1\n", f);
    for (const Step& step : program.functions[f].steps) text += fmt::format("    {}\n", to_text(step));
    std::vector<std::string> results;
    for (const Result& result : program.functions[f].results) {
      const size_t many = result.what < Gives::state      ? kRegisters
                          : result.what < Gives::argument ? kStates
                                                          : kArguments;
      results.push_back(fmt::format(fmt::runtime(kGivesNames[static_cast<size_t>(result.what)]), result.which % many));
    }
    text += fmt::format("    return {}\n", fmt::join(results, ", "));
  }
  for (size_t i = 0; i < program.actions.size(); ++i)
    text += fmt::format("  {:2}: {}\n", i, to_text(program.actions[i]));
  return text;
}

// ---- interpreting ----

struct Planned : std::exception {};  // what a function throws because the program says so

Tensor small(const Tensor& x) { return clamp(x, -9.0, 9.0); }

// Four rows and four columns, whatever came in: arguments and held tensors may be shorter.
Tensor whole(const Tensor& x) {
  if (x.shape() == Dims{kSide, kSide}) return x;
  if (x.dim() == 2 && x.size(1) == kSide && kSide % x.size(0) == 0)
    return cat(std::vector<Tensor>(static_cast<size_t>(kSide / x.size(0)), x));
  if (x.dim() == 2) return x.slice(0, 0, 1).slice(1, 0, 1) + zeros({kSide, kSide}, Options(DType::f32, x.device()));
  return x.reshape({-1}).slice(0, 0, 1) + zeros({kSide, kSide}, Options(DType::f32, x.device()));
}

Tensor data(size_t number, int64_t rows, Device device) {
  std::mt19937 random(static_cast<uint32_t>(number));
  std::vector<float> values;
  for (int64_t i = 0; i < rows * kSide; ++i) values.push_back(static_cast<float>(static_cast<int>(random() % 7) - 3));
  return from_vector(values, {rows, kSide}, device);
}

enum class Side { captured, plain, reference };

// What a program reads, action by action.
struct Reading {
  size_t action;
  std::string what;
  std::vector<float> values;
};
struct Outcome {
  std::vector<Reading> readings;
  std::vector<bool> threw;  // one per action
  std::string error;        // that nobody planned
};

class World {
 public:
  World(const Program& program, Side side)
      : program_(program),
        side_(side),
        device_(side == Side::reference ? Device("reference") : Device()),
        dropout_(0.5, dropout_stream_),
        counter_(zeros({1}, Options(DType::f32, device_)).clone().eval()) {
    for (size_t i = 0; i < kStates; ++i) states_.push_back(data(100 + i, kSide, device_));
    for (size_t i = 0; i < kParams; ++i) params_.push_back(data(200 + i, kSide, device_).requires_grad_());
    for (size_t i = 0; i < kScalars; ++i) scalars_.emplace_back(static_cast<double>(i) + 1, DType::f32, device_);
    for (size_t i = 0; i < kHeld; ++i) held_.push_back(data(300 + i, kSide, device_));
    for (const Function& function : program.functions) {
      captured_.emplace_back([this, &function](std::span<const Tensor> x) { return call(function, x); });
    }
  }

  // `driven`: which calls threw for the captured side; the others leave those calls out.
  Outcome run(const std::vector<bool>* driven) {
    Outcome outcome;
    outcome.threw.assign(program_.actions.size(), false);
    try {
      for (at_ = 0; at_ < program_.actions.size(); ++at_)
        outcome.threw[at_] = act(program_.actions[at_], driven && (*driven)[at_]);
      read_everything();
    } catch (const std::exception& error) {
      outcome.error = fmt::format("action {}: {}", at_, error.what());
    }
    outcome.readings = std::move(readings_);
    return outcome;
  }

 private:
  std::vector<Tensor> call(const Function& function, std::span<const Tensor> x) {
    std::vector<Tensor> r{whole(x[0]), whole(x[1])};
    while (r.size() < kRegisters) r.push_back(ones({kSide, kSide}, Options(DType::f32, device_)));
    std::vector<bool> has_gradient(kParams, false);
    for (const Step& step : function.steps) take(step, r, x, has_gradient);
    std::vector<Tensor> results;
    for (const Result& result : function.results) {
      const Tensor& value = r[result.which];
      Tensor& state = states_[result.which % kStates];
      const Tensor& argument = x[result.which % kArguments];
      switch (result.what) {
        case Gives::value: results.push_back(value); break;
        case Gives::value_twice: results.insert(results.end(), {value, value}); break;
        case Gives::value_and_view: results.insert(results.end(), {value, value.slice(0, 1, 3)}); break;
        case Gives::state: results.push_back(state); break;
        case Gives::state_rows: results.push_back(state.slice(0, 1, 3)); break;
        case Gives::state_transposed: results.push_back(state.t()); break;
        case Gives::argument: results.push_back(argument); break;
        case Gives::argument_rows: results.push_back(argument.slice(0, 0, 2)); break;
        default: results.push_back(counter_); break;
      }
    }
    return results;
  }

  void take(const Step& step, std::vector<Tensor>& r, std::span<const Tensor> x, std::vector<bool>& has_gradient) {
    Tensor& to = r[step.a];
    const Tensor b = r[step.b], c = r[step.c];
    const size_t p = step.a % kParams;
    const auto state = [&](size_t i) -> Tensor& { return states_[i % kStates]; };
    const auto write = [&](Tensor target, const Tensor& value) {
      const NoGrad writing;
      target.copy_(value);
    };
    switch (step.what) {
      case Do::add: to = small(b + c); break;
      case Do::subtract: to = small(b - c); break;
      case Do::multiply: to = small(b * c); break;
      case Do::larger: to = maximum(b, c); break;
      case Do::product: to = small(matmul(b, c)); break;
      case Do::transpose: to = b.t(); break;
      case Do::row_sums: to = small(b + sum(c, {1}, true)); break;
      case Do::running_sums: to = small(cumsum(b, 0)); break;
      case Do::load_argument: to = whole(x[step.b % kArguments]); break;
      case Do::load_state: to = state(step.b); break;
      case Do::load_rows_of_state: {
        const Tensor rows = state(step.b).slice(0, step.from);
        to = cat({rows, rows, rows, rows}).slice(0, 0, kSide);
        break;
      }
      case Do::load_param: to = params_[step.b % kParams] * 2; break;
      case Do::load_counter: to = whole(counter_); break;
      case Do::times_one: to = b * 1; break;
      case Do::join_one: to = cat({b}); break;
      case Do::reshape_to_itself: to = b.reshape({kSide, kSide}); break;
      case Do::pad_by_nothing: to = pad(b, {0, 0}); break;
      case Do::clone: to = b.clone(); break;
      case Do::scale: to = small(b * scalars_[step.c % kScalars]); break;
      case Do::draw: to = small(b + randint(0, 4, {kSide, kSide}, Options(DType::f32, device_), &generator_)); break;
      case Do::dropout: to = small(dropout_(b)); break;
      case Do::set_state: write(state(step.a), b); break;
      case Do::fill_state: state(step.a).fill_(static_cast<double>(step.c)); break;
      case Do::clear_state: state(step.a).zero_(); break;
      case Do::add_to_state: write(state(step.a), small(state(step.a) + b)); break;
      case Do::set_rows: write(state(step.a).slice(0, step.from), b.slice(0, step.from)); break;
      case Do::set_transposed: write(state(step.a).t(), b); break;
      case Do::set_unsqueezed: write(state(step.a).unsqueeze(0), b); break;
      case Do::set_row: write(state(step.a).select(0, step.from), b.select(0, 0)); break;
      case Do::shift_rows: write(state(step.a).slice(0, 1), state(step.a).slice(0, 0, kSide - 1)); break;
      case Do::count_up: counter_.add_(1); break;
      case Do::backward:
        sum(b * params_[p]).backward(Tensor(), true);
        has_gradient[p] = true;
        break;
      case Do::backward_of_product:
        sum(matmul(b.detach(), params_[p]) * c.detach()).backward(Tensor(), true);
        has_gradient[p] = true;
        break;
      case Do::clear_gradient:
        params_[p].zero_grad();
        has_gradient[p] = false;
        break;
      case Do::update_param:
        if (has_gradient[p]) write(params_[p], small(params_[p] - params_[p].grad()));
        break;
      default:
        if (throws_) throw Planned();
        break;
    }
  }

  Tensor argument(const Given& given) const {
    switch (given.kind) {
      case Given::data: return data(given.number, kSide, device_);
      case Given::short_data: return data(given.number, 2, device_);
      default: return held_[given.number].detach();
    }
  }

  // Returns whether the call threw what was planned.
  bool do_call(const Action& action, bool throws, bool left_out) {
    if (left_out) return true;
    const Tensor x[] = {argument(action.x[0]), argument(action.x[1])};
    const Function& function = program_.functions[action.f];
    std::vector<Tensor> results;
    throws_ = throws && side_ == Side::captured;
    try {
      results = side_ == Side::captured ? captured_[action.f].call(x) : call(function, x);
    } catch (const Planned&) {
      throws_ = false;
      return true;
    }
    throws_ = false;
    if (action.what == Act::call_and_drop) return false;
    for (size_t i = 0; i < results.size(); ++i) held_[(action.a + i) % kHeld] = results[i];
    return false;
  }

  bool act(const Action& action, bool left_out) {
    Tensor& to = held_[action.a];
    const size_t p = action.b % kParams;
    Tensor& state = states_[action.b % kStates];
    const NoGrad around;
    switch (action.what) {
      case Act::call:
      case Act::call_and_drop: {
        const EnableGrad inside;
        return do_call(action, false, left_out);
      }
      case Act::call_that_throws: {
        const EnableGrad inside;
        return do_call(action, true, left_out);
      }
      case Act::read: read("held", to); break;
      case Act::clone: to = held_[action.b].detach().clone(); break;
      case Act::expression: to = small(whole(held_[action.b].detach()) + whole(held_[action.c].detach())); break;
      case Act::view: {
        const Tensor of = held_[action.b].detach();
        to = of.dim() == 2 ? of.slice(0, 0, 2) : of.reshape({-1});
        break;
      }
      case Act::write:
        if (!to.requires_grad()) to.copy_(small(to + 1));
        break;
      case Act::drop: to = data(300, kSide, device_); break;
      case Act::read_state: read("state", state); break;
      case Act::write_state: state.copy_(data(static_cast<size_t>(action.number + 400), kSide, device_)); break;
      case Act::write_rows_of_state: state.slice(0, 1, 3).fill_(static_cast<double>(action.number)); break;
      case Act::hold_state: to = state; break;
      case Act::hold_view_of_state: to = state.slice(0, 1); break;
      case Act::hold_expression_of_state: to = small(state * 2); break;
      case Act::count_up: counter_.add_(1); break;
      case Act::set_scalar: scalars_[action.b % kScalars].set(action.number); break;
      case Act::switch_training: dropout_.train(!dropout_.is_training()); break;
      case Act::draw: to = randint(0, 4, {kSide, kSide}, Options(DType::f32, device_), &generator_); break;
      case Act::read_param: read("param", params_[p]); break;
      case Act::read_gradient:
        if (params_[p].grad().defined()) read("gradient", params_[p].grad());
        break;
      case Act::hold_gradient:
        if (params_[p].grad().defined()) to = params_[p].grad();
        break;
      case Act::clear_gradient: params_[p].zero_grad(); break;
      default: params_[p].copy_(data(static_cast<size_t>(action.number + 500), kSide, device_)); break;
    }
    return false;
  }

  void read(std::string_view what, const Tensor& x) {
    readings_.push_back({at_, std::string(what), x.detach().to_vector<float>()});
  }

  void read_everything() {
    for (const Tensor& one : held_) read("held at the end", one);
    for (const Tensor& one : states_) read("state at the end", one);
    for (const Tensor& one : params_) {
      read("param at the end", one);
      if (one.grad().defined()) read("gradient at the end", one.grad());
    }
    read("counter at the end", counter_);
    for (const Generator* stream : {&generator_, &dropout_stream_})
      readings_.push_back({at_, "position of a stream at the end", {static_cast<float>(stream->position())}});
  }

  const Program& program_;
  Side side_;
  Device device_;
  Generator generator_{7}, dropout_stream_{5};
  nn::Dropout dropout_;
  Tensor counter_;
  std::vector<Tensor> states_, params_, held_;
  std::vector<Scalar> scalars_;
  std::vector<CompiledFunction> captured_;
  std::vector<Reading> readings_;
  size_t at_ = 0;
  bool throws_ = false;
};

// ---- comparing ----

bool has_throw(const Program& program, const Action& action) {
  if (action.what != Act::call_that_throws) return false;
  const auto& steps = program.functions[action.f].steps;
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.what == Do::may_throw; });
}

std::string difference(std::string_view names, const Outcome& a, const Outcome& b, double tolerance) {
  if (!a.error.empty() || !b.error.empty()) {
    if (a.error == b.error) return fmt::format("{}: both fail: {}", names, a.error);
    return fmt::format("{}: '{}' and '{}'", names, a.error, b.error);
  }
  if (a.readings.size() != b.readings.size())
    return fmt::format("{}: {} and {} readings", names, a.readings.size(), b.readings.size());
  for (size_t i = 0; i < a.readings.size(); ++i) {
    const Reading &one = a.readings[i], &other = b.readings[i];
    bool same = one.what == other.what && one.values.size() == other.values.size();
    for (size_t k = 0; same && k < one.values.size(); ++k) {
      const float x = one.values[k], y = other.values[k];
      same = tolerance == 0 ? std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y)
                            : std::abs(x - y) <= tolerance * std::max(1.0f, std::abs(y));
    }
    if (!same) {
      return fmt::format("{}: action {}, {}: {} and {}", names, one.action, one.what, fmt::join(one.values, " "),
                         fmt::join(other.values, " "));
    }
  }
  return {};
}

// What is wrong with a program; empty when nothing is.
std::string fault(const Program& program, bool captures) {
  Outcome captured;
  std::vector<bool> threw;
  if (captures) {
    captured = World(program, Side::captured).run(nullptr);
    threw = captured.threw;
  } else {
    for (const Action& action : program.actions) threw.push_back(has_throw(program, action));
  }
  const Outcome plain = World(program, Side::plain).run(&threw);
  if (captures) {
    const std::string found = difference("captured and plain", captured, plain, 0);
    if (!found.empty()) return found;
  }
  return difference("plain and reference", plain, World(program, Side::reference).run(&threw), 1e-5);
}

Program shortened(Program program, bool captures) {
  const auto fails = [&](const Program& candidate) { return !fault(candidate, captures).empty(); };
  for (bool smaller = true; smaller;) {
    smaller = false;
    const auto drop_from = [&](auto&& list_of, size_t least = 0) {
      for (size_t i = list_of(program).size(); i-- > 0 && list_of(program).size() > least;) {
        Program candidate = program;
        auto& list = list_of(candidate);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        if (!fails(candidate)) continue;
        program = std::move(candidate);
        smaller = true;
      }
    };
    drop_from([](Program & p) -> auto& { return p.actions; });
    for (size_t f = 0; f < kFunctions; ++f) {
      drop_from([f](Program & p) -> auto& { return p.functions[f].steps; });
      drop_from(
          [f](Program & p) -> auto& { return p.functions[f].results; }, 1);
    }
  }
  return program;
}

uint64_t number_from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// A crash cannot be shortened, but it can say which program it was.
std::atomic<uint64_t> seed_now{0};
void say_seed(int signal) {
  char text[64];
  const int length = std::snprintf(text, sizeof(text), "crashed in the program of seed %llu\n",
                                   static_cast<unsigned long long>(seed_now.load()));
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, static_cast<size_t>(length));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run_programs(bool captures, uint64_t count) {
  constexpr size_t kShown = 3;
  const uint64_t first = number_from_environment("TENON_RANDOM_SEED", 1);
  std::printf("%llu programs of seeds %llu to %llu\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + count - 1));
  std::fflush(stdout);
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE}) std::signal(signal, say_seed);
  size_t failed = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    seed_now = seed;
    const Program program = random_program(seed);
    const std::string found = fault(program, captures);
    if (found.empty()) continue;
    if (++failed > kShown) continue;
    const Program less = shortened(program, captures);
    ADD_FAILURE() << "seed " << seed << ": " << found << "\nshortened: " << fault(less, captures) << "\n"
                  << to_text(less);
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE}) std::signal(signal, SIG_DFL);
  EXPECT_EQ(failed, 0u) << "of " << count << " programs";
}

uint64_t programs() { return number_from_environment("TENON_RANDOM_PROGRAMS", 3000); }

// That the programs themselves are sound: a tenth is enough.
TEST(RandomCaptures, PlainProgramsGiveTheSameOnEveryDevice) { run_programs(false, programs() / 10 + 1); }

TEST(RandomCaptures, CapturedFunctionsGiveWhatPlainOnesGive) { run_programs(true, programs()); }

// ---- threads ----

constexpr int kThreads = 4, kCalls = 200;

// What a thread throws is told by the test, not by the end of the process.
void on_threads(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  std::vector<std::string> errors(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      try {
        work(i);
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(i)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

struct Shared {
  Tensor a = data(1, kSide, Device()), b = data(2, kSide, Device());

  std::vector<float> expected(const std::vector<float>& x, double factor) const {
    return (small(matmul(from_vector(x, {kSide, kSide}, Device()), a)) * factor + b).to_vector<float>();
  }
  static std::vector<float> input(int thread, int call) {
    std::vector<float> x;
    for (int i = 0; i < kSide * kSide; ++i) x.push_back(static_cast<float>((i * 7 + thread * 3 + call) % 5 - 2));
    return x;
  }
};

TEST(CapturesOnThreads, DifferentFunctionsShareTheirWeights) {
  const Shared shared;
  std::atomic<int> wrong{0};
  on_threads([&](int thread) {
    const double factor = thread + 1;
    auto f = compile([&](const Tensor& x) { return small(matmul(x, shared.a)) * factor + shared.b; });
    Tensor before;
    std::vector<float> of_before;
    for (int call = 0; call < kCalls; ++call) {
      const std::vector<float> x = Shared::input(thread, call), wanted = shared.expected(x, factor);
      const Tensor result = f(from_vector(x, {kSide, kSide}, Device()));
      if (call % 3 == 0 && result.to_vector<float>() != wanted) ++wrong;
      if (before.defined() && before.to_vector<float>() != of_before) ++wrong;  // read one call late
      before = result;
      of_before = wanted;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(CapturesOnThreads, OneFunctionIsCalledBySeveral) {
  const Shared shared;
  auto f = compile([&](const Tensor& x) { return small(matmul(x, shared.a)) * 2.0 + shared.b; });
  std::atomic<int> wrong{0};
  on_threads([&](int thread) {
    for (int call = 0; call < kCalls; ++call) {
      const std::vector<float> x = Shared::input(thread, call);
      if (f(from_vector(x, {kSide, kSide}, Device())).to_vector<float>() != shared.expected(x, 2.0)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tenon
