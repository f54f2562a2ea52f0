// npy and npz: what is written comes back and is what numpy writes; broken files get one line.

#include "tenon/io/npy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/io/support.h"

namespace tenon::io {
namespace {

class Npy : public InFolder {
 protected:
  Npy() : InFolder("array.npy") {}

  std::string refusal(const std::string& content) const {
    const fs::path file = write(content);
    return refusal_by("npy", file, [&] { load_npy(file); });
  }
  std::string npz_refusal(const std::string& content) const {
    const fs::path file = write("arrays.npz", content);
    return refusal_by("npz", file, [&] { load_npz(file); });
  }
};

std::string npy_of(const std::string& dict, const std::string& data = "") {
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(dict.size()) + '\0' + dict + data;
}
std::string dict_of(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

TEST_F(Npy, EveryDTypeThatNumpyHasComesBack) {
  for (const DType dtype : kAllDTypes) {
    if (dtype == DType::bf16) continue;
    const Tensor saved = tensor({{0.0, 1.0, 2.5}, {7.0, 0.0, 1.0}}).to(dtype);
    save_npy(path(), saved);
    const Tensor loaded = load_npy(path());
    EXPECT_EQ(loaded.dtype(), dtype);
    EXPECT_EQ(loaded.shape(), saved.shape());
    EXPECT_EQ(loaded.to_bytes(), saved.to_bytes());
  }
}

TEST_F(Npy, BytesAreThoseOfNumpy) {
  save_npy(path(), tensor({1.0F, 2.0F}));
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  dict.resize(117, ' ');
  EXPECT_EQ(content_of(path()), std::string("\x93NUMPY\1\0v\0", 10) + dict + "\n" + std::string("\0\0\x80?\0\0\0@", 8));
}

TEST_F(Npy, SingleNumbersAndEmptyArraysComeBack) {
  save_npy(path(), scalar(2.5));
  EXPECT_EQ(load_npy(path()).shape(), Dims{});
  EXPECT_EQ(load_npy(path()).item<float>(), 2.5F);
  save_npy(path(), zeros({3, 0}));
  EXPECT_EQ(load_npy(path()).shape(), (Dims{3, 0}));
}

TEST_F(Npy, BigEndianColumnsOfNarrowNumbersAreRead) {
  // [[1, 2], [3, -4], [5, 6]] of >i2 by columns.
  const std::string dict = "{'descr': '>i2', 'fortran_order': True, 'shape': (3, 2), }";
  write(npy_of(dict, std::string("\0\1\0\3\0\5\0\2\xFF\xFC\0\6", 12)));
  const Tensor loaded = load_npy(path());
  EXPECT_EQ(loaded.dtype(), DType::i32);
  EXPECT_EQ(loaded.to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 3, -4, 5, 6}));
}

TEST_F(Npy, HeadersOfPython2AreRead) {
  write(npy_of("{\"descr\": \"|u1\", \"fortran_order\": False, \"shape\": (2L, 1L)}", "\1\2"));
  EXPECT_EQ(load_npy(path()).shape(), (Dims{2, 1}));
}

TEST_F(Npy, HeaderThatIsNoDictIsRefused) {
  for (const std::string dict : {"", "{", "[]", "{'descr'}", "{'descr': '<f4'", "{'descr': '<f4', ", "{1: 2}"}) {
    EXPECT_NE(refusal(npy_of(dict)).find("the header is not the dict that numpy writes"), std::string::npos) << dict;
  }
  EXPECT_EQ(refusal(npy_of(dict_of("<f4", "(0,)") + "x")), "the header is not the dict that numpy writes (at byte 58)");
  EXPECT_EQ(refusal(npy_of("{'fortran_order': 1}")), "fortran_order must be True or False");
}

TEST_F(Npy, KeysAreExactlyThree) {
  EXPECT_EQ(refusal(npy_of("{}")), "the header has no descr");
  EXPECT_EQ(refusal(npy_of("{'descr': '<f4'}")), "the header has no fortran_order");
  EXPECT_EQ(refusal(npy_of("{'descr': '<f4', 'fortran_order': True}")), "the header has no shape");
  EXPECT_EQ(refusal(npy_of("{'descr': '<f4', 'descr': '<f4'}")), "the header has the key \"descr\" twice");
  EXPECT_EQ(refusal(npy_of("{'colour': '<f4'}")), "the header has an unknown key \"colour\"");
}

TEST_F(Npy, ShapesThatCannotBeAreRefused) {
  EXPECT_EQ(refusal(npy_of(dict_of("<f4", "(-1,)"))), "the shape has a negative number");
  EXPECT_EQ(refusal(npy_of(dict_of("<f4", "(18446744073709551616,)"))), "the shape has a number beyond 64 bits");
  EXPECT_EQ(refusal(npy_of(dict_of("<f4", "(4294967296, 4294967296)"))),
            "the shape (4294967296, 4294967296) is too large");
  EXPECT_EQ(refusal(npy_of(dict_of("<f4", "(4294967296, 4294967296, 0)"))),
            "the shape (4294967296, 4294967296, 0) is too large");
  std::string ones = "(";
  for (int i = 0; i < 65; ++i) ones += "1,";
  EXPECT_EQ(refusal(npy_of(dict_of("|u1", ones + ")"))), "the shape has more than 64 numbers");
}

TEST_F(Npy, DataMustBeAsLongAsTheShapeSays) {
  EXPECT_EQ(refusal(npy_of(dict_of("<i4", "(2,)"), "1234567")),
            "an array of shape (2,) and dtype \"<i4\" needs 8 bytes, 7 are there");
  EXPECT_EQ(refusal(npy_of(dict_of("<i4", "(2,)"), "123456789")),
            "an array of shape (2,) and dtype \"<i4\" needs 8 bytes, 9 are there");
  EXPECT_EQ(refusal(npy_of(dict_of("|u1", "(9007199254740992,)"), "1")),
            "an array of shape (9007199254740992,) and dtype \"|u1\" needs 9007199254740992 bytes, 1 are there");
}

TEST_F(Npy, DtypesThatTenonLacksAreRefusedByName) {
  const std::pair<const char*, const char*> rows[] = {
      {"<c16", "complex numbers"},         {"|S5", "byte strings"}, {"|O", "Python objects"}, {"<M8[ns]", "dates"},
      {"<f16", "floats of another width"}, {"|V2", "raw bytes"}};
  for (const auto& [descr, kind] : rows) {
    EXPECT_EQ(refusal(npy_of(dict_of(descr, "(0,)"))),
              fmt::format("the dtype \"{}\" ({}) is one that Tenon does not hold", descr, kind));
  }
  EXPECT_EQ(refusal(npy_of(dict_of("f4", "(0,)"))), "the dtype \"f4\" has no byte order");
}

TEST_F(Npy, ElementsThatNoTensorHoldsAreRefused) {
  EXPECT_EQ(refusal(npy_of(dict_of("<u8", "(1,)"), std::string(8, '\xFF'))),
            "the array of dtype \"<u8\" holds a number that does not fit into i64");
  EXPECT_EQ(refusal(npy_of(dict_of("|b1", "(1,)"), "\2")), "the array is |b1 and holds a byte other than 0 and 1");
}

TEST_F(Npy, EveryTruncationIsRefused) {
  save_npy(path(), ones({2, 3}));
  const std::string whole = content_of(path());
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_NE(refusal(whole.substr(0, bytes)), "nothing was thrown") << bytes << " bytes";
  }
}

