// Files that other tools wrote, against the values those tools give; and broken ones, each refused for what is broken.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "tenon/io/npy.h"
#include "tenon/io/safetensors.h"
#include "tests/io/support.h"

namespace tenon::io {
namespace {

class LoaderFiles : public OnSharedData {
 protected:
  LoaderFiles() : OnSharedData("loader_files") {}

  std::set<std::string> files(const std::string& folder, const std::string& ending) const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(shared_ / folder)) {
      if (entry.path().extension() == ending) names.insert(entry.path().filename());
    }
    return names;
  }
  std::string npy_refusal(const std::string& name) const {
    const fs::path file = shared_ / name;
    return refusal_by("npy", file, [&] { load_npy(file); });
  }
  std::string safetensors_refusal(const std::string& name) const {
    const fs::path file = shared_ / name;
    return refusal_by("safetensors", file, [&] { load_safetensors(file); });
  }
};

/// What a dtype of numpy is held as.
DType held(const std::string& descr) {
  const std::map<std::string, DType> all = {{"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64},
                                            {"i1", DType::i32}, {"i2", DType::i32}, {"i4", DType::i32},
                                            {"i8", DType::i64}, {"u1", DType::u8},  {"u2", DType::i32},
                                            {"u4", DType::i64}, {"u8", DType::i64}, {"b1", DType::boolean}};
  return all.at(descr.substr(1));
}

void expect_array(const Tensor& x, const nlohmann::json& entry, const std::string& name) {
  EXPECT_EQ(x.dtype(), held(entry["dtype"])) << name;
  EXPECT_EQ(std::vector<int64_t>(x.shape().begin(), x.shape().end()), entry["shape"].get<std::vector<int64_t>>())
      << name;
  const auto values = x.to_vector<double>();
  const auto first = entry["first"].get<std::vector<double>>();
  ASSERT_GE(values.size(), first.size()) << name;
  EXPECT_EQ(std::vector<double>(values.begin(), values.begin() + static_cast<ptrdiff_t>(first.size())), first) << name;
  if (!entry.contains("sum")) return;
  double sum = 0;
  for (const double value : values) sum += value;
  EXPECT_NEAR(sum, entry["sum"].get<double>(), 1e-9 * std::max(1.0, std::abs(sum))) << name;
}

TEST_F(LoaderFiles, ArraysHaveTheValuesNumpyGives) {
  const auto all = nlohmann::json::parse(content_of(shared_ / "expected.json"));
  int checked = 0;
  for (const auto& [name, entry] : all.items()) {
    if (!name.starts_with("npy/") || !entry["first"].is_array() || name == "npy/np_c8_4.npy") continue;
    expect_array(load_npy(shared_ / name), entry, name);
    ++checked;
  }
  EXPECT_EQ(checked, 21);
}

TEST_F(LoaderFiles, SpecialFloatsAreKept) {
  const auto values = load_npy(shared_ / "npy/np_f4_special.npy").to_vector<float>();
  ASSERT_EQ(values.size(), 7U);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], kInf);
  EXPECT_EQ(values[2], -kInf);
  EXPECT_TRUE(values[3] == 0 && std::signbit(values[3]));
  EXPECT_EQ(values[4], 1.4e-45F);
  EXPECT_EQ(values[5], std::numeric_limits<float>::max());
  EXPECT_EQ(values[6], -1.5F);
}

