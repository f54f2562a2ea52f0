// Model folders, whole and in shards: what is saved comes back, and what is stale or missing is never taken for good.

#include "tenon/io/hugging_face.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "tenon/io/open_folder.h"
#include "tenon/io/safetensors.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/io/support.h"

namespace tenon::io {
namespace {

const std::string kConfig = R"({"model_type": "gpt2", "n_layer": 2})";

class HuggingFace : public InFolder {
 protected:
  HuggingFace() : InFolder("model") {}

  std::map<std::string, Tensor> four() const {
    return {{"a", full({10}, 1.0)}, {"b", full({10}, 2.0)}, {"c", full({10}, 3.0)}, {"d", full({10}, 4.0)}};
  }
  void save_two_shards() const { save_safetensors(path("model.safetensors"), four(), {{"format", "pt"}}, 80); }
  fs::path index() const { return path("model.safetensors.index.json"); }
  std::string index_refusal() const {
    return refusal_by("safetensors", index(), [&] { load_safetensors(index()); });
  }
  void set_index(const std::string& text) const { write("model.safetensors.index.json", text); }
};

TEST_F(HuggingFace, FolderComesBack) {
  save_folder(path(), kConfig, four());
  const HuggingFaceFolder loaded = load_folder(path());
  EXPECT_EQ(loaded.config, kConfig);
  EXPECT_EQ(loaded.metadata, (std::map<std::string, std::string>{{"format", "pt"}}));
  ASSERT_EQ(loaded.tensors.size(), 4U);
  EXPECT_EQ(loaded.tensors.at("c").sum().item<float>(), 30);
}

TEST_F(HuggingFace, FolderInShardsComesBack) {
  save_folder(path(), kConfig, four(), {{"format", "pt"}}, 80);
  EXPECT_TRUE(fs::exists(path() / "model-00001-of-00002.safetensors"));
  EXPECT_FALSE(fs::exists(path() / "model.safetensors"));
  EXPECT_EQ(load_folder(path()).tensors.at("d").sum().item<float>(), 40);
}

TEST_F(HuggingFace, NewShardsReplaceAnOldFile) {
  save_folder(path(), kConfig, {{"a", zeros({1})}});
  save_folder(path(), kConfig, four(), {}, 80);
  EXPECT_EQ(load_folder(path()).tensors.size(), 4U);
}

TEST_F(HuggingFace, NewFileReplacesOldShards) {
  save_folder(path(), kConfig, four(), {}, 80);
  save_folder(path(), kConfig, {{"a", zeros({1})}});
  EXPECT_FALSE(fs::exists(path() / "model.safetensors.index.json"));
  EXPECT_EQ(load_folder(path()).tensors.size(), 1U);
}

TEST_F(HuggingFace, FolderWithoutWeightsIsRefused) {
  fs::create_directory(path());
  write("model/config.json", kConfig);
  EXPECT_EQ(text_of([&] { load_folder(path()); }), "[hugging_face] " + path().string() +
                                                       ": has neither model.safetensors nor "
                                                       "model.safetensors.index.json");
}

TEST_F(HuggingFace, FolderWithoutConfigIsRefused) {
  EXPECT_EQ(text_of([&] { load_folder(path()); }),
            "[hugging_face] " + path().string() + ": cannot be read: No such file or directory");
  fs::create_directory(path());
  EXPECT_EQ(text_of([&] { load_folder(path()); }),
            "[hugging_face] " + (path() / "config.json").string() + ": cannot be read: No such file or directory");
}

TEST_F(HuggingFace, ConfigThatIsNoJsonObjectIsRefused) {
  save_folder(path(), kConfig, four());
  const std::string start = "[hugging_face] " + (path() / "config.json").string() + ": ";
  const std::pair<std::string, std::string> rows[] = {{"", "is not valid JSON (at byte 1 of it)"},
                                                      {"{", "is not valid JSON (at byte 2 of it)"},
                                                      {"{} x", "is not valid JSON (at byte 4 of it)"},
                                                      {"[]", "is not a JSON object"},
                                                      {"3", "is not a JSON object"},
                                                      {std::string("{}\0", 3), "is not valid JSON (at byte 3 of it)"},
                                                      {"{'a': 1}", "is not valid JSON (at byte 2 of it)"},
                                                      {"{\"a\": NaN}", "is not valid JSON (at byte 7 of it)"}};
  for (const auto& [text, wanted] : rows) {
    write("model/config.json", text);
    EXPECT_EQ(text_of([&] { load_folder(path()); }), start + wanted) << text;
    EXPECT_EQ(text_of([&] { save_folder(path(), text, four()); }), start + wanted) << text;
  }
}

TEST_F(HuggingFace, FolderThatCannotBeMadeFails) {
  write("model", "a file");
  EXPECT_EQ(text_of([&] { save_folder(path(), kConfig, four()); }),
            "[hugging_face] " + path().string() + ": cannot be made: Not a directory");
}

TEST_F(HuggingFace, ShardsHoldNoMoreThanAsked) {
  save_two_shards();
  EXPECT_EQ(files(), (std::vector<std::string>{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                                               "model.safetensors.index.json"}));
  EXPECT_EQ(load_safetensors(path("model-00001-of-00002.safetensors")).tensors.size(), 2U);
  const auto index_json = nlohmann::json::parse(content_of(index()));
  EXPECT_EQ(index_json["metadata"]["total_size"], 160);
  EXPECT_EQ(index_json["weight_map"]["d"], "model-00002-of-00002.safetensors");
}

TEST_F(HuggingFace, TensorLargerThanAShardGetsOneOfItsOwn) {
  save_safetensors(path("model.safetensors"), four(), {}, 1);
  EXPECT_EQ(files().size(), 5U);
  EXPECT_EQ(load_safetensors(index()).tensors.size(), 4U);
}

TEST_F(HuggingFace, WhatFitsIsOneFile) {
  save_safetensors(path("model.safetensors"), four(), {}, 160);
  EXPECT_EQ(files(), std::vector<std::string>{"model.safetensors"});
}

TEST_F(HuggingFace, MissingShardIsNamed) {
  save_two_shards();
  fs::remove(path("model-00002-of-00002.safetensors"));
  EXPECT_EQ(index_refusal(), "shard \"model-00002-of-00002.safetensors\" is missing");
}

TEST_F(HuggingFace, BrokenShardIsNamed) {
  save_two_shards();
  const fs::path shard = write("model-00001-of-00002.safetensors", "short");
  EXPECT_EQ(text_of([&] { load_safetensors(index()); }),
            "[safetensors] " + shard.string() + ": 5 bytes are too few for a safetensors file");
}

TEST_F(HuggingFace, TensorThatIsNotInItsShardIsNamed) {
  save_two_shards();
  save_safetensors(path("model-00002-of-00002.safetensors"), {{"c", ones({1})}});
  EXPECT_EQ(index_refusal(), "tensor \"d\" is not in shard \"model-00002-of-00002.safetensors\"");
}

TEST_F(HuggingFace, TensorInTwoShardsIsNamed) {
  save_two_shards();
  save_safetensors(path("model-00002-of-00002.safetensors"), {{"a", ones({1})}, {"c", ones({1})}, {"d", ones({1})}});
  EXPECT_EQ(index_refusal(),
            "tensor \"a\" should be in shard \"model-00001-of-00002.safetensors\", but is in "
            "\"model-00002-of-00002.safetensors\"");
}

TEST_F(HuggingFace, TensorThatTheIndexDoesNotNameIsNamed) {
  save_two_shards();
  save_safetensors(path("model-00002-of-00002.safetensors"), {{"c", ones({1})}, {"d", ones({1})}, {"e", ones({1})}});
  EXPECT_EQ(index_refusal(),
            "shard \"model-00002-of-00002.safetensors\" holds tensor \"e\", which the index does not name");
}

TEST_F(HuggingFace, IndexThatLeadsElsewhereIsRefused) {
  for (const std::string name : {"../x", "/etc/passwd", "", ".", "..", "a\\\\b", "a\\u0000"}) {
    set_index(R"({"weight_map":{"a":")" + name + "\"}}");
    EXPECT_NE(index_refusal().find("which is no name of a file beside the index"), std::string::npos) << name;
  }
}

TEST_F(HuggingFace, BrokenIndexIsRefused) {
  const std::pair<std::string, std::string> rows[] = {
      {"", "is not valid JSON (at byte 1 of it)"},
      {"[]", "is not a JSON object"},
      {"{}", "has no weight_map"},
      {R"({"weight_map":[]})", "weight_map must be a JSON object"},
      {R"({"weight_map":3})", "weight_map must be a JSON object"},
      {R"({"weight_map":{"a":3}})", "the file of tensor \"a\" must be a string"},
      {R"({"weight_map":{"a":{}}})", "the file of tensor \"a\" must be a string"},
      {R"({"weight_map":{"a":["x"]}})", "the file of tensor \"a\" must be a string"},
      {R"({"weight_map":{"a":"x","a":"x"}})", "tensor \"a\" occurs twice"},
      {R"({"weight_map":{},"weight_map":{}})", "has two of weight_map"},
      {R"({"weights":{}})", "has an unknown field \"weights\""}};
  for (const auto& [text, wanted] : rows) {
    set_index(text);
    EXPECT_EQ(index_refusal(), wanted) << text;
  }
}

TEST_F(HuggingFace, MetadataOfTheIndexMayBeAnything) {
  set_index(R"({"metadata":{"total_size":1.5,"weight_map":{"a":3},"deep":[[[{"x":null}]]]},"weight_map":{}})");
  EXPECT_TRUE(load_safetensors(index()).tensors.empty());
}

TEST_F(HuggingFace, OldShardsSurviveAFullDisk) {
  save_two_shards();
  {
    const FileSizeLimit limit(1000);
    EXPECT_NE(text_of([&] {
                save_safetensors(path("model.safetensors"), {{"a", zeros({9})}, {"b", zeros({500})}}, {}, 80);
              }).find("cannot be written: File too large"),
              std::string::npos);
  }
  EXPECT_EQ(files().size(), 3U);
  EXPECT_EQ(load_safetensors(index()).tensors.at("a").sum().item<float>(), 10);
}

TEST_F(HuggingFace, AFullDiskLeavesNoFolderAndNoWeightsWithoutTheirConfig) {
  for (const rlim_t bytes : {rlim_t{1}, rlim_t{100}}) {
    const FileSizeLimit limit(bytes);
    const std::string text = text_of([&] {
      save_folder(path("new/model"), R"({"model_type": "gpt2"})", {{"x", ones({100})}});
    });
    EXPECT_NE(text.find("cannot be written: File too large"), std::string::npos) << text;
    EXPECT_FALSE(fs::exists(path("new")));
  }
  save_folder(path("old"), R"({"a": 1})", {{"x", ones({1})}});
  const std::string weights = content_of(path("old/model.safetensors"));
  const FileSizeLimit limit(300);
  EXPECT_NE(text_of([&] {
              save_folder(path("old"), "{\"a\": \"" + std::string(400, 'b') + "\"}", {{"x", ones({2})}});
            }),
            "nothing was thrown");
  EXPECT_TRUE(content_of(path("old/model.safetensors")) == weights);
}

// ---- folders that are replaced while they are read ----

class Exchanged : public InFolder {
 protected:
  Exchanged() : InFolder("model") {}

