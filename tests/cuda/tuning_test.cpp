// Which algorithm of cuBLASLt multiplies: the quickest, found by timing once, the same in every process that shares a
// disk cache, and the one of a checkpoint where there is one. The stand-in's algorithms sum in orders of their own, so
// the bits of a result tell which one it was.

#include "tenon/exec/tuning.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <fstream>
#include <thread>

#include "on_stand_in.h"
#include "tenon/backends/cuda/api.h"
#include "tenon/backends/cuda/product.h"
#include "tenon/device/registry.h"
#include "tenon/tenon.h"
#include "tests/child_process.h"
#include "tests/io/support.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRows = 32, kDepth = 101, kColumns = 16;

std::vector<float> numbers(int64_t count, int64_t step) {
  std::vector<float> made;
  for (int64_t i = 0; i < count; ++i) made.push_back(std::sin(static_cast<float>(i * step)) * 100);
  return made;
}
std::vector<float> left() { return numbers(kRows * kDepth, 7); }
std::vector<float> right() { return numbers(kDepth * kColumns, 3); }

// As the stand-in's algorithms do.
float first_sum(uint32_t algorithm) {
  const std::vector<float> a = left(), b = right();
  float sum = 0;
  for (int64_t i = 0; i < kDepth; ++i) {
    const int64_t half = (kDepth + 1) / 2;
    const int64_t k = algorithm == 1 ? i : algorithm == 2 ? kDepth - 1 - i : i < half ? 2 * i : 2 * (i - half) + 1;
    sum += a[static_cast<size_t>(k)] * b[static_cast<size_t>(k * kColumns)];
  }
  return sum;
}

ir::Way named(uint32_t algorithm) { return {algorithm, 20, 0, 0, 2, 0, 0}; }

ir::Call product(bool has_bias = false, DType dtype = DType::f32, DType out = DType::f32, int64_t depth = kDepth) {
  ir::Call call;
  call.op = ir::Op::contract;
  call.attrs = ir::ContractAttrs{};
  call.inputs.push_back({dtype, ir::IndexMap(Dims{kRows, depth})});
  call.inputs.push_back({dtype, ir::IndexMap(Dims{depth, kColumns})});
  if (has_bias) call.inputs.push_back({out, ir::IndexMap(Dims{kColumns})});
  call.epilogue = {has_bias, false};
  call.outputs.push_back({out, Dims{kRows, kColumns}});
  return call;
}

// ---- the compiler ----

class CudaAlgorithms : public OnStandIn {
 protected:
  void SetUp() override {
    OnStandIn::SetUp();
    unsetenv("STAND_IN_LT_WITHOUT");
  }
  void TearDown() override {
    unsetenv("STAND_IN_LT_WITHOUT");
    OnStandIn::TearDown();
  }
  const device::Compiler& compiler() { return device_->compiler(); }
};

using Ways = std::vector<ir::Way>;

// The stand-in has no fourth one with a bias.
TEST_F(CudaAlgorithms, AreThoseThatDoAProductWithAndWithoutABias) {
  EXPECT_EQ(compiler().ways(product()), (Ways{named(1), named(2), named(3)}));
  EXPECT_EQ(compiler().ways(product(true)), (Ways{named(2), named(1), named(3)}));
}

TEST_F(CudaAlgorithms, OfAPartAreAllThatAreProposedBecauseNothingFollowsIt) {
  const ir::Call call = product(false, DType::bf16, DType::bf16, 104);
  ASSERT_FALSE(backends::cuda::plan_product(call, device_->limits())->calls[0].is_part);
  EXPECT_FALSE(std::ranges::count(compiler().ways(call), named(4)));
  const ir::Call in_parts = product(false, DType::bf16, DType::bf16, 4096);
  ASSERT_TRUE(backends::cuda::plan_product(in_parts, device_->limits())->calls[0].is_part);
  EXPECT_EQ(compiler().ways(in_parts), (Ways{named(1), named(2), named(4)}));
}

