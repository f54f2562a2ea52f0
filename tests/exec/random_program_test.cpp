// Thousands of small random programs give the same values lazily, one op at a time, captured, and on other devices.
//
// All numbers are small integers, which every device adds and multiplies exactly: so bits can be compared with the
// reference device too. TENON_PROGRAMS sets how many programs run.

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tenon/exec/inspect.h"
#include "tenon/tenon.h"
#include "tests/plan_check.h"

namespace tenon {
namespace {

constexpr size_t kTensors = 4, kInstructions = 24;
constexpr int64_t kSide = 4;

struct Instruction {
  enum Kind {
    add,
    sub,
    mul,
    max,
    flip,
    turn,
    row_sum,
    product,
    assign,
    add_to,
    shift,
    part,
    rename,
    clone,
    look,
    write_view,
    read
  };
  Kind kind;
  size_t to, a, b;
  int64_t from, size;
};

using Program = std::vector<Instruction>;

Program random_program(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  Program program;
  for (size_t i = 0; i < kInstructions; ++i) {
    const auto kind = static_cast<Instruction::Kind>(below(Instruction::read + 1));
    const auto from = static_cast<int64_t>(below(kSide - 1));
    program.push_back({kind, below(kTensors), below(kTensors), below(kTensors), from,
                       static_cast<int64_t>(1 + below(static_cast<size_t>(kSide - 1 - from)))});
  }
  return program;
}

Tensor small(const Tensor& x) { return clamp(x, -9.0, 9.0); }

// The tensors of a program, and a view that it may hold on to.
struct Memory {
  std::vector<Tensor> t;
  Tensor view;