TEST_F(Npy, Bf16HasToBeConvertedToBeWritten) {
  EXPECT_EQ(text_of([&] { save_npy(path(), ones({2}, DType::bf16)); }),
            "[npy] " + path().string() + ": the tensor is bf16, which numpy lacks; convert it to f32 first");
  EXPECT_TRUE(files().empty());
}

TEST_F(Npy, OldFileSurvivesAFullDisk) {
  write("old");
  {
    const FileSizeLimit limit(1000);
    EXPECT_EQ(text_of([&] { save_npy(path(), ones({1000})); }),
              "[npy] " + path().string() + ": cannot be written: File too large");
  }
  EXPECT_EQ(content_of(path()), "old");
  EXPECT_EQ(files(), std::vector<std::string>{"array.npy"});
}

TEST_F(Npy, ArchiveComesBack) {
  const std::map<std::string, Tensor> saved = {
      {"w", arange(6, DType::f32).reshape({2, 3})}, {"none", zeros({0, 2})}, {"folder/n", scalar(7)}};
  save_npz(path("arrays.npz"), saved);
  const auto loaded = load_npz(path("arrays.npz"));
  ASSERT_EQ(loaded.size(), 3U);
  for (const auto& [key, tensor] : saved) {
    EXPECT_EQ(loaded.at(key).shape(), tensor.shape()) << key;
    EXPECT_EQ(loaded.at(key).to_bytes(), tensor.to_bytes()) << key;
  }
}