// The stand-in does not propose the third one where it sums 16-bit numbers into 32 bits, but has it.
TEST_F(CudaAlgorithms, AreThereAlsoWhereTheyAreNotProposed) {
  const ir::Call rounded = product(false, DType::bf16, DType::bf16, 104),
                 sums = product(false, DType::bf16, DType::f32, 104);
  EXPECT_EQ(compiler().ways(rounded), (Ways{named(1), named(2), named(3)}));
  EXPECT_EQ(compiler().ways(sums), (Ways{named(1), named(2)}));
  EXPECT_TRUE(compiler().has_way(sums, named(3)));
  ir::Way other_tile = named(3);
  other_tile[1] = 21;
  EXPECT_FALSE(compiler().has_way(sums, other_tile));
}

TEST_F(CudaAlgorithms, ShareOneChoiceWhateverFollowsTheSums) {
  const uint64_t key = exec::key_of(product(), compiler());
  EXPECT_EQ(exec::key_of(product(true), compiler()), key);
  EXPECT_NE(exec::key_of(product(false, DType::bf16, DType::f32, 104), compiler()), key);
  const uint64_t of_16_bits = exec::key_of(product(false, DType::bf16, DType::f32, 104), compiler());
  EXPECT_EQ(exec::key_of(product(true, DType::bf16, DType::bf16, 104), compiler()), of_16_bits);
  EXPECT_EQ(exec::key_of(product(false, DType::bf16, DType::bf16, 104), compiler()), of_16_bits);
}

TEST_F(CudaAlgorithms, OfTf32AreChosenApart) {
  ir::Call rounded = product(), with_bias = product(true);
  for (ir::Call* call : {&rounded, &with_bias}) std::get<ir::ContractAttrs>(call->attrs).tf32 = true;
  EXPECT_NE(exec::key_of(rounded, compiler()), exec::key_of(product(), compiler()));
  EXPECT_EQ(exec::key_of(rounded, compiler()), exec::key_of(with_bias, compiler()));
  EXPECT_TRUE(compiler().has_way(rounded, named(3)));
}

TEST_F(CudaAlgorithms, AreFoundByTheirNames) {
  EXPECT_TRUE(compiler().has_way(product(), named(3)));
  EXPECT_TRUE(compiler().has_way(product(), named(4)));
  EXPECT_FALSE(compiler().has_way(product(), named(5)));
  EXPECT_FALSE(compiler().has_way(product(true), named(4)));
  EXPECT_FALSE(compiler().has_way(product(), ir::Way{64, 64, 16, 8, 4, 128}));  // a tile of our own kernels
}

TEST_F(CudaAlgorithms, ThatAreNotProposedAnyMoreAreNotThere) {
  setenv("STAND_IN_LT_WITHOUT", "2", 1);
  EXPECT_EQ(compiler().ways(product()), (Ways{named(1), named(3)}));
  EXPECT_FALSE(compiler().has_way(product(), named(2)));
}

TEST_F(CudaAlgorithms, MultiplyWithTheirOwnWorkspace) {
  ir::Call call = product();
  call.way = named(1);
  EXPECT_EQ(device_->compiler().compile(call)->scratch_bytes(), 256u + 1024u);
  call.way = named(3);
  EXPECT_EQ(device_->compiler().compile(call)->scratch_bytes(), 256u + 2048u);
}

TEST_F(CudaAlgorithms, HoldForOneChipAndOneLibrary) {
  EXPECT_EQ(compiler().timed_on(), "Stand-in GPU with 132 processors and cuBLASLt 130000");
}

// Products that our own kernels do are not timed unasked: compiling their tiles takes seconds.
TEST_F(CudaAlgorithms, OnlyProductsOfTheLibraryAreTimed) {
  EXPECT_TRUE(compiler().timed_as(product()));
  EXPECT_FALSE(compiler().timed_as(product(false, DType::bf16, DType::bf16, 101)));  // odd lines
}

// ---- processes ----