  explicit Memory(uint32_t seed, std::string_view device) {
    std::mt19937 random(seed);
    for (size_t i = 0; i < kTensors; ++i) {
      std::vector<float> values;
      for (int64_t k = 0; k < kSide * kSide; ++k)
        values.push_back(static_cast<float>(static_cast<int>(random() % 7) - 3));
      t.push_back(from_vector(values, {kSide, kSide}, Device(device)));
    }
    view = t[0].slice(0, 1, 3);
  }
};

enum class Reads { kept, left_out };

// What is read goes to `log`.
void run(const Instruction& in, Memory& m, std::vector<float>& log, Reads reads) {
  std::vector<Tensor>& t = m.t;
  const auto note = [&](const Tensor& x) {
    if (reads == Reads::left_out) return;
    const auto values = x.to_vector<float>();
    log.insert(log.end(), values.begin(), values.end());
  };
  switch (in.kind) {
    case Instruction::add: t[in.to] = small(t[in.a] + t[in.b]); break;
    case Instruction::sub: t[in.to] = small(t[in.a] - t[in.b]); break;
    case Instruction::mul: t[in.to] = small(t[in.a] * t[in.b]); break;
    case Instruction::max: t[in.to] = maximum(t[in.a], t[in.b]); break;
    case Instruction::flip: t[in.to] = tenon::flip(t[in.a], {static_cast<int64_t>(in.b % 2)}) + 0.0; break;
    case Instruction::turn: t[in.to] = t[in.a].t() * 1.0; break;
    case Instruction::row_sum: t[in.to] = small(t[in.a] + sum(t[in.b], {1}, true)); break;
    case Instruction::product: t[in.to] = small(matmul(t[in.a], t[in.b])); break;
    case Instruction::assign: t[in.a].copy_(small(t[in.b] + 1.0)); break;
    case Instruction::add_to: t[in.a].copy_(small(t[in.a] + t[in.b])); break;
    case Instruction::shift:  // a[1:] = a[:-1], and other overlaps
      t[in.a].slice(0, in.from + 1, in.from + 1 + in.size).copy_(t[in.a].slice(0, in.from, in.from + in.size));
      break;
    case Instruction::part: t[in.a].slice(1, in.from, in.from + in.size).copy_(t[in.b].slice(1, 0, in.size)); break;
    case Instruction::rename: t[in.to] = t[in.a]; break;
    case Instruction::clone: t[in.to] = t[in.a].clone(); break;
    case Instruction::look: m.view = t[in.a].slice(0, in.from, in.from + in.size); break;
    case Instruction::write_view: m.view.copy_(small(m.view - 1.0)); break;
    case Instruction::read:
      note(t[in.a]);
      note(m.view);
      break;
  }
}

std::vector<float> all_of(const Memory& m) {
  std::vector<float> values;
  for (const Tensor& one : m.t) {
    const auto part = one.to_vector<float>();
    values.insert(values.end(), part.begin(), part.end());
  }
  const auto part = m.view.to_vector<float>();
  values.insert(values.end(), part.begin(), part.end());
  return values;
}

std::vector<float> result_of(uint32_t seed, std::string_view device, bool eagerly) {
  Memory memory(seed, device);
  std::vector<float> log;
  for (const Instruction& in : random_program(seed)) {
    run(in, memory, log, Reads::kept);
    if (!eagerly) continue;
    for (const Tensor& one : memory.t) wait({one});
    wait({memory.view});
  }
  const auto rest = all_of(memory);
  log.insert(log.end(), rest.begin(), rest.end());
  return log;
}

uint32_t programs() {
  const char* text = std::getenv("TENON_PROGRAMS");
  return text ? static_cast<uint32_t>(std::atoi(text)) : 1000;
}

// While it lives, every new plan is followed byte by byte.
class CheckPlans {
 private:
  exec::WatchPlans watch_{[](const plan::Plan& plan) { ASSERT_EQ(test::fault_in(plan), "") << plan.print(); }};
};

TEST(RandomPrograms, LazyIsEagerOnEveryDevice) {
  const CheckPlans check;
  for (uint32_t seed = 0; seed < programs(); ++seed) {
    const auto expected = result_of(seed, "reference", true);
    ASSERT_EQ(result_of(seed, Device().name(), false), expected) << "lazily, program " << seed;
    ASSERT_EQ(result_of(seed, Device().name(), true), expected) << "op by op, program " << seed;
    ASSERT_EQ(result_of(seed, "cpu_unfused", false), expected) << "unfused, program " << seed;
  }
}

// The program as a captured step on state that stays: tensors of its own are copied back at its end.
TEST(RandomPrograms, CapturedIsUncaptured) {
  const CheckPlans check;
  for (uint32_t seed = 0; seed < programs(); ++seed) {
    const Program program = random_program(seed);
    const auto step = [&](Memory& state) {
      Memory local = state;
      std::vector<float> log;
      for (const Instruction& in : program) run(in, local, log, Reads::left_out);
      std::vector<Tensor> last;
      for (const Tensor& one : local.t) last.push_back(one + 0.5);
      std::vector<Tensor> next;
      for (const Tensor& one : local.t) next.push_back(one * 1.0 + 0.0);
      for (size_t i = 0; i < kTensors; ++i) state.t[i].copy_(next[i]);
      return last;
    };
    Memory plain(seed, Device().name()), captured(seed, Device().name());
    for (Memory* m : {&plain, &captured}) {
      for (const Tensor& one : m->t) wait({one});
      m->view = m->t[0].slice(0, 1, 3);
    }
    auto compiled = compile([&] { return step(captured); });
    for (int call = 0; call < 5; ++call) {
      const std::vector<Tensor> expected = step(plain), made = compiled();
      for (size_t i = 0; i < kTensors; ++i) {
        ASSERT_EQ(made[i].to_vector<float>(), expected[i].to_vector<float>())
            << "program " << seed << ", call " << call;
      }
    }
    ASSERT_EQ(all_of(captured), all_of(plain)) << "program " << seed;
  }
}

// ---- training steps ----

// Weights, and what an optimizer keeps of each. Gradients are halves where two values are equal, and exact too.
struct Model {
  std::vector<Tensor> w, m;

  Model(uint32_t seed, std::string_view device) {
    Memory numbers(seed, device);
    for (size_t i = 0; i < 2; ++i) {
      w.push_back(numbers.t[i].eval().requires_grad_());
      m.push_back(numbers.t[i + 2].eval());
    }
  }

