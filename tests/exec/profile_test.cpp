// What profiles show: modules and passes of launches, times that add up, traces that nest; on every device that is
// there.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/tenon.h"
#include "tests/test_name.h"

namespace tenon {
namespace {

using Events = std::vector<ProfileEvent>;
using Names = std::set<std::string>;

class ProfiledNet : public nn::ModuleOf<ProfiledNet> {
 public:
  explicit ProfiledNet(int64_t width) : first_(width, width), second_(width, width) {
    register_module("first", first_);
    register_module("second", second_);
  }
  Tensor forward(const Tensor& x) const { return second_(relu(first_(x))); }

 private:
  nn::Linear first_, second_;
};

// A training step of a small network.
struct ProfiledTraining {
  ProfiledNet net;
  optim::AdamW optimizer;
  Tensor x, y;

  ProfiledTraining(Device device, int64_t width, int64_t rows)
      : net(width),
        optimizer((net.to(device), net.parameters())),
        x(rand({rows, width}, Options(device)).eval()),
        y(rand({rows, width}, Options(device)).eval()) {}

  Tensor step(const Tensor& from, const Tensor& to) {
    Tensor loss = nn::mse_loss(net(from), to);
    loss.backward();
    optimizer.clip_grad_norm(1);
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  }
};

Events launches_in(const Profile& profile) {
  Events kernels = profile.events();
  std::erase_if(kernels, [](const ProfileEvent& one) { return one.kind != ProfileEvent::Kind::launch; });
  return kernels;
}
Names modules_of(const Events& events) {
  Names names;
  for (const ProfileEvent& event : events) names.insert(event.module);
  return names;
}
Names passes_of(const Events& events) {
  Names names;
  for (const ProfileEvent& event : events) names.insert(event.pass);
  return names;
}

// ---- labels ----

TEST(Labels, AreThePathAndThePassInWhichSomethingIsRecorded) {
  EXPECT_EQ(base::label(), 0u);
  const base::Scope model("gpt");
  const base::Label forward = base::label();
  {
    const base::Scope layer("h.0");
    const base::PassScope pass(base::Pass::optimizer);
    EXPECT_EQ(base::path_of(base::label()), "gpt.h.0");
    EXPECT_EQ(base::pass_of(base::label()), base::Pass::optimizer);
  }
  EXPECT_EQ(base::label(), forward);
  EXPECT_EQ(base::path_of(forward), "gpt");
  EXPECT_EQ(base::pass_of(forward), base::Pass::forward);
}

TEST(Labels, AGradientHasThePathOfWhatItIsTheGradientOf) {
  base::Label inside = 0;
  {
    const base::Scope model("gpt"), layer("mlp");
    inside = base::label();
  }
  const base::Scope elsewhere("elsewhere");
  const base::LabelScope of_gradient(inside, base::Pass::backward);
  EXPECT_EQ(base::path_of(base::label()), "gpt.mlp");
  EXPECT_EQ(base::pass_of(base::label()), base::Pass::backward);
  EXPECT_EQ(base::scope_path(), "gradient of gpt.mlp");
  const base::Scope part("act");
  EXPECT_EQ(base::path_of(base::label()), "gpt.mlp.act");
}

// ---- profiles, on every device ----

class ProfileOn : public testing::TestWithParam<std::string> {
 protected:
  Device device_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Devices, ProfileOn, testing::ValuesIn([] {
                           std::vector<std::string> names = device::names();
                           std::erase_if(names, [](const std::string& name) {
                             return name == "null" || name.ends_with("_unfused") || name.find(':') != name.npos;
                           });
                           return names;
                         }()),
                         [](const auto& one) { return test_name(one.param); });

TEST_P(ProfileOn, ShowsModulesAndPassesOfAStep) {
  ProfiledTraining training(device_, 16, 4);
  Profile profile;
  for (int i = 0; i < 2; ++i) wait({training.step(training.x, training.y)});
  profile.stop();
  const Events kernels = launches_in(profile);
  EXPECT_TRUE(modules_of(kernels).contains("first")) << profile.table();
  EXPECT_TRUE(modules_of(kernels).contains("second")) << profile.table();
  EXPECT_EQ(passes_of(kernels), (Names{"forward", "backward", "optimizer"})) << profile.table();
}

TEST_P(ProfileOn, ShowsTheSameOfACapturedStepThatWasRecordedBefore) {
  ProfiledTraining training(device_, 16, 4);
  auto step = compile([&](const Tensor& x, const Tensor& y) { return training.step(x, y); });
  for (int i = 0; i < 4; ++i) wait({step(training.x, training.y)});
  Profile profile;
  const size_t replays = stats().replays;
  for (int i = 0; i < 3; ++i) wait({step(training.x, training.y)});
  EXPECT_EQ(stats().replays - replays, 3u);
  profile.stop();
  const Events kernels = launches_in(profile);
  EXPECT_TRUE(modules_of(kernels).contains("first")) << profile.table();
  EXPECT_TRUE(modules_of(kernels).contains("second")) << profile.table();
  EXPECT_EQ(passes_of(kernels), (Names{"forward", "backward", "optimizer"})) << profile.table();
  EXPECT_EQ(kernels.size() % 3, 0u);
}

TEST_P(ProfileOn, KernelsFollowOneAnotherWithinTheProfile) {
  ProfiledTraining training(device_, 16, 4);
  wait({training.step(training.x, training.y)});
  Profile profile;
  wait({training.step(training.x, training.y)});
  profile.stop();
  const Events kernels = launches_in(profile);
  ASSERT_FALSE(kernels.empty());
  uint64_t end = 0;
  for (const ProfileEvent& one : kernels) {
    EXPECT_GE(one.begin_ns, end) << one.detail;
    EXPECT_GE(one.end_ns, one.begin_ns) << one.detail;
    end = one.end_ns;
  }
  EXPECT_LE(end, profile.wall_ns() + 1'000'000);  // a device's clock is known to some microseconds
}

TEST_P(ProfileOn, ResultsAreThoseOfTheStepWithoutIt) {
  const auto losses = [&](bool is_profiled) {
    manual_seed(3);
    ProfiledTraining training(device_, 16, 4);
    auto step = compile([&](const Tensor& x, const Tensor& y) { return training.step(x, y); });
    std::vector<float> seen;
    std::optional<Profile> profile;
    for (int i = 0; i < 8; ++i) {
      if (is_profiled && i == 3) profile.emplace();
      seen.push_back(step(training.x, training.y).item<float>());
      if (i == 5) profile.reset();
    }
    return seen;
  };
  EXPECT_EQ(losses(true), losses(false));
}

// ---- plans that several graphs share ----

TEST(Profile, AModuleHasItsOwnNameThoughThePlanWasMadeForAnother) {
  const Tensor a = rand({32, 32}).eval(), b = rand({32, 32}).eval();
  const auto run_in = [](const std::string& name, const Tensor& x) {
    const base::Scope module(name);
    wait({softmax(matmul(x, x), -1)});
  };
  run_in("h.0", a);
  const size_t planned = stats().plan_misses;
  Profile profile;
  run_in("h.1", b);
  profile.stop();
  EXPECT_EQ(stats().plan_misses, planned);
  EXPECT_EQ(modules_of(launches_in(profile)), Names{"h.1"});
}

TEST(Profile, LayersOfOneGraphKeepTheirNames) {
  const auto run_in = [](const std::string& model, const Tensor& x) {
    Tensor y = x;
    for (const char* layer : {"h.0", "h.1"}) {
      const base::Scope outer(model), inner(layer);
      y = matmul(y, y);
    }
    wait({y});
  };
  const Tensor a = rand({24, 24}).eval(), b = rand({24, 24}).eval();
  run_in("one", a);
  Profile profile;
  run_in("two", b);
  profile.stop();
  const Events kernels = launches_in(profile);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].module, "two.h.0");
  EXPECT_EQ(kernels[1].module, "two.h.1");
}

