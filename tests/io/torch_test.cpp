// .pt files: state dicts have the values PyTorch saved, and no file makes the reader run anything or fall over.
//
// tests/io/make_torch_files.py made the files.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tenon/base/resident.h"
#include "tenon/device/storage.h"
#include "tenon/io/torch_file.h"
#include "tenon/io/torch_header.h"
#include "tenon/io/zip.h"
#include "tenon/tensor/creation.h"
#include "tests/io/support.h"

namespace tenon::io {
namespace {

using namespace std::string_literals;

const fs::path kFiles = fs::path(TENON_SOURCE_DIR) / "tests/io/torch_files";

TorchFile good(const std::string& name) { return load_torch(kFiles / "good" / (name + ".pt")); }

std::string refusal(const fs::path& file) {
  return refusal_by("torch", file, [&] { load_torch(file); });
}

TEST(Torch, StateDictHasItsTensors) {
  const auto tensors = good("state").tensors;
  EXPECT_EQ(tensors.size(), 14U);
  EXPECT_EQ(tensors.at("f32").shape(), (Dims{3, 4}));
  EXPECT_EQ(tensors.at("f16").dtype(), DType::f16);
  EXPECT_EQ(tensors.at("bf16").dtype(), DType::bf16);
  EXPECT_EQ(tensors.at("i8").dtype(), DType::i32);
  EXPECT_EQ(tensors.at("bool").dtype(), DType::boolean);
  EXPECT_EQ(tensors.at("scalar").item<float>(), 2.5F);
  EXPECT_EQ(tensors.at("empty").shape(), (Dims{0, 3}));
  EXPECT_EQ(tensors.at("offset_view").to_vector<float>(), (std::vector<float>{5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(tensors.at("strided_view").to_vector<float>(), (std::vector<float>{0, 3, 6, 9, 12, 15, 18, 21}));
}

TEST(Torch, AListIsNamedByItsPlaces) { EXPECT_EQ(good("a_list").tensors.at("0").shape(), (Dims{4})); }

class TorchWriting : public InFolder {};

TEST_F(TorchWriting, AllTensorsOfAStateDictComeBack) {
  const auto saved = good("state").tensors;
  save_torch(path(), saved);
  const TorchFile loaded = load_torch(path());
  EXPECT_TRUE(loaded.others.empty());
  ASSERT_EQ(loaded.tensors.size(), saved.size());
  for (const auto& [name, tensor] : saved) {
    const Tensor& again = loaded.tensors.at(name);
    EXPECT_EQ(again.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(again.shape(), tensor.shape()) << name;
    EXPECT_EQ(again.to_bytes(), tensor.to_bytes()) << name;
  }
}

TEST_F(TorchWriting, IsTheArchiveOfTorchSave) {
  save_torch(path(), {{"x", good("state").tensors.at("f32")}});
  const std::string file = content_of(path());
  const Input input{"torch", "file", std::as_bytes(std::span(file))};
  std::vector<std::string> names;
  for (const ZipEntry& entry : parse_zip(input)) names.push_back(entry.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"archive/data.pkl", "archive/byteorder", "archive/data/0", "archive/version"}));
}

TEST_F(TorchWriting, StoragesLieWhereTheyCanBeMapped) {
  save_torch(path(), {{"x", good("state").tensors.at("f32")}, {"y", full({3}, 1.0)}});
  const std::string file = content_of(path());
  const Input input{"torch", "file", std::as_bytes(std::span(file))};
  for (const ZipEntry& entry : parse_zip(input))
    EXPECT_EQ((entry.packed.data() - input.bytes.data()) % 64, 0) << entry.name;
}

// A device gets the bytes; it is not ours to replace.
TEST_F(TorchWriting, DevicesAndPipesAreWrittenThrough) {
  save_torch("/dev/null", {{"x", full({3}, 1.0)}});
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = content_of(path("pipe")); });
  save_torch(path("pipe"), {{"x", full({3}, 1.0)}});
  reader.join();
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  save_torch(path(), {{"x", full({3}, 1.0)}});
  EXPECT_EQ(read, content_of(path()));
}

// Behind the storages every byte either does not matter or is missed.
TEST_F(TorchWriting, EveryFlippedByteOfTheDirectoryIsFoundOrHarmless) {
  save_torch(path(), {{"x", full({3}, 1.0)}});
  const std::string whole = content_of(path());
  const std::string pickle = load_torch(path()).pickle;
  for (size_t at = whole.find("PK\x01\x02"); at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write(damaged);
    try {
      const TorchFile loaded = load_torch(path());
      EXPECT_EQ(loaded.pickle, pickle) << at;
      EXPECT_EQ(loaded.tensors.at("x").to_vector<float>(), (std::vector<float>{1, 1, 1})) << at;
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("[torch] " + path().string() + ": ")) << error.what();
    }
  }
}

TEST_F(TorchWriting, TheEndOfTheDirectoryIsLookedAtAsAWhole) {
  save_torch(path(), {{"x", full({3}, 1.0)}});
  const std::string whole = content_of(path());
  const size_t end = whole.find("PK\x06\x06");
  ASSERT_NE(end, whole.npos);
  for (const size_t at : {0, 4, 16, 20, 24, 32, 40, 48, 56, 60, 64, 72}) {  // its fields, and those of its locator
    if (at == 56) continue;  // without a locator the narrow end, which has no numbers, is taken: another refusal
    std::string damaged = whole;
    damaged[end + at] = static_cast<char>(damaged[end + at] ^ 0x10);
    write(damaged);
    EXPECT_NE(refusal(path()), "nothing was thrown") << at;
  }
}

TEST_F(TorchWriting, RefusesWhatNoFileCanHold) {
  EXPECT_EQ(refusal_by("torch", path(), [&] { save_torch(path(), {{"x", Tensor()}}); }), "tensor \"x\" is undefined");
  EXPECT_EQ(refusal_by("torch", path(),
                       [&] {
                         save_torch(path(), {{"\xff", tensor({1.0F})}});
                       }),
            "the name \"\\xff\" is not valid UTF-8");
  EXPECT_TRUE(files().empty());
}

class TorchExpected : public OnSharedData {
 protected:
  TorchExpected() : OnSharedData("loader_files/expected.json") {}
};

TEST_F(TorchExpected, StateDictHasTheValuesThatPyTorchGives) {
  const std::map<std::string, DType> held = {
      {"torch.float32", DType::f32},   {"torch.float64", DType::f64}, {"torch.float16", DType::f16},
      {"torch.bfloat16", DType::bf16}, {"torch.int64", DType::i64},   {"torch.int32", DType::i32},
      {"torch.int8", DType::i32},      {"torch.uint8", DType::u8},    {"torch.bool", DType::boolean}};
  const std::string prefix = "torch113_state:";
  const auto expected = nlohmann::json::parse(content_of(shared_));
  for (const char* file : {"state", "state_protocol4"}) {
    const auto tensors = good(file).tensors;
    int checked = 0;
    for (const auto& [name, entry] : expected.items()) {
      if (!name.starts_with(prefix)) continue;
      const Tensor& x = tensors.at(name.substr(prefix.size()));
      EXPECT_EQ(x.dtype(), held.at(entry["dtype"])) << name;
      EXPECT_EQ(std::vector<int64_t>(x.shape().begin(), x.shape().end()), entry["shape"].get<std::vector<int64_t>>());
      EXPECT_EQ(x.to_vector<double>(), entry["values"].get<std::vector<double>>()) << name;
      ++checked;
    }
    EXPECT_EQ(checked, 14);
  }
}

TEST(Torch, CheckpointIsFlattenedToDottedNames) {
  const TorchFile file = good("checkpoint");
  std::set<std::string> names;
  for (const auto& [name, tensor] : file.tensors) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"model.a", "model.b", "optimizer.state.0.step"}));
  EXPECT_EQ(file.tensors.at("optimizer.state.0.step").item<int64_t>(), 7);
  EXPECT_EQ(file.others, (std::map<std::string, std::string>{{"epoch", "3"},
                                                             {"big", "-1099511627776"},
                                                             {"name", "run \u00e9"},
                                                             {"done", "True"},
                                                             {"scheduler", "None"},
                                                             {"optimizer.betas.0", "0.9"},
                                                             {"optimizer.betas.1", "0.95"}}));
}