TEST_F(Npy, ArchiveOfNothingComesBack) {
  save_npz(path("arrays.npz"), {});
  EXPECT_TRUE(load_npz(path("arrays.npz")).empty());
}

TEST_F(Npy, NamesInArchivesAreText) {
  save_npz(path("arrays.npz"), {{"name", ones({2})}});
  std::string broken = content_of(path("arrays.npz"));
  for (size_t at = 0; (at = broken.find("name.npy", at)) != std::string::npos; ++at) broken.replace(at, 2, "\xff\xfe");
  EXPECT_EQ(npz_refusal(broken), "the name \"\\xff\\xfeme.npy\" in the archive is not valid UTF-8");
}

TEST_F(Npy, DamageInAnArchiveIsFoundByItsChecksum) {
  save_npz(path("arrays.npz"), {{"w", ones({100})}});
  std::string broken = content_of(path("arrays.npz"));
  broken[300] = static_cast<char>(broken[300] ^ 1);
  EXPECT_EQ(npz_refusal(broken), "\"w.npy\" has the wrong checksum: the file is damaged");
}

TEST_F(Npy, BrokenArraysInAnArchiveAreNamed) {
  save_npz(path("arrays.npz"), {{"w", ones({1})}});
  std::string broken = content_of(path("arrays.npz"));
  for (size_t at = 0; (at = broken.find("w.npy", at)) != std::string::npos; ++at) broken.replace(at, 5, "w.txt");
  EXPECT_EQ(npz_refusal(broken), "\"w.txt\" in the archive is no array");
}

TEST_F(Npy, AnArrayHasTheNameThatTheDirectorySays) {
  save_npz(path("arrays.npz"), {{"w", ones({1})}});
  const std::string whole = content_of(path("arrays.npz"));
  for (const size_t at : {whole.find("w.npy"), whole.rfind("w.npy")}) {
    std::string broken = whole;
    broken[at] = 'v';
    EXPECT_EQ(npz_refusal(broken), fmt::format("\"{}.npy\" has another name where it lies: the file is damaged",
                                               at == whole.find("w.npy") ? 'w' : 'v'));
  }
}

TEST_F(Npy, EveryTruncationOfAnArchiveIsRefused) {
  save_npz(path("arrays.npz"), {{"w", ones({2})}});
  const std::string whole = content_of(path("arrays.npz"));
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_NE(npz_refusal(whole.substr(0, bytes)), "nothing was thrown") << bytes << " bytes";
  }
}

TEST_F(Npy, EveryByteOfAnArchiveMayBecomeAnything) {
  save_npz(path("arrays.npz"), {{"w", ones({2})}});
  const std::string whole = content_of(path("arrays.npz"));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\xFF', '\1', 'P'}) {
      std::string broken = whole;
      broken[at] = value;
      EXPECT_NO_THROW(npz_refusal(broken)) << "byte " << at;
    }
  }
}