// ---- time ----

// Kernels and the gaps between them, from the begin of the profile to its end.
void expect_to_add_up(bool is_captured) {
  using Clock = std::chrono::steady_clock;
  ProfiledTraining training(Device("cpu"), 256, 256);
  auto captured = compile([&](const Tensor& x, const Tensor& y) { return training.step(x, y); });
  const auto step = [&](const Tensor& x, const Tensor& y) {
    return is_captured ? captured(x, y) : training.step(x, y);
  };
  for (int i = 0; i < 5; ++i) wait({step(training.x, training.y)});
  Profile profile;
  const auto start = Clock::now();
  for (int i = 0; i < 20; ++i) wait({step(training.x, training.y)});
  profile.stop();
  const auto wall = static_cast<double>(std::chrono::nanoseconds(Clock::now() - start).count());
  const Events kernels = launches_in(profile);
  double busy = 0, gaps = 0;
  uint64_t end = 0;
  for (const ProfileEvent& one : kernels) {
    ASSERT_GE(one.begin_ns, end);
    busy += static_cast<double>(one.end_ns - one.begin_ns);
    gaps += static_cast<double>(one.begin_ns - end);
    end = one.end_ns;
  }
  gaps += static_cast<double>(profile.wall_ns() - end);
  EXPECT_NEAR(busy + gaps, wall, 0.03 * wall);
  EXPECT_GT(busy, 0) << profile.table();
}

