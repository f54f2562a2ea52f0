// A run goes on with the products that it began with: where a device chooses among algorithms whose last bits differ,
// the choice travels with the checkpoint.

#include <gtest/gtest.h>

#include "tenon/train/checkpoint.h"
#include "tests/child_process.h"
#include "tests/train/runs.h"
#include "tests/train/timed_device.h"

namespace tenon::train {
namespace {

class Products : public Runs {
 protected:
  static constexpr const char* kFirstIsQuickest = "2000,30,2000";
  static constexpr const char* kSecondIsQuickest = "2000,2000,30";

  /// A process that trains in a folder of this name; what it says.
  std::string train_elsewhere(const std::string& name, Environment environment) {
    environment.emplace("TIMED_RUN", path(name).string());
    environment.emplace("TENON_CACHE_DIR", path("cache").string());
    environment.emplace("TIMED_DATA", path().string());
    return child("ProductsChild.DISABLED_Trains", environment);
  }
  void remove_choices(const std::string& name) {
    const fs::path checkpoints = path(name) / "checkpoints";
    for (const int64_t step : checkpoint_steps(checkpoints)) {
      Checkpoint found = read_checkpoint(checkpoint_path(checkpoints, step));
      EXPECT_FALSE(found.products.empty());
      found.products.clear();
      for (auto& [tensor_name, tensor] : found.tensors) tensor = tensor.clone().eval();
      save_checkpoint(checkpoints, found);
    }
  }
};

class ProductsChild : public Runs {};

TEST_F(ProductsChild, DISABLED_Trains) {
  TimedDevice::add();
  Config config = tiny({"training.steps=8", "training.eval_every=4", "training.eval_batches=1", "checkpoint.every=4",
                        "sample.every=0", "sample.tokens=64"});
  config.data.train = getenv("TIMED_DATA");
  config.device.name = "timed";
  TrainOptions options{.folder = getenv("TIMED_RUN"), .resume = getenv("TIMED_RESUMES") != nullptr};
  if (const char* step = getenv("TIMED_STOPS")) options.stop_after = std::atoi(step);
  train(config, options);
}

TEST_F(Products, ARunThatGoesOnElsewhereKeepsItsAlgorithms) {
  train_elsewhere("whole", {{"TIMED_US", kFirstIsQuickest}});
  train_elsewhere("parts", {{"TIMED_US", kFirstIsQuickest}, {"TIMED_STOPS", "5"}});
  const Environment elsewhere{{"TIMED_US", kSecondIsQuickest}, {"TENON_CACHE_DIR", path("other_cache").string()}};
  train_elsewhere("other", elsewhere);
  EXPECT_NE(difference(traces_of(path("whole")), traces_of(path("other"))), "");  // so there is something to keep
  Environment resumes = elsewhere;
  resumes["TIMED_RESUMES"] = "1";
  const std::string said = train_elsewhere("parts", resumes);
  EXPECT_EQ(difference(traces_of(path("whole")), traces_of(path("parts"))), "");
  EXPECT_EQ(said.find("last bits"), std::string::npos) << said;
}

TEST_F(Products, ARunThatIsStoppedTwiceKeepsItsAlgorithms) {
  train_elsewhere("whole", {{"TIMED_US", kFirstIsQuickest}});
  train_elsewhere("parts", {{"TIMED_US", kFirstIsQuickest}, {"TIMED_STOPS", "5"}});
  Environment elsewhere{
      {"TIMED_US", kSecondIsQuickest}, {"TENON_CACHE_DIR", path("other_cache").string()}, {"TIMED_RESUMES", "1"}};
  elsewhere["TIMED_STOPS"] = "6";
  train_elsewhere("parts", elsewhere);
  elsewhere.erase("TIMED_STOPS");
  elsewhere["TENON_CACHE_DIR"] = "";
  train_elsewhere("parts", elsewhere);
  EXPECT_EQ(difference(traces_of(path("whole")), traces_of(path("parts"))), "");
}

TEST_F(Products, AnotherLibraryIsToldInOneLineAndTheRunGoesOn) {
  train_elsewhere("run", {{"TIMED_US", kFirstIsQuickest}, {"TIMED_STOPS", "5"}});
  const std::string said =
      train_elsewhere("run", {{"TIMED_US", kFirstIsQuickest}, {"TIMED_VERSION", "2"}, {"TIMED_RESUMES", "1"}});
  EXPECT_NE(said.find(checkpoint_path(path("run") / "checkpoints", 5).string() +
                      ": its products were chosen for a timed device of version 1, and this is a timed device of "
                      "version 2; numbers may differ in their last bits from those of a run that was not stopped\n"),
            std::string::npos)
      << said;
  EXPECT_EQ(checkpoint_steps(path("run") / "checkpoints").back(), 8);
}

TEST_F(Products, ACheckpointWithoutChoicesIsGood) {
  train_elsewhere("run", {{"TIMED_US", kFirstIsQuickest}, {"TIMED_STOPS", "5"}});
  remove_choices("run");
  const std::string said = train_elsewhere("run", {{"TIMED_US", kFirstIsQuickest}, {"TIMED_RESUMES", "1"}});
  EXPECT_NE(said.find("it does not say how its products were computed; numbers may differ"), std::string::npos) << said;
  EXPECT_EQ(checkpoint_steps(path("run") / "checkpoints").back(), 8);
}

// A run on a device with one way to multiply has nothing to say.
TEST_F(Products, OfTheCpuLeaveNoFile) {
  train_in("run", tiny(), {.stop_after = 1});
  EXPECT_FALSE(fs::exists(checkpoint_path(path("run") / "checkpoints", 1) / "products.tuned"));
}

}  // namespace
}  // namespace tenon::train
