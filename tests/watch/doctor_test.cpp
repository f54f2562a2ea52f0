// The doctor: each advice where it is due, and none where a step keeps its device busy. Programs are run where the cpu
// shows it; what only a GPU shows is made up.

#include "tenon/watch/doctor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tenon/tenon.h"
#include "tests/watch/support.h"

namespace tenon::watch {
namespace {

using About = Advice::About;
using Kind = ProfileEvent::Kind;

// Steps of a GPU in which one kernel of half a millisecond follows another.
struct MadeUpProfile {
  ProfileView view;
  std::string device = "cuda:0";
  uint64_t at_us = 0;

  MadeUpProfile() { view.devices.push_back({device, "a chip", uint64_t{80} << 30, true, true}); }

  ProfileEvent& add(Kind kind, const std::string& name, uint64_t us, const std::string& on = {}) {
    ProfileEvent event;
    event.kind = kind;
    event.name = event.detail = name;
    event.device = on;
    event.begin_ns = at_us * 1000;
    event.end_ns = (at_us + us) * 1000;
    view.events.push_back(event);
    view.wall_ns = std::max(view.wall_ns, event.end_ns);
    return view.events.back();
  }
  ProfileEvent& kernel(const std::string& name, const std::string& operands, uint64_t us) {
    ProfileEvent& made = add(Kind::launch, name, us, device);
    made.detail = name + " " + operands;
    made.library = name == "contract" ? "cuBLASLt" : "";
    at_us += us;
    return made;
  }
  void idle(const std::string& host, uint64_t us) {
    add(Kind::host, host, us);
    at_us += us;
  }
  void hold(uint64_t bytes) {
    ProfileMemory now;
    now.device = device;
    now.kept = bytes;
    view.memory.push_back(now);
  }
  void healthy(int steps = 5) {
    for (int step = 0; step < steps; ++step) {
      add(Kind::host, "replay", 10);
      for (int i = 0; i < 10; ++i) kernel("contract", "bf16(4096, 768) bf16(768, 768) -> bf16(4096, 768)", 500);
      idle("wait", 20);
    }
  }
};

std::vector<About> abouts_of(const std::vector<Advice>& all) {
  std::vector<About> abouts;
  for (const Advice& one : all) abouts.push_back(one.about);
  return abouts;
}
bool advises(const ProfileView& view, About about) {
  const std::vector<About> all = abouts_of(advice(view));
  return std::ranges::find(all, about) != all.end();
}
void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(Doctor, AStepThatKeepsItsDeviceBusyGetsNoAdvice) {
  MadeUpProfile made;
  made.healthy();
  made.hold(uint64_t{40} << 30);
  EXPECT_EQ(abouts_of(advice(made.view)), std::vector<About>{}) << advice_text(made.view);
  EXPECT_NE(advice_text(made.view).find("nothing stands out"), std::string::npos);
}

TEST(Doctor, ACapturedProgramOfTheCpuThatIsBusyGetsNoAdvice) {
  const Tensor x = rand({512, 512}).eval();
  auto product = compile([](const Tensor& v) { return matmul(matmul(v, v), v); });
  for (int i = 0; i < 4; ++i) wait({product(x)});
  Profile profile;
  for (int i = 0; i < 5; ++i) wait({product(x)});
  profile.stop();
  const ProfileView view = view_of(profile);
  EXPECT_EQ(abouts_of(advice(view)), std::vector<About>{}) << advice_text(view);
}

TEST(Doctor, NothingThatRanIsNoFailure) {
  EXPECT_EQ(advice(ProfileView{}).size(), 0u);
  EXPECT_NE(advice_text(ProfileView{}).find("nothing ran on any device"), std::string::npos);
}

TEST(Doctor, ALoaderThatTheDeviceWaitsForIsNamed) {
  Profile profile;
  const Tensor x = rand({64, 64}).eval();
  for (int i = 0; i < 3; ++i) {
    {
      const ProfileRange range("data");
      sleep_ms(30);
    }
    wait({matmul(x, x)});
  }
  profile.stop();
  const std::vector<Advice> all = advice(view_of(profile));
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].about, About::data);
  EXPECT_GT(all[0].share, 0.5);
  EXPECT_NE(all[0].figure.find("nothing ran on cpu while the host made a batch"), std::string::npos) << all[0].figure;
}

TEST(Doctor, WhyAFunctionIsNotReplayedIsSaid) {
  float factor = 1;
  auto varies = compile([&](const Tensor& v) { return v * (factor > 3 ? v : v + 1) * factor; });
  const Tensor x = rand({8, 8}).eval();
  const auto step = [&] {
    try {
      wait({varies(x)});
    } catch (const Error&) {
    }
    factor += 1;
  };
  testing::internal::CaptureStderr();
  for (int i = 0; i < 12; ++i) step();
  testing::internal::GetCapturedStderr();
  Profile profile;
  for (int i = 0; i < 3; ++i) step();
  profile.stop();
  const ProfileView view = view_of(profile);
  ASSERT_TRUE(advises(view, About::not_captured)) << advice_text(view);
  EXPECT_NE(advice_text(view).find("A captured function is called every time instead of being replayed: "),
            std::string::npos)
      << advice_text(view);
}

