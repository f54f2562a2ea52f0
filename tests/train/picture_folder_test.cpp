// Training on folders of pictures: augmentations, broken files, held-back parts, means of weights, a ResNet; resumed
// bit for bit.

#include "tenon/train/picture_folder.h"

#include <gtest/gtest.h>

#include "tenon/data/image.h"
#include "tenon/data/image_folder.h"
#include "tenon/models/cnn.h"
#include "tenon/models/resnet.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

class PictureFolders : public Runs {};

TEST_F(PictureFolders, AreLearnedAndSayHowWell) {
  write_pictures("pictures", 24);
  const TrainResult result = train_in("run", tiny_pictures({"training.steps=80", "optimizer.lr=0.02"}));
  ASSERT_EQ(result.validation_metrics.size(), 1u);
  EXPECT_GE(result.validation_metrics[0].second, 0.9);
  EXPECT_EQ(io::content_of(result.model / "classes.txt"), "bars\ndots\nplain\n");
  const auto net = models::Cnn::load(result.model);
  const Tensor picture = data::read_image(path("pictures") / "bars/000.png").narrow(1, 0, 10).narrow(2, 0, 10);
  EXPECT_EQ(net->forward(picture.unsqueeze(0)).argmax(1).item<int64_t>(), 0);
}

TEST_F(PictureFolders, SayHowManyOfHowManyClasses) {
  write_pictures("pictures");
  const std::string shown = said("run", tiny_pictures({"training.steps=1"}));
  EXPECT_NE(shown.find("27 images of 3 classes to train on, 9 to validate on; an epoch is 3 steps\n"), shown.npos)
      << shown;
}

TEST_F(PictureFolders, MayBringTheirOwnTests) {
  write_pictures("pictures/train", 8);
  write_pictures("pictures/val", 3);
  const std::string shown = said("run", tiny_pictures({"training.steps=1"}));
  EXPECT_NE(shown.find("24 images of 3 classes to train on, 9 to validate on"), shown.npos) << shown;
  fs::remove_all(path("pictures/val/dots"));
  EXPECT_EQ(refusal_at_start(tiny_pictures()),
            fmt::format("[train] {0}/val: its classes are not those of {0}/train: 2 folders and 3",
                        path("pictures").string()));
}