TEST(Profile, TimesOfAStepAddUpToItsWallClock) { expect_to_add_up(false); }
TEST(Profile, TimesOfACapturedStepAddUpToItsWallClock) { expect_to_add_up(true); }

TEST(Profile, NothingIsMeasuredAfterItStopped) {
  Profile profile;
  wait({rand({8}) + 1});
  profile.stop();
  const size_t before = profile.events().size();
  EXPECT_GT(before, 0u);
  wait({rand({8}) + 2});
  EXPECT_EQ(profile.events().size(), before);
  profile.start();
  wait({rand({8}) + 3});
  profile.stop();
  EXPECT_GT(profile.events().size(), before);
}

TEST(Profile, CountsTheOperationsOfProducts) {
  const Tensor a = rand({32, 48}).eval(), b = rand({48, 16}).eval();
  Profile profile;
  wait({matmul(a, b)});
  profile.stop();
  const Events kernels = launches_in(profile);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "contract");
  EXPECT_EQ(kernels[0].flops, 2.0 * 32 * 48 * 16);
  EXPECT_EQ(kernels[0].bytes, 4u * (32 * 48 + 48 * 16 + 32 * 16));
}

TEST(Profile, ShowsTransfersAndTheHost) {
  const Device device("remote");
  Profile profile;
  {
    const ProfileRange range("a part of the program");
    const Tensor x = from_vector(std::vector<float>(5000, 1), {5000}).to(device);
    sum(x).item<float>();
  }
  profile.stop();
  Names names;
  for (const ProfileEvent& one : profile.events()) names.insert(one.name);
  for (const char* name : {"upload", "download", "a part of the program", "plan", "compile", "run", "wait"})
    EXPECT_TRUE(names.contains(name)) << name << "\n" << profile.table();
}

TEST(Profile, ReplaysOfADeviceThatRunsByItselfCostTheHostTime) {
  const Device device("remote");
  const Tensor x = rand({64, 64}, Options(device)).eval();
  auto twice = compile([](const Tensor& v) { return v * 2; });
  for (int i = 0; i < 4; ++i) wait({twice(x)});
  const Stats before = stats();
  for (int i = 0; i < 10; ++i) twice(x);
  EXPECT_EQ(stats().replays - before.replays, 10u);
  EXPECT_GT(stats().host_ns, before.host_ns);
  synchronize();
}