TEST(Doctor, ALoopWithoutCaptureIsAdvisedToHaveOne) {
  const Tensor x = rand({4, 4}).eval();
  Profile profile;
  for (int i = 0; i < 50; ++i) wait({tanh(matmul(x, x) + 1)});
  profile.stop();
  const ProfileView view = view_of(profile);
  ASSERT_TRUE(advises(view, About::not_captured)) << advice_text(view);
  EXPECT_NE(advice_text(view).find("Capture the step"), std::string::npos);
}

TEST(Doctor, ShapesThatChangeAreNamed) {
  Profile profile;
  for (int64_t i = 0; i < 6; ++i) {
    Tensor x = ones({3 + i, 5});
    for (int j = 0; j < 20; ++j) x = tanh(x.slice(0, 0, 3 + i) + x) * 0.5 + sum(x, {0}, true);
    wait({x});
  }
  profile.stop();
  EXPECT_TRUE(advises(view_of(profile), About::replanned)) << advice_text(view_of(profile));
}

TEST(Doctor, CodeOfTheProgramThatTheDeviceWaitsForIsNamed) {
  const Tensor x = rand({64, 64}).eval();
  auto product = compile([](const Tensor& v) { return matmul(v, v); });
  for (int i = 0; i < 4; ++i) wait({product(x)});
  Profile profile;
  for (int i = 0; i < 3; ++i) {
    wait({product(x)});
    sleep_ms(20);
  }
  profile.stop();
  EXPECT_EQ(advice(view_of(profile)).at(0).about, About::own_code) << advice_text(view_of(profile));
}

TEST(Doctor, AHostThatCannotKeepUpIsNamed) {
  MadeUpProfile made;
  for (int i = 0; i < 20; ++i) {
    made.idle("replay", 60);
    made.kernel("fused add", "rows", 40);
  }
  EXPECT_EQ(advice(made.view).at(0).about, About::host) << advice_text(made.view);
}

TEST(Doctor, KernelsThatAreTooShortAreNamed) {
  MadeUpProfile made;
  for (int i = 0; i < 200; ++i) made.kernel("fused add", "rows", 3);
  const std::vector<Advice> all = advice(made.view);
  ASSERT_EQ(abouts_of(all), std::vector<About>{About::small});
  EXPECT_EQ(all[0].figure, "200 of 200 kernels, 100 % of their time, take less than 8 us; 3.0 us on average");
}

TEST(Doctor, ProductsInF32AreNamedWhereBf16IsQuicker) {
  MadeUpProfile made;
  for (int i = 0; i < 20; ++i) made.kernel("contract", "f32(4096, 768) f32(768, 768) -> f32(4096, 768)", 500);
  EXPECT_EQ(abouts_of(advice(made.view)), std::vector<About>{About::precision});
  made.view.devices[0].has_quick_bf16 = false;
  EXPECT_EQ(abouts_of(advice(made.view)), std::vector<About>{});
}

TEST(Doctor, MemoryNearItsLimitIsNamed) {
  MadeUpProfile made;
  made.healthy();
  made.hold(uint64_t{78} << 30);
  const std::vector<Advice> all = advice(made.view);
  ASSERT_EQ(abouts_of(all), std::vector<About>{About::memory});
  EXPECT_EQ(all[0].figure, "78.00 of 80.00 GiB are in use at the peak; most of it, 78.00 GiB, kept activations");
}

TEST(Doctor, TheLimitThatAProgramSetsCounts) {
  trim_memory();
  set_memory_limit(memory_stats(Device("cpu")).live_bytes + (size_t{8} << 20), Device("cpu"));
  Profile profile;
  const Tensor large = rand({1'990'000}).eval();
  profile.stop();
  const ProfileView view = view_of(profile);
  set_memory_limit(0, Device("cpu"));
  EXPECT_TRUE(advises(view, About::memory)) << advice_text(view);
}

TEST(Doctor, WhatADeviceHasNoKernelForIsNamed) {
  MadeUpProfile made;
  made.healthy();
  made.add(Kind::note, "taken apart", 0).detail = "conv";
  const std::vector<Advice> all = advice(made.view);
  ASSERT_EQ(abouts_of(all), std::vector<About>{About::fallback});
  EXPECT_NE(all[0].text.find("cuda:0 has no kernel for conv"), std::string::npos);
}

TEST(Doctor, ProductsWithoutTheLibraryAreNamed) {
  MadeUpProfile made;
  for (int i = 0; i < 20; ++i)
    made.kernel("contract", "bf16(4096, 767) bf16(767, 768) -> bf16(4096, 768)", 500).library.clear();
  EXPECT_EQ(abouts_of(advice(made.view)), std::vector<About>{About::library});
}

TEST(Doctor, TransfersThatTakeMuchOfTheTimeAreNamed) {
  MadeUpProfile made;
  for (int i = 0; i < 5; ++i) {
    made.kernel("contract", "bf16(4096, 768) bf16(768, 768) -> bf16(4096, 768)", 500);
    made.add(Kind::upload, "upload", 300, made.device).bytes = 1'000'000;
    made.at_us += 300;
  }
  EXPECT_EQ(abouts_of(advice(made.view)), std::vector<About>{About::transfers});
}

