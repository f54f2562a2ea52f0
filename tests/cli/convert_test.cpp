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
            "1 tenon: [convert] tensor \"x\" has numbers too large for f16; use --dtype bf16 or f32");
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

}  // namespace
}  // namespace tenon::cli