// Takes the choices of a file, where one is named, multiplies, and says which choices it took and the first number.
TEST(CudaTuningChild, DISABLED_Multiplies) {
  const Device cuda("cuda");
  device::Device& device = device::open(cuda.id);
  if (const char* file = getenv("CHILD_TAKES")) {
    const exec::Tuning choices = exec::Tuning::read(io::content_of(file), file);
    std::printf("why not: '%s'\n", exec::take_choices(device, choices).c_str());
  }
  const Tensor a = from_vector(left(), {kRows, kDepth}, Options(cuda)).eval(),
               b = from_vector(right(), {kDepth, kColumns}, Options(cuda)).eval();
  (void)a.to_vector<float>();
  if (getenv("CHILD_HAS_A_ROW_LESS")) {
    const float first = matmul(a.slice(0, 0, kRows - 1), b).to_vector<float>()[0];
    std::printf("first: %.9g\n", first);
    return;
  }
  if (getenv("CHILD_LACKS_MEMORY")) stand_in().fail("cuMemAlloc", backends::cuda::Results::kOutOfMemory, 0);
  const float first = matmul(a, b).to_vector<float>()[0];
  std::printf("first: %.9g\nmemory: %d\n", first, stand_in().alive("memory"));
  if (const char* file = getenv("CHILD_LEAVES")) std::ofstream(file) << exec::choices_taken(device).to_text();
}

// Each thread a product of its own and one that all have.
TEST(CudaTuningChild, DISABLED_MultipliesOnManyThreads) {
  const Device cuda("cuda");
  const Tensor a = from_vector(left(), {kRows, kDepth}, Options(cuda)).eval(),
               b = from_vector(right(), {kDepth, kColumns}, Options(cuda)).eval();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> ours(static_cast<size_t>(kDepth * (t + 1)), 1.0f);
      const Tensor c = from_vector(ours, {kDepth, t + 1}, Options(cuda));
      const std::vector<float> once = matmul(a, c).to_vector<float>(), again = matmul(a, c).to_vector<float>();
      const float first = matmul(a, b).to_vector<float>()[0];
      wrong += once != again || first != first_sum(2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(exec::choices_taken(device::open(cuda.id)).size(), 5u);
}

float as_tf32(float x) { return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0x1000u) & ~uint32_t{0x1fff}); }

// Replayed or not, with a change of mind in between. The stand-in multiplies at once, also while the driver captures,
// so that the captured function reads what lies there already and takes no arguments, which are copied first.
TEST(CudaTuningChild, DISABLED_MultipliesInTf32) {
  const Device cuda("cuda");
  const Tensor a = from_vector(left(), {kRows, kDepth}, Options(cuda)).eval(),
               b = from_vector(right(), {kDepth, kColumns}, Options(cuda)).eval();
  (void)a.to_vector<float>();
  float rounded = 0;
  for (int64_t k = 0; k < kDepth; ++k)
    rounded += as_tf32(left()[static_cast<size_t>(k)]) * as_tf32(right()[static_cast<size_t>(k * kColumns)]);
  ASSERT_NE(rounded, first_sum(1));
  auto captured = compile([&] { return matmul(a, b); });
  for (int round = 0; round < 4; ++round) {
    for (const bool allowed : {false, true}) {
      const AllowTf32 products(allowed);
      const float wanted = allowed ? rounded : first_sum(1);
      EXPECT_EQ(matmul(a, b).to_vector<float>()[0], wanted) << round;
      EXPECT_EQ(captured().to_vector<float>()[0], wanted) << round;
    }
  }
}

class CudaTuning : public io::InFolder {
 protected:
  // Long, because a process may be held up for some milliseconds where others compute.
  static constexpr const char* kSecondIsQuickest = "20000,50,20000";
  static constexpr const char* kThirdIsQuickest = "20000,20000,50";