TEST(Doctor, WhatConcernsMostOfTheTimeComesFirst) {
  MadeUpProfile made;
  for (int i = 0; i < 10; ++i) {
    made.idle("data", 100);
    made.kernel("contract", "f32(4096, 768) f32(768, 768) -> f32(4096, 768)", 500);
  }
  EXPECT_EQ(abouts_of(advice(made.view)), (std::vector<About>{About::precision, About::data}));
}

TEST(Doctor, WhatTheHostDoesInsideOfAnotherFunctionCountsThere) {
  MadeUpProfile made;
  made.add(Kind::host, "step", 1000);
  made.idle("data", 400);
  made.kernel("contract", "bf16(8, 8) bf16(8, 8) -> bf16(8, 8)", 600);
  EXPECT_EQ(abouts_of(advice(made.view)), std::vector<About>{About::data});
}

// ---- files ----

class ProfileFile : public InFolder {
 protected:
  ProfileFile() : InFolder("profile.json") {}
  std::string refusal(const std::string& text) const {
    try {
      read_profile(write(text));
    } catch (const Error& error) {
      const std::string line = error.what();
      EXPECT_EQ(line.find('\n'), line.npos);
      return line.substr(line.rfind("profile.json: ") == line.npos ? 0 : line.rfind("profile.json: ") + 14);
    }
    return "accepted";
  }
};

TEST_F(ProfileFile, HasWhatTheProfileHad) {
  nn::Linear layer(16, 16);
  optim::AdamW optimizer(layer.parameters());
  Profile profile;
  mean(layer(rand({4, 16}))).backward();
  optimizer.step();
  synchronize();
  profile.stop();
  const ProfileView taken = view_of(profile), read = read_profile(write(profile.chrome_trace()));
  ASSERT_EQ(taken.events.size(), read.events.size());
  for (size_t i = 0; i < taken.events.size(); ++i) {
    const ProfileEvent &a = taken.events[i], &b = read.events[i];
    EXPECT_EQ(std::tie(a.kind, a.name, a.detail, a.device, a.module, a.pass, a.library, a.thread, a.begin_ns, a.bytes),
              std::tie(b.kind, b.name, b.detail, b.device, b.module, b.pass, b.library, b.thread, b.begin_ns, b.bytes))
        << i;
  }
  ASSERT_EQ(taken.memory.size(), read.memory.size());
  for (size_t i = 0; i < taken.memory.size(); ++i) {
    EXPECT_EQ(taken.memory[i].in_all(), read.memory[i].in_all());
    EXPECT_EQ(taken.memory[i].planned_peak, read.memory[i].planned_peak);
  }
  ASSERT_EQ(taken.devices.size(), read.devices.size());
  EXPECT_EQ(taken.devices[0].name, read.devices[0].name);
  EXPECT_EQ(advice_text(taken), advice_text(read));
}

TEST_F(ProfileFile, WhatIsNoneIsOneLine) {
  const std::string head = R"({"tenon":{"version":1,"wall_us":10,"dropped":0,"devices":[]},"traceEvents":[)";
  EXPECT_EQ(refusal(head + "]}"), "accepted");
  EXPECT_EQ(refusal(""), "is not valid JSON (at byte 1 of it)");
  EXPECT_EQ(refusal("[1, 2]"), "is no profile: it has no traceEvents; tenon train --profile writes one");
  EXPECT_EQ(refusal(R"({"traceEvents":[]})"),
            "is a trace, but none of Tenon's: it has no \"tenon\"; tenon train --profile writes one");
  EXPECT_EQ(refusal(R"({"tenon":{"version":2},"traceEvents":[]})"),
            "is a profile of version 2; this Tenon reads version 1");
  EXPECT_EQ(refusal(R"({"tenon":{"version":1,"wall_us":-1,"dropped":0,"devices":[]},"traceEvents":[]})"),
            "wall_us is -1; it must be from 0 to 1e15");
  EXPECT_EQ(refusal(head + "3]}"), "has no ph");
  EXPECT_EQ(refusal(head + R"({"ph":"X","cat":"kernel","pid":7,"ts":0,"dur":1,"args":{"what":"x","kind":"x"}}]})"),
            "an event is of process 7, which is no device");
  EXPECT_EQ(refusal(head + R"({"ph":"X","cat":"host","pid":1,"tid":0,"ts":1e300,"dur":1,"args":{"what":"x"}}]})"),
            "ts is 1e+300; it must be from 0 to 1e15");
  EXPECT_EQ(refusal(head + R"({"ph":"X","cat":"host","pid":1,"tid":0,"ts":1,"dur":1,"args":[]}]})"),
            "args is []; it must be an object");
}

TEST_F(ProfileFile, ARunWithoutOneIsOneLine) {
  try {
    read_profile(folder_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is a folder without profile.json; tenon train --profile"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tenon::watch