  /// A model whose config and weights both say the same number.
  static void save(const fs::path& folder, int number) {
    save_folder(folder, fmt::format(R"({{"number": {}}})", number), {{"w", full({4}, number)}});
  }
  static int number_in(const HuggingFaceFolder& loaded) {
    const int number = nlohmann::json::parse(loaded.config)["number"];
    EXPECT_EQ(loaded.tensors.at("w").to_vector<float>(), std::vector<float>(4, static_cast<float>(number)));
    return number;
  }
};

TEST_F(Exchanged, AnOpenFolderStaysItself) {
  save(path(), 1);
  save(path("other"), 2);
  const OpenFolder folder("test", path());
  fs::rename(path(), path("old"));
  fs::rename(path("other"), path());
  EXPECT_EQ(number_in(load_folder(folder)), 1);
  EXPECT_EQ(number_in(load_folder(path())), 2);
}

TEST_F(Exchanged, AFileThatIsReplacedMeanwhileIsNoticed) {
  save(path(), 1);
  const OpenFolder folder("test", path());
  const auto config = folder.open("config.json");
  save(path(), 2);
  EXPECT_EQ(load_safetensors(folder, "model.safetensors").tensors.at("w").to_vector<float>()[0], 2);
  EXPECT_EQ(refusal_by("test", path(), [&] { folder.require_unchanged("config.json"); }),
            "its config.json was replaced while the folder was read; read it again");
}

// The weights have their new name already, and the config has not.
TEST_F(Exchanged, AWriterThatHasNotFinishedIsNoticed) {
  save(path(), 1);
  const OpenFolder folder("test", path());
  folder.open("config.json");
  folder.require_unchanged("config.json");
  std::ofstream(path() / fmt::format("config.json.{}-0.tmp", getpid())) << "half";
  EXPECT_EQ(refusal_by("test", path(), [&] { folder.require_unchanged("config.json"); }),
            "its config.json was replaced while the folder was read; read it again");
}

TEST_F(Exchanged, WhatIsLoadedIsOfOneModel) {
  save(path(), 0);
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    for (int i = 0; i < 40; ++i) save(path(), i % 2);
    is_over = true;
  });
  while (!is_over) {
    try {
      number_in(load_folder(path()));
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("was replaced while the folder was read"), std::string::npos)
          << error.what();
    }
  }
  writer.join();
  EXPECT_EQ(number_in(load_folder(path())), 1);
}

}  // namespace
}  // namespace tenon::io