  std::string said(Environment environment, const std::string& test = "CudaTuningChild.DISABLED_Multiplies") {
    environment.emplace("TENON_CACHE_DIR", path("cache").string());
    environment.emplace("TENON_CUDA_DRIVER", STAND_IN_CUDA_DRIVER);
    environment.emplace("TENON_CUDA_LIBRARIES", STAND_IN_CUDA_LIBRARIES);
    return child(test, environment);
  }
  static uint32_t algorithm_in(const std::string& text) {
    for (const uint32_t algorithm : {1u, 2u, 3u}) {
      if (text.find(fmt::format("first: {:.9g}\n", first_sum(algorithm))) != std::string::npos) return algorithm;
    }
    ADD_FAILURE() << text;
    return 0;
  }
  uint32_t algorithm(const Environment& environment) { return algorithm_in(said(environment)); }
  std::vector<fs::path> kept() const {
    std::vector<fs::path> made;
    if (!fs::exists(path("cache"))) return made;
    for (const auto& entry : fs::directory_iterator(path("cache"))) {
      if (entry.path().extension() == ".program") made.push_back(entry.path());
    }
    return made;
  }
};

TEST_F(CudaTuning, TheQuickestAlgorithmIsTakenAndFoundAgainByTheNextProcess) {
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kSecondIsQuickest}}), 2u);
  EXPECT_EQ(kept().size(), 1u);
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kThirdIsQuickest}}), 2u);
}

TEST_F(CudaTuning, AnAlgorithmThatIsRefusedWhenItRunsIsNotTaken) {
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", "20000,50,100"}, {"STAND_IN_LT_REFUSES", "2"}}), 3u);
  EXPECT_EQ(kept().size(), 1u);
}

TEST_F(CudaTuning, TheUsualAlgorithmIsTakenWhereNothingCanBeKept) {
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kSecondIsQuickest}, {"TENON_CACHE_DIR", ""}}), 1u);
  write("no_folder", "a file");
  EXPECT_EQ(
      algorithm({{"STAND_IN_LT_US", kSecondIsQuickest}, {"TENON_CACHE_DIR", path("no_folder").string() + "/cache"}}),
      1u);
}

TEST_F(CudaTuning, TheUsualAlgorithmIsTakenWhereNobodyWantsItTimed) {
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kSecondIsQuickest}, {"TENON_TUNE", "0"}}), 1u);
  EXPECT_TRUE(kept().empty());
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kSecondIsQuickest}}), 2u);
  EXPECT_EQ(algorithm({{"TENON_TUNE", "0"}}), 1u);
}

TEST_F(CudaTuning, TheUsualAlgorithmIsTakenWhereThereIsNoMemoryToTimeIn) {
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kSecondIsQuickest}, {"CHILD_LACKS_MEMORY", "1"}}), 1u);
  EXPECT_TRUE(kept().empty());
}

TEST_F(CudaTuning, TheUsualAlgorithmIsTakenForRowsOfAnyNumberWhichHardlyComeAgain) {
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kSecondIsQuickest}, {"CHILD_HAS_A_ROW_LESS", "1"}}), 1u);
  EXPECT_TRUE(kept().empty());
}

TEST_F(CudaTuning, MemoryToTimeInIsGivenBack) {
  const auto memory = [](const std::string& text) { return text.substr(text.find("memory: "), 10); };
  EXPECT_EQ(memory(said({{"STAND_IN_LT_US", kSecondIsQuickest}})), memory(said({{"TENON_TUNE", "0"}})));
}

TEST_F(CudaTuning, ProductsRoundToTf32OnlyWhereThatIsAllowed) {
  said({{"TENON_CACHE_DIR", ""}}, "CudaTuningChild.DISABLED_MultipliesInTf32");
}

TEST_F(CudaTuning, ADamagedFileIsAsNone) {
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kSecondIsQuickest}}), 2u);
  const std::vector<fs::path> files = kept();
  ASSERT_EQ(files.size(), 1u);
  fs::resize_file(files[0], fs::file_size(files[0]) - 9);
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kThirdIsQuickest}}), 3u);
}

TEST_F(CudaTuning, AnotherLibraryIsTimedAnew) {
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kSecondIsQuickest}}), 2u);
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kThirdIsQuickest}, {"STAND_IN_LT_VERSION", "130100"}}), 3u);
}

TEST_F(CudaTuning, ManyThreadsAtOnceTakeTheSameAlgorithm) {
  said({{"STAND_IN_LT_US", kSecondIsQuickest}}, "CudaTuningChild.DISABLED_MultipliesOnManyThreads");
  EXPECT_EQ(kept().size(), 1u);
}

