// Telling images apart is a run like any other: metrics, samples, checkpoints, report, resuming bit for bit.

#include "tenon/train/image_task.h"

#include <gtest/gtest.h>

#include "tenon/data/image.h"
#include "tenon/data/mnist.h"
#include "tenon/models/cnn.h"
#include "tenon/tensor/ops.h"
#include "tenon/train/augment.h"
#include "tenon/train/loaded_model.h"
#include "tenon/watch/samples.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

class Images : public Runs {
 protected:
  Images() { write_digits("digits"); }
};

TEST_F(Images, LearnsAndSaysHowWell) {
  const TrainResult result = train_in("run", tiny_cnn({"training.steps=90", "optimizer.lr=0.02", "model.dropout=0"}));
  EXPECT_EQ(result.unit, "images");
  ASSERT_EQ(result.validation_metrics.size(), 1u);
  EXPECT_EQ(result.validation_metrics[0].first, "accuracy");
  EXPECT_GE(result.validation_metrics[0].second, 0.7);
  const std::vector<watch::StepMetrics> lines = watch::read_metrics(path("run") / "metrics.jsonl");
  EXPECT_EQ(lines.back().validation_metrics, result.validation_metrics);
  EXPECT_EQ(lines.back().unit, "images");
  EXPECT_EQ(lines.back().items, 90 * 16);
  const std::string page = io::content_of(result.report);
  for (const char* part : {"Validation accuracy", "Images per second", "Training images"})
    EXPECT_NE(page.find(part), page.npos) << part;
}

TEST_F(Images, ProgressShowsTheAccuracy) {
  const std::string shown = said("run", tiny_cnn());
  EXPECT_NE(shown.find("96 images to train on, 40 to validate on; an epoch is 6 steps\ncnn of "), shown.npos) << shown;
  EXPECT_NE(shown.find("  accuracy 0."), shown.npos) << shown;
  EXPECT_NE(shown.find(" images/s"), shown.npos) << shown;
}

TEST_F(Images, SamplesAreWhatIsTakenForSomethingElse) {
  train_in("run", tiny_cnn({"training.steps=2", "sample.every=2", "sample.count=3"}));
  const watch::Sample sample = watch::read_samples(path("run")).back();
  EXPECT_NE(sample.text.find(" of 40 images are taken for something else, those with the greatest certainty first:\n"),
            sample.text.npos)
      << sample.text;
  EXPECT_EQ(std::ranges::count(sample.text, '\n'), 3);
  EXPECT_EQ(data::read_image(path("run") / "samples/step_00000002.png").size(2), 3 * 14 + 2);
  const std::string page = io::content_of(path("run") / "report.html");
  EXPECT_NE(page.find("<img src=\"data:image/png;base64,iVBORw0KGgo"), page.npos);
}

TEST_F(Images, TheModelOfARunIsReadAgain) {
  const TrainResult result = train_in("run", tiny_cnn());
  const auto net = models::Cnn::load(result.model);
  const data::TensorDataset test = data::mnist(path("digits"), false);
  const Tensor right = net->forward(test.tensors()["image"]).argmax(1) == test.tensors()["label"];
  EXPECT_NEAR(right.to(DType::f32).mean().item<double>(), result.validation_metrics[0].second, 1e-6);
}