// ---- tables and traces ----

TEST(Profile, TheTableHasKindsShapesModulesPassesAndTheHost) {
  ProfiledTraining training(Device("cpu"), 16, 4);
  Profile profile;
  wait({training.step(training.x, training.y)});
  profile.stop();
  const std::string table = profile.table(Profile::Sort::total, 0);
  for (const char* part : {"by kind, on cpu", "by kind and shape, on cpu", "by module, on cpu", "by pass, on cpu",
                           "on the host", "contract f32(4, 16) f32(16, 16)", "  first\n", "  backward\n", "  run\n"})
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
}

TEST(Profile, TheTraceIsJsonWhoseEventsNest) {
  ProfiledTraining training(Device("cpu"), 16, 4);
  auto step = compile([&](const Tensor& x, const Tensor& y) { return training.step(x, y); });
  Profile profile;
  {
    const ProfileRange range("a \"quoted\" range");
    for (int i = 0; i < 4; ++i) wait({step(training.x, training.y)});
  }
  profile.stop();
  const auto trace = nlohmann::json::parse(profile.chrome_trace());
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
  Names names;
  for (const auto& event : trace.at("traceEvents")) {
    names.insert(event.at("name"));
    if (event.at("ph") != "X") continue;
    const double begin = event.at("ts"), end = begin + event.at("dur").get<double>();
    auto& open = tracks[{event.at("pid"), event.at("tid")}];
    constexpr double kRounding = 1e-3;
    while (!open.empty() && open.back().second <= begin + kRounding) open.pop_back();
    if (!open.empty()) {
      EXPECT_LE(end, open.back().second + kRounding) << event;
    }
    open.emplace_back(begin, end);
  }
  EXPECT_EQ(tracks.size(), 2u);  // the host and the cpu
  EXPECT_TRUE(names.contains("a \"quoted\" range"));
  EXPECT_TRUE(names.contains("contract (first)"));
}

// ---- memory ----

ProfileMemory most(const Profile& profile, uint64_t ProfileMemory::*member) {
  ProfileMemory found;
  for (const ProfileMemory& at : profile.memory()) {
    if (at.device == "cpu" && at.*member >= found.*member) found = at;
  }
  return found;
}

TEST(Profile, MemoryIsToldApartByWhatHoldsIt) {
  ProfiledTraining training(Device("cpu"), 256, 512);
  auto step = compile([&](const Tensor& x, const Tensor& y) { return training.step(x, y); });
  for (int i = 0; i < 4; ++i) wait({step(training.x, training.y)});
  Profile profile;
  for (int i = 0; i < 2; ++i) wait({step(training.x, training.y)});
  profile.stop();
  constexpr uint64_t kWeights = 2 * (256 * 256 + 256) * 4, kMatrix = 512 * 256 * 4;
  EXPECT_GE(most(profile, &ProfileMemory::weights).weights, kWeights);
  EXPECT_GE(most(profile, &ProfileMemory::moments).moments, 2 * kWeights);
  EXPECT_GE(most(profile, &ProfileMemory::gradients).gradients, kWeights / 2);
  EXPECT_GE(most(profile, &ProfileMemory::kept).kept, kMatrix);  // relu(first(x))
  EXPECT_GT(most(profile, &ProfileMemory::scratch).scratch, 0u);
  EXPECT_GE(most(profile, &ProfileMemory::values).values, 2 * kMatrix);
  for (const ProfileMemory& at : profile.memory()) {
    if (at.device == "cpu" && at.planned_peak > 0) {
      EXPECT_LE(at.in_all() - at.pool - at.reserve, at.planned_peak);
    }
  }
}

