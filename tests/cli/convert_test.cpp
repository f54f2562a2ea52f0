// `tenon convert`: what goes in comes out, whatever the format.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tenon/tenon.h"
#include "tests/cli/program.h"

namespace tenon::cli {
namespace {

using Weights = std::map<std::string, Tensor>;

class Convert : public Cli {
 protected:
  // Numbers that f16 and bf16 hold, too.
  Weights weights() const {
    return {{"a.weight", tensor({1.0F, -2.5F, 0.25F, 8.0F}).reshape({2, 2})}, {"step", tensor({int64_t{7}})}};
  }
  void expect_same(const Weights& got, DType dtype) const {
    const Weights wanted = weights();
    ASSERT_EQ(got.size(), wanted.size());
    EXPECT_EQ(got.at("a.weight").dtype(), dtype);
    EXPECT_EQ(got.at("step").dtype(), DType::i64);
    for (const auto& [name, tensor] : wanted) {
      EXPECT_EQ(got.at(name).shape(), tensor.shape()) << name;
      EXPECT_EQ(got.at(name).to(DType::f64).to_vector<double>(), tensor.to(DType::f64).to_vector<double>()) << name;
    }
  }
};

TEST_F(Convert, GoesThroughEveryFileFormat) {
  io::save_safetensors(folder_ / "a.safetensors", weights());
  EXPECT_EQ(run("convert a.safetensors b.npz").out, "wrote b.npz\n");
  EXPECT_EQ(run("convert b.npz c.pt").code, 0);
  EXPECT_EQ(run("convert c.pt c.safetensors").code, 0);
  expect_same(io::load_npz(folder_ / "b.npz"), DType::f32);
  expect_same(io::load_torch(folder_ / "c.pt").tensors, DType::f32);
  expect_same(io::load_safetensors(folder_ / "c.safetensors").tensors, DType::f32);
}

TEST_F(Convert, DtypeChangesFloatsOnly) {
  io::save_safetensors(folder_ / "a.safetensors", weights());
  for (const std::string dtype : {"f16", "bf16", "f32"}) {
    ASSERT_EQ(run("convert a.safetensors b.safetensors --dtype " + dtype).code, 0);
    expect_same(io::load_safetensors(folder_ / "b.safetensors").tensors, parse_dtype(dtype));
  }
}

TEST_F(Convert, AFolderKeepsItsTokenizerAndLearnsItsDtype) {
  io::save_folder(folder_ / "in", R"({"model_type": "gpt2"})", weights());
  std::ofstream(folder_ / "in" / "tokenizer.json") << "{}";
  ASSERT_EQ(run("convert in out --dtype bf16").code, 0);
  const io::HuggingFaceFolder folder = io::load_folder(folder_ / "out");
  expect_same(folder.tensors, DType::bf16);
  EXPECT_EQ(nlohmann::json::parse(folder.config)["torch_dtype"], "bfloat16");
  EXPECT_EQ(nlohmann::json::parse(folder.config)["model_type"], "gpt2");
  EXPECT_EQ(content_of(folder_ / "out" / "tokenizer.json"), "{}");
}

TEST_F(Convert, AFolderNeedsAConfig) {
  io::save_npz(folder_ / "a.npz", weights());
  EXPECT_EQ(refusal("convert a.npz out"),
            "1 tenon: [convert] out: a folder needs a config.json, which a.npz does not bring; give one with --config, "
            "or write a .safetensors file");
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  std::ofstream(folder_ / "config.json") << R"({"model_type": "gpt2"})";
  ASSERT_EQ(run("convert a.npz out --config config.json").code, 0);
  expect_same(io::load_folder(folder_ / "out").tensors, DType::f32);
}

TEST_F(Convert, ListsNamesDtypesAndShapes) {
  io::save_npz(folder_ / "a.npz", weights());
  EXPECT_EQ(run("convert --list a.npz").out,
            "a.weight  f32   (2, 2)\n"
            "step      i64   (1,)\n"
            "2 tensors, 5 numbers, 0.0 MB\n");
}

TEST_F(Convert, OneArrayFitsNpy) {
  io::save_npz(folder_ / "two.npz", weights());
  EXPECT_EQ(refusal("convert two.npz a.npy"),
            "1 tenon: [convert] a.npy: a .npy file holds one array, but two.npz has 2; write .npz");
  io::save_npz(folder_ / "one.npz", {{"x", tensor({1.0F, 2.0F})}});
  ASSERT_EQ(run("convert one.npz x.npy").code, 0);
  EXPECT_EQ(io::load_npy(folder_ / "x.npy").to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST_F(Convert, RefusesWhatItCannotDo) {
  io::save_npz(folder_ / "a.npz", {{"x", tensor({1.0F, 70000.0F})}});
  EXPECT_EQ(refusal("convert a.npz b.npz --dtype f16"),
            "1 tenon: [convert] a.npz: tensor \"x\" has numbers too large for f16; use --dtype bf16 or f32");
  EXPECT_FALSE(fs::exists(folder_ / "b.npz"));
  EXPECT_EQ(refusal("convert a.npz b.npz --dtype bf16"),
            "1 tenon: [npz] b.npz: tensor \"x\" is bf16, which numpy lacks; convert it to f32 first");
  EXPECT_EQ(refusal("convert a.npz b.bin"),
            "1 tenon: [convert] b.bin: a .bin file is made of a folder with a Llama in it, not of a.npz");
  EXPECT_EQ(refusal("convert no.npz b.npz"), "1 tenon: [convert] no.npz: there is no such file or folder");
  EXPECT_EQ(refusal("convert a.npz b.gguf"),
            "1 tenon: [convert] b.gguf: .gguf is no ending of a known format; there are .safetensors, .pt, .npz, .npy, "
            ".bin (llama2.c) and folders");
  EXPECT_EQ(refusal("convert a.npz"), "2 tenon convert: OUT: is missing; or use --list; see tenon convert --help");
  EXPECT_EQ(refusal("convert a.npz b.npz --dtype f8"),
            "2 tenon convert: --dtype: f8 not in {f32,f16,bf16}; see tenon convert --help");
}

TEST_F(Convert, SaysWhatIsWrongWithItsInput) {
  ASSERT_EQ(bash("mkfifo pipe").code, 0);
  EXPECT_EQ(refusal("convert --list pipe"),
            "1 tenon: [convert] pipe: is neither a file nor a folder; write it to a file first");
  EXPECT_EQ(refusal("convert pipe a.npz"),
            "1 tenon: [convert] pipe: is neither a file nor a folder; write it to a file first");
  std::ofstream(folder_ / "weights") << "x";
  EXPECT_EQ(refusal("convert --list weights"),
            "1 tenon: [convert] weights: its name has no ending, which tells the format; there are .safetensors, .pt, "
            ".npz, .npy, .bin (llama2.c) and folders");
  fs::create_symlink("loop", folder_ / "loop");
  io::save_folder(folder_ / "own", R"({"model_type": "gpt2"})", weights());
  EXPECT_EQ(refusal("convert own x.bin"),
            "1 tenon: [llama] config.json: model_type is \"gpt2\"; only \"llama\" is supported (in own)");
  io::save_npz(folder_ / "a.npz", weights());
  EXPECT_EQ(refusal("convert a.npz loop/b.npz"),
            "1 tenon: [npz] loop/b.npz: cannot be written: Too many levels of symbolic links");
  EXPECT_EQ(refusal("convert loop a.npz"),
            "1 tenon: [convert] loop: cannot be read: Too many levels of symbolic links");
  EXPECT_EQ(
      refusal("convert a.npz b.safetensors.index.json"),
      "1 tenon: [convert] b.safetensors.index.json: an index is only read; write a .safetensors file or a folder");
  std::ofstream(folder_ / "bad.json") << "[1]";
  EXPECT_EQ(refusal("convert a.npz out --config bad.json --dtype f16"),
            "1 tenon: [convert] bad.json: is not a JSON object");
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(Convert, ALinkIsReplacedAndNotWhatItLeadsTo) {
  io::save_npz(folder_ / "a.npz", weights());
  std::ofstream(folder_ / "precious.npz") << "mine";
  fs::create_symlink("precious.npz", folder_ / "link.npz");
  ASSERT_EQ(run("convert a.npz link.npz").code, 0);
  EXPECT_EQ(content_of(folder_ / "precious.npz"), "mine");
  EXPECT_FALSE(fs::is_symlink(folder_ / "link.npz"));
  fs::create_directory(folder_ / "real");
  fs::create_directory_symlink("real", folder_ / "folder");
  std::ofstream(folder_ / "config.json") << "{}";
  ASSERT_EQ(run("convert a.npz folder --config config.json").code, 0);  // a link to a folder is that folder
  EXPECT_TRUE(fs::exists(folder_ / "real/model.safetensors"));
}

// What is read stays byte for byte as it was, by whatever name the output would reach it.
class ConvertInPlace : public Convert {
 protected:
  ConvertInPlace() {
    io::save_folder(folder_ / "own", R"({"model_type": "gpt2"})", weights());
    std::ofstream(folder_ / "own/tokenizer.json") << "{}";
    io::save_folder(folder_ / "cut", R"({"model_type": "gpt2"})", weights(), {}, 8);
  }
  /// Every file of a folder, by its path.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = entry.path().string();
      if (entry.is_regular_file() && name.find("/.") == name.npos) all[name] = content_of(entry.path());
    }
    return all;
  }
  /// What the command says; nothing may change.
  std::string refused(const std::string& arguments) {
    const auto before = contents();
    const std::string text = refusal("convert " + arguments);
    EXPECT_TRUE(contents() == before) << arguments;
    const std::string start = "1 tenon: [convert] ";
    return text.starts_with(start) ? text.substr(start.size()) : text;
  }
};

TEST_F(ConvertInPlace, AFileOfTheFolderThatIsRead) {
  EXPECT_EQ(refused("own own/model.safetensors"), "own/model.safetensors: lies in own, which is read; write elsewhere");
  EXPECT_EQ(refused("own own/more/new.npz"), "own/more/new.npz: lies in own, which is read; write elsewhere");
  EXPECT_EQ(refused("./own/. ./own"), "./own: is what is read; write to another name");
  fs::create_directory_symlink("own", folder_ / "link");
  EXPECT_EQ(refused("own link --dtype f16"), "link: is what is read; write to another name");
  EXPECT_EQ(refused("link own/x.npz"), "own/x.npz: lies in link, which is read; write elsewhere");
}

TEST_F(ConvertInPlace, TheFolderOfAFileThatIsRead) {
  EXPECT_EQ(refused("own/model.safetensors own --config own/config.json"),
            "own: holds own/model.safetensors, which is read; write elsewhere");
  io::save_npz(folder_ / "a.npz", weights());
  EXPECT_EQ(refused("a.npz own --config own/config.json"),
            "own: holds own/config.json, which is read; write elsewhere");
  EXPECT_EQ(refused("own ."), ".: holds own, which is read; write elsewhere");
}

TEST_F(ConvertInPlace, AShardOfTheIndexThatIsRead) {
  ASSERT_TRUE(fs::exists(folder_ / "cut/model-00001-of-00002.safetensors"));
  EXPECT_EQ(refused("cut/model.safetensors.index.json cut/model-00001-of-00002.safetensors"),
            "cut/model-00001-of-00002.safetensors: is what is read; write to another name");
  EXPECT_EQ(refused("cut cut/model-00002-of-00002.safetensors"),
            "cut/model-00002-of-00002.safetensors: lies in cut, which is read; write elsewhere");
  fs::create_hard_link(folder_ / "cut/model-00001-of-00002.safetensors", folder_ / "twin.safetensors");
  EXPECT_EQ(refused("cut/model.safetensors.index.json twin.safetensors"),
            "twin.safetensors: is what is read; write to another name");
}

TEST_F(ConvertInPlace, FilesThatHaveTwoNames) {
  fs::create_hard_link(folder_ / "own/model.safetensors", folder_ / "twin.safetensors");
  EXPECT_EQ(refused("own twin.safetensors"),
            "twin.safetensors: has a file under another name that belongs to own, which is read; write elsewhere");
  fs::create_directory(folder_ / "copy");
  fs::create_hard_link(folder_ / "own/config.json", folder_ / "copy/config.json");
  EXPECT_EQ(refused("own copy"),
            "copy: has a file under another name that belongs to own, which is read; write elsewhere");
}

// A model's folder is replaced as a whole or not at all.
class ConvertOver : public ConvertInPlace {
 protected:
  ConvertOver() {
    io::save_folder(folder_ / "old", R"({"model_type": "gpt2", "old": 1})", weights());
    std::ofstream(folder_ / "old/tokenizer.json") << "old";
  }
  std::vector<std::string> names_in(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / folder)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(ConvertOver, NothingOfTheOldModelStays) {
  fs::remove(folder_ / "own/tokenizer.json");
  ASSERT_EQ(run("convert own old/").out, "wrote old/\n");
  EXPECT_EQ(names_in("old"), (std::vector<std::string>{"config.json", "model.safetensors"}));
  EXPECT_EQ(content_of(folder_ / "old/config.json"), R"({"model_type": "gpt2"})");
  EXPECT_EQ(bash("ls -d old*").out, "old\n");
}

TEST_F(ConvertOver, AFailureOnTheWayLeavesTheOldModelWhole) {
  std::ofstream(folder_ / "own/tokenizer.json") << std::string(300'000, ' ');
  const auto before = contents();
  const Outcome outcome = bash("ulimit -f 200; tenon convert own old");
  EXPECT_EQ(outcome.err, "tenon: [convert] old/tokenizer.json: cannot be written: File too large\n");
  EXPECT_TRUE(contents() == before);
  EXPECT_EQ(bash("ulimit -f 200; tenon convert own made/of/new").code, 1);
  EXPECT_FALSE(fs::exists(folder_ / "made"));
  EXPECT_EQ(bash("ls -d old*").out, "old\n");
}

TEST_F(ConvertOver, WhatIsNoModelIsRefused) {
  const std::string remedy = "choose a folder that is new, empty or a model's";
  fs::create_directory(folder_ / "old/merges.txt");
  EXPECT_EQ(refused("own old"), "old: holds merges.txt, which is no file of a model; " + remedy);
  fs::remove(folder_ / "old/merges.txt");
  std::ofstream(folder_ / "old/notes.txt") << "mine";
  EXPECT_EQ(refused("own old"), "old: holds notes.txt, which is no file of a model; " + remedy);
  fs::remove(folder_ / "old/notes.txt");
  std::ofstream(folder_ / "old/model.safetensors.index.json") << "{}";
  EXPECT_EQ(refused("own old"), "old: its model.safetensors.index.json is no index of weights; " + remedy);
  for (const std::string config : {R"({"name": "my app"})", "[1]", "no JSON"}) {
    std::ofstream(folder_ / "old/config.json") << config;
    EXPECT_EQ(refused("own old"), "old: is not empty and has no config.json of a model; " + remedy);
  }
}

TEST_F(ConvertOver, WhatAKilledOneLeftBesideIsSweptOrBroughtBack) {
  const std::string dead = ".99999999-0";  // no system has as many processes
  fs::create_directory(folder_ / ("old" + dead + ".tmp"));
  std::ofstream(folder_ / ("old" + dead + ".tmp/model.safetensors")) << "half";
  fs::create_directories(folder_ / ("old.99999999-1.tmp/mine"));  // never one of ours
  ASSERT_EQ(run("convert own old").code, 0);
  EXPECT_EQ(bash("ls -d old*").out, "old\nold.99999999-1.tmp\n");
  fs::rename(folder_ / "old", folder_ / ("old" + dead + ".aside"));
  std::ofstream(folder_ / "own/tokenizer.json") << std::string(300'000, ' ');
  EXPECT_EQ(bash("ulimit -f 200; tenon convert own old").code, 1);
  EXPECT_EQ(content_of(folder_ / "old/config.json"), R"({"model_type": "gpt2"})");
  EXPECT_EQ(bash("ls -d old*").out, "old\nold.99999999-1.tmp\n");
}

TEST_F(ConvertOver, TheWorkingDirectoryIsFilledButNotReplaced) {
  fs::create_directory(folder_ / "here");
  EXPECT_EQ(bash("cd here; tenon convert ../own .; ls").out,
            "wrote .\nconfig.json\nmodel.safetensors\ntokenizer.json\n");
  EXPECT_EQ(
      bash("cd here; tenon convert ../own .").err,
      "tenon: [convert] .: is the folder that this command runs in, which cannot be replaced; run it from another\n");
}

TEST_F(Convert, Llama2cBecomesAFolderThatModelsRead) {
  const fs::path file = io::shared_data() / "stories260K" / "stories260K.bin";
  if (!fs::exists(file)) GTEST_SKIP() << file << " is not there; TENON_SHARED_DATA names the folder above";
  ASSERT_EQ(run("convert '" + fs::absolute(file).string() + "' stories").code, 0);
  ASSERT_EQ(run("convert stories again.bin").code, 0);
  const std::string again = content_of(folder_ / "again.bin"), original = content_of(file);
  const size_t weights = original.size() - 2 * 512 * 4 * sizeof(float);  // less the rotary tables, which end the file
  ASSERT_EQ(again.size(), original.size());
  EXPECT_TRUE(again.substr(0, weights) == original.substr(0, weights));
  const auto from_folder = models::Llama::load(folder_ / "stories");
  const auto from_file = models::Llama::load_llama2c(file);
  const models::GenerateOptions options{.new_tokens = 20};
  EXPECT_EQ(models::generate(*from_folder, {1}, options), models::generate(*from_file, {1}, options));
}

// What is read of a folder from anywhere is that folder's.
TEST_F(Convert, LinksOutOfAFolderAreNotFollowed) {
  io::save_folder(folder_ / "in", R"({"model_type": "gpt2"})", weights());
  std::ofstream(folder_ / "secret") << "mine";
  fs::create_symlink("../secret", folder_ / "in/tokenizer.json");
  EXPECT_EQ(
      refusal("convert in out"),
      "1 tenon: [convert] in/tokenizer.json: is a link out of the folder, which is not followed; put the file itself "
      "there");
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  fs::remove(folder_ / "in/tokenizer.json");
  fs::rename(folder_ / "in/config.json", folder_ / "elsewhere.json");
  fs::create_symlink("../elsewhere.json", folder_ / "in/config.json");
  EXPECT_EQ(refusal("convert in out"),
            "1 tenon: [convert] in/config.json: is a link out of the folder, which is not followed; put the file "
            "itself there");
  fs::rename(folder_ / "elsewhere.json", folder_ / "in/inside.json");
  fs::remove(folder_ / "in/config.json");
  fs::create_symlink("inside.json", folder_ / "in/config.json");
  EXPECT_EQ(run("convert in out").code, 0);
}

// As huggingface_hub keeps what it downloaded.
TEST_F(Convert, LinksOfAHuggingFaceCacheAreFollowed) {
  const fs::path snapshot = folder_ / "models--a/snapshots/main", blobs = folder_ / "models--a/blobs";
  io::save_folder(snapshot, R"({"model_type": "gpt2"})", weights());
  std::ofstream(snapshot / "tokenizer.json") << "{}";
  fs::create_directories(blobs);
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    fs::rename(snapshot / name, blobs / name);
    fs::create_symlink(fs::path("../../blobs") / name, snapshot / name);
  }
  EXPECT_EQ(run("convert models--a/snapshots/main out").code, 0);
  EXPECT_EQ(content_of(folder_ / "out/tokenizer.json"), "{}");
}

TEST_F(Convert, HostileNamesAreShownAndNotObeyed) {
  io::save_safetensors(folder_ / "a.safetensors", weights());
  EXPECT_EQ(bash("tenon convert a.safetensors $'b\\e[31m\\nwrote c.npz'").out, "wrote b\\x1b[31m\\x0awrote c.npz\n");
  const Outcome info = bash("TENON_CACHE_DIR=$'/tmp/\\e]0;title\\a' tenon info");
  EXPECT_EQ(info.out.find('\x1b'), info.out.npos) << info.out;
  EXPECT_NE(info.out.find("/tmp/\\x1b]0;title\\x07"), info.out.npos) << info.out;
}

}  // namespace
}  // namespace tenon::cli