TEST_F(Images, Cifar10HasColours) {
  fs::create_directories(path("cifar"));
  for (const char* name :
       {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"}) {
    std::string records;
    for (int i = 0; i < 4; ++i)
      records += std::string(1, static_cast<char>(i)) + std::string(3072, static_cast<char>(60 * i));
    write(std::string("cifar/") + name + ".bin", records);
  }
  const std::vector<std::string> settings = {"data.dataset=cifar10", "data.path=" + path("cifar").string(),
                                             "training.steps=2", "sample.every=2", "data.flip=true"};
  const TrainResult result = train_in("run", tiny_cnn(settings));
  EXPECT_EQ(models::Cnn::load(result.model)->config().image_channels, 3);
  EXPECT_NE(result.last_sample.find(" of 4 images "), std::string::npos) << result.last_sample;
}

TEST_F(Images, ARunOfOneIsNoLanguageModel) {
  train_in("run", tiny_cnn({"training.steps=2"}));
  EXPECT_EQ(text_of([&] { load_model(path("run")); }),
            fmt::format("[model] {}: is a run of a cnn, which is no language model", path("run").string()));
}

struct Case {
  std::string name;
  std::vector<std::string> settings;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class ImageResume : public Images, public testing::WithParamInterface<Case> {};

TEST_P(ImageResume, GoesOnBitForBit) {
  const Config wanted = tiny_cnn(GetParam().settings);
  const Traces whole = trained("whole", wanted);
  EXPECT_TRUE(train_in("parts", wanted, {.stop_after = 11}).stopped);
  EXPECT_FALSE(train_in("parts", wanted, {.resume = true}).stopped);
  EXPECT_EQ(difference(whole, traces_of(path("parts"))), "");
}

INSTANTIATE_TEST_SUITE_P(Runs, ImageResume,
                         testing::Values(Case{"augmented", {"data.shift=1", "data.flip=true"}},
                                         Case{"hidden", {"model.hidden=8", "model.batch_norm=false"}},
                                         Case{"bf16", {"training.precision=bf16"}},
                                         Case{"micro_batches", {"training.micro_batches=2"}}),
                         [](const auto& one) { return one.param.name; });

TEST_F(Images, ReplayedAndRecordedAnewAreTheSame) {
  EXPECT_EQ(difference(trained("one", tiny_cnn()), trained("two", tiny_cnn({"training.capture=false"}))), "");
}

TEST_F(Images, DataMayLieElsewhereButNotBeOthers) {
  const Config config = tiny_cnn();
  const Traces whole = trained("whole", config);
  train_in("parts", config, {.stop_after = 11});
  fs::rename(path("digits"), path("moved"));
  train_in("parts", tiny_cnn({"data.path=" + path("moved").string()}), {.resume = true});
  EXPECT_EQ(difference(whole, traces_of(path("parts"))), "");

  train_in("others", tiny_cnn({"data.path=" + path("moved").string()}), {.stop_after = 11});
  const fs::path others = write_digits("others_digits", 2);
  const std::string text = refusal("others", tiny_cnn({"data.path=" + others.string()}), {.resume = true});
  EXPECT_NE(text.find("the run was begun on other data than " + others.string() + " holds now"), text.npos) << text;
}

TEST_F(Images, MissingDataAreOneLineThatSaysWhatToDo) {
  EXPECT_EQ(refusal_at_start(tiny_cnn({"data.path=nowhere"})),
            "[train] data.path nowhere: there is no such folder; put train-images-idx3-ubyte, train-labels-idx1-ubyte, "
            "t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte there, each with .gz or without, or name the folder of "
            "mnist with --set data.path=FOLDER");
  EXPECT_EQ(refusal_at_start(tiny_cnn({"data.path=nowhere", "data.dataset=fashion_mnist"})),
            "[train] data.path nowhere: there is no such folder; install Debian's package dataset-fashion-mnist and "
            "leave data.path empty, or name the folder of fashion_mnist with --set data.path=FOLDER");
  EXPECT_EQ(refusal_at_start(tiny_cnn({"data.path="})),
            "[config] config: data.path is empty; name the folder of mnist (of fashion_mnist, a package may bring it)");
  fs::remove(path("digits") / "t10k-images-idx3-ubyte");
  const std::string text = refusal_at_start(tiny_cnn());
  EXPECT_TRUE(
      text.ends_with("has neither t10k-images-idx3-ubyte nor t10k-images-idx3-ubyte.gz: give the folder that "
                     "the four files were fetched to"))
      << text;
}

TEST_F(Images, StagesMustLeaveSomethingOfThePicture) {
  EXPECT_EQ(refusal_at_start(tiny_cnn({"model.layers=5"})),
            "[cnn] 5 stages leave nothing of images of 12 x 12; take fewer");
}

TEST_F(Images, ShiftsMustLeaveSomethingOfThePicture) {
  EXPECT_EQ(refusal_at_start(tiny_cnn({"data.shift=12"})), "[train] data.shift is 12, and the images of " +
                                                               path("digits").string() +
                                                               " are 12 x 12; move them by less than 12 pixels");
}

TEST_F(Images, KeysOfLanguageModelsAreRefused) {
  EXPECT_EQ(
      refusal_at_start(tiny_cnn({"model.heads=8"})),
      "[config] config: model.heads is 8, but acts only when model.architecture is gpt2, llama or bert; take it out "
      "or set it to its default, 4");
}

TEST(Augment, ShiftsKeepEveryPixelThatStays) {
  manual_seed(1);
  Tensor images = zeros({256, 2, 7, 7}, Options(DType::u8)).clone();
  images.slice(2, 3, 4).slice(3, 3, 4).fill_(9);  // one pixel in the middle
  const Tensor moved = shifted_at_random(images, 2);
  EXPECT_EQ(moved.dtype(), DType::u8);
  EXPECT_TRUE((moved.to(DType::i32).sum({1, 2, 3}) == 18).all().item<bool>());
  const Tensor seen = moved.to(DType::i32).amax({0, 1}) > 0;  // where the pixel went: anywhere up to two away
  EXPECT_EQ(seen.to(DType::i32).sum().item<int64_t>(), 25);
  EXPECT_TRUE((moved.select(1, 0) == moved.select(1, 1)).all().item<bool>());  // channels move together
}

TEST(Augment, FlipsSomeImagesWhole) {
  manual_seed(1);
  const Tensor images = arange(4).to(DType::u8).expand({100, 1, 3, 4});
  const Tensor turned = flipped_at_random(images).select(2, 0).select(1, 0);
  const int64_t flipped = (turned.select(1, 0) == 3).to(DType::i32).sum().item<int64_t>();
  EXPECT_GT(flipped, 30);
  EXPECT_LT(flipped, 70);
  EXPECT_TRUE((turned.select(1, 0) + turned.select(1, 3) == 3).all().item<bool>());
}

TEST(FashionMnist, APackageBringsTheImages) {
  if (!fs::exists("/usr/share/datasets/fashion-mnist")) GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  const Config config = load_config("fashion_cnn");
  ImageTask task(config);
  EXPECT_EQ(task.facts().items, 60'000);
  EXPECT_LT(task.model().count_parameters(), 100'000);
  EXPECT_NEAR(dynamic_cast<models::Cnn&>(task.model()).mean.item<double>() / 255, 0.2860, 1e-4);
}

}  // namespace
}  // namespace tenon::train