TEST(Torch, TiedWeightsStayTied) {
  auto tensors = good("checkpoint").tensors;
  tensors.at("model.a").add_(1.0);
  EXPECT_EQ(tensors.at("model.b").to_vector<float>(), (std::vector<float>{2, 3, 4, 5}));
}

TEST(Torch, ViewsOfOneStorageStayViewsOfOneMemory) {
  auto tensors = good("state").tensors;
  tensors.at("strided_view").add_(100.0).eval();
  EXPECT_EQ(tensors.at("offset_view").to_vector<float>(), (std::vector<float>{5, 106, 7, 8, 109, 10}));
}

TEST(Torch, StoragesStayInTheMapOfTheFile) {
  const size_t before = device::memory_stats().allocations;
  const auto tensors = load_torch(kFiles / "good/checkpoint.pt", "cpu").tensors;
  EXPECT_EQ(device::memory_stats().allocations, before);
  EXPECT_EQ(tensors.at("model.a").to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Torch, UnalignedStoragesAreRead) {
  EXPECT_EQ(good("unaligned").tensors.at("x").to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Torch, NewerDtypesAreWidened) {
  const auto tensors = good("wide").tensors;
  EXPECT_EQ(tensors.at("u16").to_vector<int32_t>(), (std::vector<int32_t>{0, 65535}));
  EXPECT_EQ(tensors.at("u64").to_vector<int64_t>(), (std::vector<int64_t>{int64_t{1} << 62}));
  EXPECT_EQ(tensors.at("i16").to_vector<int32_t>(), (std::vector<int32_t>{-32768, 5}));
}

TEST(Torch, ExpandedTensorTakesNoMoreThanItsElements) {
  const size_t before = device::memory_stats().live_bytes;
  const Tensor x = good("expanded").tensors.at("x");
  EXPECT_EQ(x.shape(), (Dims{1000000, 4}));
  EXPECT_EQ(x.slice(0, 999999).to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_LE(device::memory_stats().live_bytes, before + 1024);
}

TEST(Torch, BrokenFilesAreRefusedForWhatIsWrong) {
  const std::map<std::string, std::string> wanted = {
      {"evil_system", "the pickle asks for \"os.system\", which is not on the list of what a state dict is made of"},
      {"evil_eval", "the pickle asks for \"builtins.eval\", which is not on the list of what a state dict is made of"},
      {"evil_attribute",
       "the pickle asks for \"torch._utils._rebuild_tensor_v2.__globals__\", which is not on the list "
       "of what a state dict is made of"},
      {"evil_build", "the pickle sets attributes of what has none (at byte 28 of it)"},
      {"evil_instance", "the pickle has the instruction 0x69 at byte 3, which no state dict has"},
      {"truncated_zip", "is no zip archive, or its end is missing"},
      {"truncated_front", "is no .pt file: neither a zip archive nor what PyTorch wrote before 1.6"},
      {"truncated_pickle", "the pickle is cut off (at byte 123 of it)"},
      {"storage_too_small", "storage \"0\" of tensor \"x\" should hold 4 x 4 bytes, its file has 8"},
      {"storage_missing", "storage \"0\" of tensor \"x\" is missing"},
      {"shape_beyond_storage", "tensor \"x\" of shape (5,) reaches beyond the 4 elements of its storage"},
      {"stride_beyond_storage", "tensor \"x\" of shape (2, 2) reaches beyond the 4 elements of its storage"},
      {"stride_overflows", "tensor \"x\" of shape (8589934592, 2) reaches beyond the 4 elements of its storage"},
      {"offset_beyond_storage", "tensor \"x\" of shape (1,) reaches beyond the 4 elements of its storage"},
      {"negative_offset", "sizes, strides and offset of tensor \"x\" must be whole numbers, none negative"},
      {"shape_too_large", "tensor \"x\" of shape (1099511627776, 1099511627776) is too large"},
      {"sizes_and_strides_differ", "tensor \"x\" has 2 sizes and 1 strides"},
      {"overlapping_view", "tensor \"x\" and others over its storage hold far more than the 16 bytes of it"},
      {"many_views", "tensor \"r0\" and others over its storage hold far more than the 16 bytes of it"},
      {"too_few_arguments", "tensor \"x\" is made of too few things (2)"},
      {"bare_storage", "\"x\" is a storage, not a tensor"},
      {"same_name_twice", "\"a.b\" occurs twice"},
      {"bool_of_two", "tensor \"x\" is BoolStorage and holds a byte other than 0 and 1"},
      {"u64_beyond", "tensor \"x\" is uint64 and holds a number that does not fit into i64"},
      {"nested_deep", "\"x" +
                          [] {
                            std::string zeros;
                            for (int i = 0; i < 39; ++i) zeros += ".0";
                            return zeros + ".\"... is nested more than 64 deep";
                          }()},
      {"contains_itself", "the pickle refers to the same objects again and again"},
      {"billion_laughs", "the pickle refers to the same objects again and again"},
      {"long_names", "the pickle describes far more than it holds"},
      {"zip_bomb", "\"archive/byteorder\" is deflated; torch.save stores files as they are"},
      {"lying_size", "\"archive/data.pkl\" claims 4294967280 bytes, more than its 6 packed ones can hold"},
      {"overlapping_files", "\"archive/data/0\" overlaps another file"},
      {"encrypted", "\"archive/data.pkl\" is encrypted"},
      {"no_pickle", "is a zip archive without data.pkl: not written by torch.save"},
      {"big_endian", "is in the byte order \"big\""},
      {"legacy", "the pickle is cut off (at byte 0 of it)"},
      {"empty", "is no .pt file: neither a zip archive nor what PyTorch wrote before 1.6"},
  };
  size_t seen = 0;
  for (const auto& entry : fs::directory_iterator(kFiles / "bad")) {
    const std::string name = entry.path().stem();
    ASSERT_TRUE(wanted.contains(name)) << name;
    EXPECT_EQ(refusal(entry.path()), wanted.at(name)) << name;
    ++seen;
  }
  EXPECT_EQ(seen, wanted.size());
}

/// What reading these bytes fails with; they need no file.
std::string refusal_of_bytes(const std::string& bytes) {
  return text_of([&] { parse_torch({"torch", "bytes", std::as_bytes(std::span(bytes))}); });
}

// torch.save(..., _use_new_zipfile_serialization=False) made the file.
TEST(Torch, FilesFromBeforeZipArchivesAreRead) {
  const TorchFile file = good("legacy");
  EXPECT_EQ(file.others.at("epoch"), "3");
  EXPECT_EQ(file.tensors.at("model.a").to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(file.tensors.at("model.a").shape(), (Dims{2, 2}));
  EXPECT_EQ(file.tensors.at("model.half").dtype(), DType::f16);
  EXPECT_EQ(file.tensors.at("model.whole").to_vector<int64_t>(), (std::vector<int64_t>{7, -1}));
  EXPECT_EQ(file.tensors.at("model.view").to_vector<float>(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(file.tensors.at("model.same").to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(TorchSweep, EveryTruncationOfAnOldFileIsRefused) {
  const std::string whole = content_of(kFiles / "good/legacy.pt");
  ASSERT_EQ(refusal_of_bytes(whole), "nothing was thrown");
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_NE(refusal_of_bytes(whole.substr(0, bytes)), "nothing was thrown") << bytes << " bytes";
  }
}

// A byte of the file may be an object of eighty bytes and a name of three hundred.
TEST(Torch, MemoryStaysWithinASmallMultipleOfTheFile) {
  constexpr size_t kBytes = 4 << 20;
  const std::string start = "\x80\x02}X\x01\x00\x00\x00x"s, end = "s.";
  const std::map<std::string, std::string> rows = {{"](" + std::string(kBytes, 'N') + "e", "far more objects"},
                                                   {std::string(kBytes, '('), "is nested too deep"},
                                                   {"N" + std::string(kBytes, '\x94'), "far more objects"},
                                                   {"](" + std::string(500'000, 'N') + "e", "describes far more"}};
  for (const auto& [middle, wanted] : rows) {
    const std::string pickle = start + middle + end;
    ZipWriter archive("torch", fs::temp_directory_path() / "tenon_amplified.pt");
    archive.add("archive/data.pkl", std::as_bytes(std::span(pickle)), {});
    archive.finish();
    const int64_t before = base::resident_bytes();
    EXPECT_NE(refusal(fs::temp_directory_path() / "tenon_amplified.pt").find(wanted), std::string::npos) << wanted;
    EXPECT_LT(base::resident_bytes() - before, static_cast<int64_t>(40 * kBytes)) << wanted;
  }
  fs::remove(fs::temp_directory_path() / "tenon_amplified.pt");
}

/// The archive of torch.save around a pickle.
void archive_of(const fs::path& file, const std::string& pickle) {
  ZipWriter archive("torch", file);
  archive.add("archive/data.pkl", std::as_bytes(std::span(pickle)), {});
  archive.finish();
}

class TorchPickles : public InFolder {
 protected:
  std::string refusal_of(const std::string& pickle) {
    archive_of(path(), pickle);
    return refusal(path());
  }
  /// The most memory that reading takes, in a process of its own.
  int64_t peak_of(const std::string& pickle) {
    archive_of(path(), pickle);
    const int64_t before = base::resident_bytes();
    const pid_t child = fork();
    if (child == 0) {
      try {
        load_torch(path());
      } catch (const Error&) {
      }
      _exit(0);
    }
    int status = 0;
    rusage used{};
    wait4(child, &status, 0, &used);
    EXPECT_EQ(status, 0);
    return int64_t{1024} * used.ru_maxrss - before;
  }
};

TEST_F(TorchPickles, AFrameBeyondTheFileIsRefused) {
  const auto framed = [](uint64_t bytes) {
    std::string pickle = "\x80\x04\x95"s;
    for (int i = 0; i < 8; ++i) pickle += static_cast<char>(bytes >> (8 * i));
    return pickle + "}.";
  };
  EXPECT_EQ(refusal_of(framed(2)), "nothing was thrown");  // an empty dict
  EXPECT_EQ(refusal_of(framed(3)), "the pickle has a frame of 3 bytes and is cut off (at byte 2 of it)");
  EXPECT_EQ(refusal_of(framed(std::numeric_limits<int64_t>::max())),
            "the pickle has a frame of 9223372036854775807 bytes and is cut off (at byte 2 of it)");
}

// Objects that refer to others take a few bytes of the file each, and may be referred to from anywhere.
TEST_F(TorchPickles, NestedReferencesTakeNoMoreThanASmallMultipleOfTheFile) {
  const auto repeated = [](const std::string& part, size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += part;
    return text;
  };
  constexpr size_t kBytes = 8 << 20;
  const std::string start = "\x80\x02}X\x01\x00\x00\x00x"s, end = "s.", list = "]q\x00"s;
  const std::string rows[] = {
      "](" + list + repeated("h\x00h\x00\x86"s, kBytes) + "e",        // pairs of one list
      list + "(" + repeated("h\x00"s, kBytes) + "e",                  // a list of itself
      "(" + list + repeated("h\x00"s, kBytes) + "t",                  // a tuple of one list
      list + repeated("(h\x00h\x00h\x00tq\x00"s, kBytes / 4),         // each of the one before
      list + repeated("(h\x00h\x00e]q\x00h\x00h\x00e"s, kBytes / 4),  // lists in lists
      "}q\x00("s + repeated("h\x00h\x00"s, kBytes) + "u",             // a dict of itself
      "](" + list + repeated("h\x00\x85q\x00"s, kBytes) + "e",        // a chain, ever deeper
  };
  for (const std::string& row : rows)
    EXPECT_LT(peak_of(start + row + end), static_cast<int64_t>(24 * kBytes)) << row.substr(0, 20);
}

TEST(TorchSweep, EveryTruncationIsRefused) {
  const std::string whole = content_of(kFiles / "good/checkpoint.pt");
  ASSERT_EQ(refusal_of_bytes(whole), "nothing was thrown");
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_NE(refusal_of_bytes(whole.substr(0, bytes)), "nothing was thrown") << bytes << " bytes";
  }
}

TEST(TorchSweep, EveryByteMayBecomeAnything) {
  const std::string whole = content_of(kFiles / "good/checkpoint.pt");
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\1', '\x7F', '\x80', '\xFF', '(', '.', 'R', 'Q', 'b', 'e', 'h', 't', 'u'}) {
      std::string broken = whole;
      broken[at] = value;
      EXPECT_NO_THROW(refusal_of_bytes(broken)) << "byte " << at;  // only tenon::Error is let pass
    }
  }
}

class LargeTorchFiles : public InFolder {};

// One storage whose size needs 64 bits, and one that begins where only 64 bits reach. Writes 4.4 GB and takes twice
// that in memory.
TEST_F(LargeTorchFiles, AFileIsWrittenAndReadThatIsLargerThan4GiB) {
  if (!std::getenv("TENON_LARGE_FILES")) GTEST_SKIP() << "TENON_LARGE_FILES is not set";
  constexpr int64_t kRow = 1 << 20, kRows = 4200;
  const Tensor row = (arange(kRow) % 251).to(DType::u8);
  Tensor first = row.reshape({1, kRow}).expand({kRows, kRow}).contiguous().eval();
  first.select(0, kRows - 1).fill_(9).eval();
  const Tensor last = randn({1000, 3}).eval();
  const std::vector<uint8_t> wanted_row = row.to_vector<uint8_t>();
  save_torch(path(), {{"first", first}, {"last", last}});
  EXPECT_GT(fs::file_size(path()), uint64_t{1} << 32);
  first = {};
  const TorchFile loaded = load_torch(path());
  ASSERT_EQ(loaded.tensors.size(), 2u);
  const Tensor& read = loaded.tensors.at("first");
  EXPECT_EQ(read.shape(), (Dims{kRows, kRow}));
  for (const int64_t i : {int64_t{0}, int64_t{4095}, int64_t{4096}, kRows - 2})
    EXPECT_EQ(read.select(0, i).to_vector<uint8_t>(), wanted_row) << i;
  EXPECT_EQ(read.select(0, kRows - 1).to_vector<uint8_t>(), std::vector<uint8_t>(kRow, 9));
  EXPECT_EQ(loaded.tensors.at("last").to_vector<float>(), last.to_vector<float>());
}

}  // namespace
}  // namespace tenon::io