TEST(Profile, ActivationsAreKeptUntilTheBackwardPassHasReadThem) {
  ProfiledTraining training(Device("cpu"), 256, 512);
  auto step = compile([&](const Tensor& x, const Tensor& y) { return training.step(x, y); });
  for (int i = 0; i < 4; ++i) wait({step(training.x, training.y)});
  Profile profile;
  wait({step(training.x, training.y)});
  profile.stop();
  const Events kernels = launches_in(profile);
  const auto kept_at = [&](uint64_t at_ns) {
    uint64_t kept = 0;
    for (const ProfileMemory& at : profile.memory()) {
      if (at.device == "cpu" && at.at_ns <= at_ns) kept = at.kept;
    }
    return kept;
  };
  uint64_t at_backward = 0;
  for (const ProfileEvent& one : kernels) {
    if (one.pass == "backward" && at_backward == 0) at_backward = kept_at(one.begin_ns);
  }
  ASSERT_EQ(kernels.back().pass, "optimizer");
  EXPECT_GT(at_backward, 0u);
  EXPECT_LT(kept_at(kernels.back().begin_ns), at_backward);
}

TEST(Profile, AnAllocationIsSeenWithItsBytes) {
  trim_memory();
  Profile profile;
  uint64_t held = 0;
  {
    const Tensor large = rand({1 << 20}, Options(Device("cpu"))).eval();
    synchronize();
    held = most(profile, &ProfileMemory::values).values;
  }
  profile.stop();
  EXPECT_GE(held, uint64_t{4} << 20);
  EXPECT_LE(profile.memory().back().values, held - (uint64_t{4} << 20));
  bool is_seen = false;
  for (const ProfileEvent& one : profile.events())
    is_seen = is_seen || ((one.name == "allocate" || one.name == "reuse") && one.bytes >= (uint64_t{4} << 20));
  EXPECT_TRUE(is_seen) << profile.table();
}

TEST(Profile, TheTraceHasMemoryAsCountersThatAddUp) {
  Profile profile;
  const Tensor large = rand({1 << 18}).eval();
  profile.stop();
  const auto trace = nlohmann::json::parse(profile.chrome_trace());
  const ProfileMemory last = profile.memory().back();
  nlohmann::json found;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "C" && event.at("name") == "memory") found = event.at("args");
  }
  ASSERT_TRUE(found.is_object());
  uint64_t sum = 0;
  for (const auto& [name, bytes] : found.items()) sum += bytes.get<uint64_t>();
  EXPECT_EQ(sum, last.in_all());
  EXPECT_EQ(trace.at("tenon").at("version"), 1);
  EXPECT_EQ(trace.at("tenon").at("devices").at(0).at("name"), "cpu");
}

TEST(Profile, SaysWhichLibraryComputesAProduct) {
  const Tensor a = rand({512, 512}).eval();
  Profile profile;
  wait({matmul(a, a)});
  profile.stop();
  const Events kernels = launches_in(profile);
  ASSERT_EQ(kernels.size(), 1u);
#if defined(__x86_64__)
  EXPECT_TRUE(kernels[0].library == "oneDNN" || kernels[0].library.empty()) << kernels[0].library;
#else
  EXPECT_EQ(kernels[0].library, "");
#endif
}

// ---- notes ----

TEST(Profile, NotesWhyACapturedFunctionIsNotReplayed) {
  float factor = 1;
  auto varies = compile([&](const Tensor& v) { return factor > 3 ? v * v : v + 1; });
  const Tensor x = rand({8}).eval();
  testing::internal::CaptureStderr();
  for (int i = 0; i < 12; ++i) {
    try {
      wait({varies(x)});
    } catch (const Error&) {
    }
    factor += 1;
  }
  testing::internal::GetCapturedStderr();
  Profile profile;
  wait({varies(x)});
  profile.stop();
  size_t notes = 0;
  for (const ProfileEvent& one : profile.events()) notes += one.kind == ProfileEvent::Kind::note;
  EXPECT_EQ(notes, 1u);
  EXPECT_NE(profile.table().find("1 times not captured: "), std::string::npos) << profile.table();
}

}  // namespace
}  // namespace tenon