TEST_F(PictureFolders, HoldBackTheSameShareOfEveryClass) {
  write_pictures("pictures", 8);
  const Config config = tiny_pictures();
  const PictureFolder one = read_picture_folder(config), again = read_picture_folder(config);
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < one.test->size(); ++i) {
    labels.push_back(one.test->get(i)["label"].item<int64_t>());
    EXPECT_EQ(one.test->get(i)["image"].to_vector<uint8_t>(), again.test->get(i)["image"].to_vector<uint8_t>());
  }
  EXPECT_EQ(labels, (std::vector<int64_t>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(one.train->size(), 18);
}

TEST_F(PictureFolders, BrokenFilesAreNamedOnceAndLeftOut) {
  write_pictures("pictures", 12, true);
  write("pictures/dots/empty.jpg", "");
  fs::copy(path("pictures/bars/000.png"), path("pictures/bars/cut.png"));
  fs::resize_file(path("pictures/bars/cut.png"), fs::file_size(path("pictures/bars/cut.png")) / 2);
  const std::string shown = said("run", tiny_pictures({"training.steps=24", "training.eval_every=4"}));
  for (const char* file : {"plain/broken.png", "dots/empty.jpg", "bars/cut.png"}) {
    const std::string name = (path("pictures") / file).string();
    const size_t at = shown.find(name);
    ASSERT_NE(at, shown.npos) << shown;
    EXPECT_EQ(shown.find(name, at + 1), shown.npos) << shown;
    const std::string line = shown.substr(shown.rfind('\n', at) + 1, shown.find('\n', at) - shown.rfind('\n', at) - 1);
    EXPECT_TRUE(line.starts_with("[image] ") && line.ends_with("; left out")) << line;
  }
  EXPECT_NE(shown.find("  accuracy 0."), shown.npos) << shown;
}

TEST_F(PictureFolders, TestsThatCannotBeReadDoNotCount) {
  write_pictures("pictures/train", 8);
  write_pictures("pictures/val", 3, true);
  const TrainResult result = train_in("run", tiny_pictures({"training.steps=2", "sample.every=2"}));
  EXPECT_TRUE(std::isfinite(*result.validation_loss));
  EXPECT_NE(result.last_sample.find(" of 9 images "), std::string::npos) << result.last_sample;
}

TEST_F(PictureFolders, WithNothingToReadAreRefused) {
  fs::create_directories(path("pictures/only"));
  write("pictures/only/a.png", "no picture");
  write("pictures/only/b.png", "neither");
  const std::string text =
      refusal("run", tiny_pictures({"training.batch_size=1", "data.validation_fraction=0", "training.steps=2"}));
  EXPECT_NE(text.find("none of the 2 pictures to train on can be read"), text.npos) << text;
  EXPECT_NE(refusal_at_start(tiny_pictures({"data.path=nowhere"})).find("name one that has a folder of pictures"),
            std::string::npos);
  EXPECT_EQ(refusal_at_start(tiny_pictures({"data.path="})),
            "[config] config: data.path is empty; name the folder that has a folder of pictures for each class");
}

TEST_F(PictureFolders, AreNotExchangedWhileARunIsStopped) {
  write_pictures("pictures");
  train_in("run", tiny_pictures(), {.stop_after = 11});
  data::save_image(path("pictures/dots/003.png"), zeros({3, 40, 40}).to(uint8));
  const std::string text = refusal("run", tiny_pictures(), {.resume = true});
  EXPECT_NE(text.find("was begun on other data"), text.npos) << text;
}

struct FolderCase {
  std::string name;
  std::vector<std::string> settings;
};
void PrintTo(const FolderCase& one, std::ostream* out) { *out << one.name; }

class PictureResume : public Runs, public testing::WithParamInterface<FolderCase> {};

TEST_P(PictureResume, GoesOnBitForBit) {
  write_pictures("pictures", 12, true);
  const Config wanted = tiny_pictures(GetParam().settings);
  const Traces whole = trained("whole", wanted);
  EXPECT_TRUE(train_in("parts", wanted, {.stop_after = 11}).stopped);
  EXPECT_FALSE(train_in("parts", wanted, {.resume = true}).stopped);
  EXPECT_EQ(difference(whole, traces_of(path("parts"))), "");
}

INSTANTIATE_TEST_SUITE_P(Runs, PictureResume,
                         testing::Values(FolderCase{"plain", {}},
                                         FolderCase{"augmented",
                                              {"data.least_area=0.3", "data.flip=true", "data.shift=1",
                                               "training.label_smoothing=0.1", "optimizer.average=0.9",
                                               "schedule.warmup_steps=5", "training.precision=bf16",
                                               "optimizer.kind=sgd", "optimizer.momentum=0.9", "optimizer.lr=0.05"}},
                                         FolderCase{"without_threads", {"data.prefetch=false", "data.least_area=0.5"}}),
                         [](const auto& one) { return one.param.name; });

// The recipe of the preset on a few tiny pictures.
TEST_F(PictureFolders, TrainAResNetThatGoesOnBitForBit) {
  write_pictures("pictures", 6);
  Config config = load_config("resnet18_cifar");
  config.data.path = path("pictures").string();
  for (const char* setting : {"data.picture_size=8", "data.shift=1", "training.batch_size=4", "training.steps=3",
                              "training.eval_every=3", "training.log_every=1", "schedule.warmup_steps=1",
                              "checkpoint.every=0", "checkpoint.keep_best=false", "sample.every=3", "sample.count=2"})
    set(config, setting);
  const Traces whole = trained("whole", config);
  EXPECT_TRUE(train_in("parts", config, {.stop_after = 2}).stopped);
  const TrainResult result = train_in("parts", config, {.resume = true});
  EXPECT_EQ(difference(whole, traces_of(path("parts"))), "");
  const auto net = models::ResNet::load(result.model);
  EXPECT_EQ(net->config().classes, 3);
  EXPECT_TRUE(net->config().small_pictures);
}

}  // namespace
}  // namespace tenon::train
