// Thousands of small random programs give the same values lazily, one op at a time, captured, and on other devices.
//
// All numbers are small integers, which every device adds and multiplies exactly: so bits can be compared with the
// reference device too. TENON_PROGRAMS sets how many programs run.

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tenon/tenon.h"

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

TEST(RandomPrograms, LazyIsEagerOnEveryDevice) {
  for (uint32_t seed = 0; seed < programs(); ++seed) {
    const auto expected = result_of(seed, "reference", true);
    ASSERT_EQ(result_of(seed, Device().name(), false), expected) << "lazily, program " << seed;
    ASSERT_EQ(result_of(seed, Device().name(), true), expected) << "op by op, program " << seed;
    ASSERT_EQ(result_of(seed, "cpu_unfused", false), expected) << "unfused, program " << seed;
  }
}

// The program as a captured step on state that stays: tensors of its own are copied back at its end.
TEST(RandomPrograms, CapturedIsUncaptured) {
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

}  // namespace
}  // namespace tenon