TEST_F(LoaderFiles, ArraysOfOtherToolsAreRead) {
  EXPECT_EQ(load_npy(shared_ / "npy/candle_test.npy").to_vector<int64_t>(),
            (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const Tensor two_by_three = load_npy(shared_ / "npy/tl_test.npy");
  EXPECT_EQ(two_by_three.shape(), (Dims{2, 3}));
  EXPECT_EQ(two_by_three.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(LoaderFiles, EveryArrayIsReadOrRefusedForItsDtype) {
  const std::map<std::string, std::string> refused = {
      {"np_c8_4.npy", R"(the dtype "<c8" (complex numbers) is one that Tenon does not hold)"},
      {"np_unicode_str.npy", R"((text) is one that Tenon does not hold)"},
      {"np_structured.npy", "the array is structured (its dtype is a list of fields), which Tenon does not hold"}};
  for (const std::string& name : files("npy", ".npy")) {
    const std::string refusal = npy_refusal("npy/" + name);
    const auto wanted = refused.find(name);
    if (wanted == refused.end())
      EXPECT_EQ(refusal, "nothing was thrown") << name;
    else
      EXPECT_NE(refusal.find(wanted->second), std::string::npos) << refusal;
  }
}

TEST_F(LoaderFiles, PackedAndStoredArchivesHoldTheSame) {
  for (const char* name : {"npy/np_stored.npz", "npy/np_deflated.npz"}) {
    const auto tensors = load_npz(shared_ / name);
    ASSERT_EQ(tensors.size(), 2U) << name;
    EXPECT_EQ(tensors.at("w").shape(), (Dims{2, 3})) << name;
    EXPECT_EQ(tensors.at("w").to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5})) << name;
    EXPECT_EQ(tensors.at("b").to_vector<int64_t>(), (std::vector<int64_t>{1, -2})) << name;
  }
}

TEST_F(LoaderFiles, ArchivesOfOtherToolsAreRead) {
  const auto candle = load_npz(shared_ / "npy/candle_test.npz"), tl = load_npz(shared_ / "npy/tl_test.npz");
  EXPECT_EQ(candle.at("x_plus_one").to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(tl.at("weights").to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(tl.at("biases").to_vector<int32_t>(), (std::vector<int32_t>{10, 20, 30, 40}));
}

TEST_F(LoaderFiles, EverySafetensorsFileIsRead) {
  const std::set<std::string> names = files("safetensors", ".safetensors");
  EXPECT_EQ(names.size(), 9U);
  for (const std::string& name : names) EXPECT_EQ(safetensors_refusal("safetensors/" + name), "nothing was thrown");
}

TEST_F(LoaderFiles, TinyModelHasItsMetadataAndWeights) {
  const SafetensorsFile file = load_safetensors(shared_ / "safetensors/nutllm_tiny.safetensors");
  EXPECT_EQ(file.metadata.at("nutllm.max_seq"), "16");
  EXPECT_EQ(file.tensors.at("model.norm.weight").to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(file.tensors.at("model.embed_tokens.weight")[0].to_vector<float>(), (std::vector<float>{1, 0, 0, 0}));
}

TEST_F(LoaderFiles, CodesOfASpeechModelHaveTheirShape) {
  const Tensor codes = load_safetensors(shared_ / "safetensors/candle_jfk-codes.safetensors").tensors.at("codes");
  EXPECT_EQ(codes.shape(), (Dims{1, 2, 828}));
  EXPECT_EQ(codes.dtype(), DType::i64);
  EXPECT_EQ(codes.index({0, 0, 0}).item<int64_t>(), 865);
}

TEST_F(LoaderFiles, MalformedFilesAreRefusedForWhatIsWrong) {
  EXPECT_EQ(safetensors_refusal("malformed/hf_test_header_too_large_0.safetensors"),
            "a header of 18446742974197923900 bytes is over the limit of 100000000; is this a safetensors file?");
  EXPECT_EQ(safetensors_refusal("malformed/hf_test_invalid_header_not_json_0.safetensors"),
            "the header is not valid JSON (at byte 2 of it)");
  EXPECT_EQ(safetensors_refusal("malformed/hf_test_metadata_incomplete_buffer_0.safetensors"),
            "the last 34 bytes belong to no tensor");
  EXPECT_EQ(safetensors_refusal("malformed/hf_test_validation_overflow_0.safetensors"),
            "tensor \"test\" of shape (2, 18446744073709551614) is too large");
  EXPECT_EQ(npy_refusal("malformed/npy_badmagic.npy"), "is no npy file: it does not start with \\x93NUMPY");
  EXPECT_EQ(npy_refusal("malformed/npy_negshape.npy"), "the shape has a negative number");
  EXPECT_EQ(npy_refusal("malformed/npy_truncated_data.npy"),
            "an array of shape (3, 4, 5) and dtype \"<f4\" needs 240 bytes, 233 are there");
}

TEST_F(LoaderFiles, NoMalformedFileIsLeftOut) {
  EXPECT_EQ(files("malformed", ".safetensors").size() + files("malformed", ".npy").size(), 7U);
}

}  // namespace
}  // namespace tenon::io