template <typename T>
std::string number(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

/// An archive of one file, rewritten as archives beyond 4 GiB are: sizes and places in 64-bit fields.
std::string as_zip64(const std::string& archive) {
  const size_t line = archive.find("PK\1\2"), end = archive.find("PK\5\6");
  std::string directory = archive.substr(line, end - line);
  const auto bytes = static_cast<uint64_t>(static_cast<unsigned char>(directory[20])) |
                     static_cast<uint64_t>(static_cast<unsigned char>(directory[21])) << 8;
  const std::string elsewhere(4, '\xFF');
  directory.replace(20, 8, elsewhere + elsewhere);
  directory.replace(42, 4, elsewhere);
  const std::string extra =
      number<uint16_t>(1) + number<uint16_t>(24) + number(bytes) + number(bytes) + number<uint64_t>(0);
  directory.replace(30, 2, number(static_cast<uint16_t>(extra.size())));
  directory += extra;
  const std::string record = "PK\6\6" + number<uint64_t>(44) + number<uint16_t>(45) + number<uint16_t>(45) +
                             number<uint64_t>(0) + number<uint64_t>(1) + number<uint64_t>(1) +
                             number<uint64_t>(directory.size()) + number<uint64_t>(line);
  const std::string locator =
      "PK\6\7" + number<uint32_t>(0) + number<uint64_t>(line + directory.size()) + number<uint32_t>(1);
  return archive.substr(0, line) + directory + record + locator + "PK\5\6" + number<uint32_t>(0) + elsewhere +
         elsewhere + elsewhere + number<uint16_t>(0);
}

TEST_F(Npy, ArchivesWith64BitFieldsAreRead) {
  save_npz(path("arrays.npz"), {{"w", arange(6, DType::f32)}});
  const std::string large = as_zip64(content_of(path("arrays.npz")));
  write("arrays.npz", large);
  EXPECT_EQ(load_npz(path("arrays.npz")).at("w").to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  for (size_t bytes = 0; bytes < large.size(); ++bytes) {
    EXPECT_NE(npz_refusal(large.substr(0, bytes)), "nothing was thrown") << bytes << " bytes";
  }
}

/// An archive of one file that is said to be packed a thousandfold, as zeros are.
std::string packed_archive(uint32_t packed_bytes, uint32_t bytes) {
  const std::string name = "a.npy";
  const std::string fields = number<uint16_t>(20) + number<uint16_t>(0) + number<uint16_t>(8) + number<uint32_t>(0) +
                             number<uint32_t>(0) + number<uint32_t>(packed_bytes) + number<uint32_t>(bytes) +
                             number<uint16_t>(5) + number<uint16_t>(0);
  const std::string local = "PK\3\4" + fields + name + std::string(packed_bytes, '\1');
  const std::string line =
      "PK\1\2" + number<uint16_t>(20) + fields + std::string(10, '\0') + number<uint32_t>(0) + name;
  return local + line + "PK\5\6" + number<uint32_t>(0) + number<uint16_t>(1) + number<uint16_t>(1) +
         number<uint32_t>(static_cast<uint32_t>(line.size())) + number<uint32_t>(static_cast<uint32_t>(local.size())) +
         number<uint16_t>(0);
}

TEST_F(Npy, ArchivesDoNotUnpackToManyTimesTheirSize) {
  EXPECT_EQ(npz_refusal(packed_archive(1'000'000, 1'000'000'000)),
            "its arrays take more than 83110592 bytes unpacked, the file has 1000108; save it with numpy.savez, "
            "unpacked");
  EXPECT_NE(npz_refusal(packed_archive(60'000, 60'000'000)).find("does not unpack"), std::string::npos);  // small
}

TEST_F(Npy, NamesThatAreNoTextAreNotWritten) {
  EXPECT_EQ(text_of([&] {
              save_npz(path("arrays.npz"), {{"\xFF", ones({1})}});
            }),
            "[npz] " + path("arrays.npz").string() + ": the name \"\\xff\" is not valid UTF-8");
  EXPECT_TRUE(files().empty());
}

}  // namespace
}  // namespace tenon::io