  std::vector<float> values() const {
    std::vector<float> all;
    const auto add = [&](const Tensor& x) {
      const auto part = x.to_vector<float>();
      all.insert(all.end(), part.begin(), part.end());
    };
    for (size_t i = 0; i < w.size(); ++i) {
      add(w[i]);
      add(m[i]);
      if (w[i].grad().defined()) add(w[i].grad());
    }
    return all;
  }
};

Tensor random_term(std::mt19937& random, const std::vector<Tensor>& w) {
  const Tensor &a = w[random() % w.size()], &b = w[random() % w.size()];
  switch (random() % 10) {
    case 0: return minimum(a.detach(), abs(b));
    case 1: return maximum(a, b.detach());
    case 2: return relu(a) * b.detach();
    case 3: return a * b;
    case 4: return matmul(a, b);
    case 5: return a.slice(0, 1, 3) * b.slice(0, 0, 2).detach();
    case 6: return where(a.detach() > b.detach(), abs(a), b);
    case 7: return a.t() * b.detach();
    case 8: return abs(a) + flip(b.detach(), {0}) * b;
    default: return a.sum({1}) * b.detach().sum({0});
  }
}

void random_update(std::mt19937& random, Tensor w, Tensor m) {
  switch (random() % 7) {
    case 0: w.sub_(w.grad()); break;
    case 1: w.copy_(small(w - w.grad())); break;
    case 2:
      m.copy_(small(m + w.grad()));
      w.sub_(m);
      break;
    case 3: w.slice(0, 0, 2).sub_(w.grad().slice(0, 1, 3)); break;
    case 4: {
      const Tensor next = small(w - w.grad());
      w.copy_(next);
      m.copy_(minimum(next, w) + w.slice(0, 1, 2));
      break;
    }
    case 5: w.detach().t().add_(m); break;
    default: m.add_(w.grad()); break;
  }
}

// The steps of a seed; `each` is called behind every one.
template <typename Each>
void train(uint32_t seed, Model& model, const Each& each) {
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const size_t steps = 1 + below(4);
  const uint32_t loss_seed = static_cast<uint32_t>(random()), update_seed = static_cast<uint32_t>(random());
  const bool alike = below(2) == 0;  // the same step again and again, as training does
  for (size_t step = 0; step < steps; ++step) {
    std::mt19937 loss_random(alike ? loss_seed : static_cast<uint32_t>(random()));
    std::mt19937 update_random(alike ? update_seed : static_cast<uint32_t>(random()));
    Tensor loss = random_term(loss_random, model.w).sum();
    for (size_t terms = loss_random() % 3; terms > 0; --terms) loss = loss + random_term(loss_random, model.w).sum();
    if (loss.requires_grad()) loss.backward();
    NoGrad no_grad;
    for (size_t i = 0; i < model.w.size(); ++i) {
      if (!model.w[i].grad().defined()) continue;
      random_update(update_random, model.w[i], model.m[i]);
      if (update_random() % 3 == 0) model.w[i].zero_grad();
      model.w[i].copy_(small(model.w[i]));
      model.m[i].copy_(small(model.m[i]));
    }
    each();
  }
}

std::vector<float> trained(uint32_t seed, std::string_view device, bool step_by_step) {
  Model model(seed, device);
  for (int round = 0; round < 2; ++round) {
    train(seed, model, [&] {
      if (step_by_step) model.values();
    });
    model.values();
  }
  return model.values();
}

// They are longer, and take as many times as long.
uint32_t training_programs() { return programs() / 4 + 1; }

TEST(RandomPrograms, StepsThatNobodyReadsTrainAlike) {
  const CheckPlans check;
  for (uint32_t seed = 0; seed < training_programs(); ++seed) {
    const auto expected = trained(seed, "reference", true);
    ASSERT_EQ(trained(seed, Device().name(), false), expected) << "at once, program " << seed;
    ASSERT_EQ(trained(seed, Device().name(), true), expected) << "step by step, program " << seed;
    ASSERT_EQ(trained(seed, "cpu_unfused", false), expected) << "unfused, program " << seed;
  }
}

TEST(RandomPrograms, CapturedStepsTrainAlike) {
  const CheckPlans check;
  for (uint32_t seed = 0; seed < training_programs(); ++seed) {
    Model plain(seed, Device().name()), captured(seed, Device().name());
    for (Model* model : {&plain, &captured}) {  // captured functions want gradients to come and go
      for (Tensor& w : model->w) w.zero_grad();
    }
    const auto steps = [&](Model& model) {
      train(seed, model, [] {});
      for (Tensor& w : model.w) w.zero_grad();
      return model.w[0].detach() * 1.0;
    };
    auto compiled = compile([&] { return steps(captured); });
    for (int call = 0; call < 4; ++call) {
      const Tensor expected = steps(plain);
      ASSERT_EQ(compiled().to_vector<float>(), expected.to_vector<float>()) << "program " << seed << ", call " << call;
    }
    ASSERT_EQ(captured.values(), plain.values()) << "program " << seed;
  }
}

}  // namespace
}  // namespace tenon