TEST_F(CudaTuning, TwoProcessesAtOnceTakeTheSameAlgorithm) {
  Environment one{{"STAND_IN_LT_US", kSecondIsQuickest},
                  {"TENON_CACHE_DIR", path("cache").string()},
                  {"TENON_CUDA_DRIVER", STAND_IN_CUDA_DRIVER},
                  {"TENON_CUDA_LIBRARIES", STAND_IN_CUDA_LIBRARIES}},
      other = one;
  other["STAND_IN_LT_US"] = kThirdIsQuickest;
  Child first("CudaTuningChild.DISABLED_Multiplies", one), second("CudaTuningChild.DISABLED_Multiplies", other);
  const uint32_t taken = algorithm_in(first.finish());
  EXPECT_NE(taken, 1u);
  EXPECT_EQ(algorithm_in(second.finish()), taken);
}

// ---- choices of an earlier process ----

TEST_F(CudaTuning, ChoicesOfAnEarlierProcessComeBeforeWhatIsKeptHere) {
  const std::string choices = path("choices").string();
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kSecondIsQuickest}, {"CHILD_LEAVES", choices}}), 2u);
  const Environment elsewhere{{"STAND_IN_LT_US", kThirdIsQuickest}, {"TENON_CACHE_DIR", path("other").string()}};
  EXPECT_EQ(algorithm(elsewhere), 3u);
  Environment resumed = elsewhere;
  resumed["CHILD_TAKES"] = choices;
  const std::string text = said(resumed);
  EXPECT_NE(text.find("why not: ''"), std::string::npos) << text;
  EXPECT_EQ(algorithm_in(text), 2u);
  EXPECT_EQ(algorithm(elsewhere), 3u);  // and leave it alone
}

TEST_F(CudaTuning, TheUsualAlgorithmIsAChoiceToo) {
  const std::string choices = path("choices").string();
  EXPECT_EQ(algorithm({{"TENON_CACHE_DIR", ""}, {"CHILD_LEAVES", choices}}), 1u);
  EXPECT_EQ(algorithm({{"STAND_IN_LT_US", kSecondIsQuickest}, {"CHILD_TAKES", choices}}), 1u);
}

TEST_F(CudaTuning, ChoicesForAnotherLibraryAreRefusedInWords) {
  const std::string choices = path("choices").string();
  said({{"STAND_IN_LT_US", kSecondIsQuickest}, {"CHILD_LEAVES", choices}});
  const std::string text =
      said({{"STAND_IN_LT_US", kThirdIsQuickest}, {"STAND_IN_LT_VERSION", "130100"}, {"CHILD_TAKES", choices}});
  EXPECT_NE(
      text.find("why not: 'its products were chosen for Stand-in GPU with 132 processors and cuBLASLt 130000, and "
                "this is Stand-in GPU with 132 processors and cuBLASLt 130100'"),
      std::string::npos)
      << text;
  EXPECT_EQ(algorithm_in(text), 3u);
  if (!backends::cuda::nvrtc()) return;  // without it there are no kernels of our own
  const std::string own = said({{"TENON_MATMUL", "own"}, {"CHILD_TAKES", choices}, {"TENON_CACHE_DIR", ""}});
  EXPECT_NE(
      own.find("why not: 'its products were chosen for Stand-in GPU with 132 processors and cuBLASLt 130000, which "
               "is not used here'"),
      std::string::npos)
      << own;
}

TEST_F(CudaTuning, AChoiceThatIsNotThereIsTold) {
  const std::string choices = path("choices").string();
  said({{"STAND_IN_LT_US", kSecondIsQuickest}, {"CHILD_LEAVES", choices}});
  const std::string text =
      said({{"STAND_IN_LT_WITHOUT", "2"}, {"CHILD_TAKES", choices}, {"STAND_IN_LT_US", kThirdIsQuickest}});
  EXPECT_NE(text.find("cannot be done in the way that the checkpoint names; numbers may differ in their last bits from "
                      "those of a run that was not stopped"),
            std::string::npos)
      << text;
  EXPECT_EQ(algorithm_in(text), 1u);
}

}  // namespace
}  // namespace tenon
