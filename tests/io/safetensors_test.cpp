// safetensors: what is written comes back, and no file, however broken, gets further than one line of refusal.

#include "tenon/io/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/io/support.h"

namespace tenon::io {
namespace {

class Safetensors : public InFolder {
 protected:
  Safetensors() : InFolder("file.safetensors") {}

  /// What loading these bytes fails with, less "[safetensors] FILE: ".
  std::string refusal(const std::string& content) const { return refusal_of(write(content)); }
  static std::string refusal_of(const fs::path& file) {
    try {
      load_safetensors(file);
    } catch (const Error& error) {
      const std::string text = error.what(), start = "[safetensors] " + file.string() + ": ";
      EXPECT_EQ(text.substr(0, start.size()), start);
      EXPECT_EQ(text.find('\n'), std::string::npos);
      return text.substr(std::min(start.size(), text.size()));
    }
    return "(loaded)";
  }
};

std::string length_of(uint64_t bytes) {
  std::string digits(8, '\0');
  std::memcpy(digits.data(), &bytes, 8);
  return digits;
}
std::string file_of(const std::string& header, const std::string& data = "") {
  return length_of(header.size()) + header + data;
}
/// A file of one tensor "x" with these fields.
std::string entry_of(const std::string& fields, const std::string& data = "") {
  return file_of(R"({"x":{)" + fields + "}}", data);
}
const std::string kBytes4(4, '\1');

// ---- What is written comes back -----------------------------------------------------------------------------------

TEST_F(Safetensors, EveryDTypeComesBack) {
  std::map<std::string, Tensor> tensors;
  for (const DType dtype : kAllDTypes) tensors[std::string(name(dtype))] = tensor({0.0, 1.0, 2.5, 7.0}).to(dtype);
  save_safetensors(path(), tensors);

  const SafetensorsFile file = load_safetensors(path());
  ASSERT_EQ(file.tensors.size(), std::size(kAllDTypes));
  for (const auto& [key, saved] : tensors) {
    const Tensor& loaded = file.tensors.at(key);
    EXPECT_EQ(loaded.dtype(), saved.dtype()) << key;
    EXPECT_EQ(loaded.shape(), saved.shape()) << key;
    EXPECT_EQ(loaded.to_bytes(), saved.to_bytes()) << key;
  }
}

TEST_F(Safetensors, SpecialFloatsComeBackBitForBit) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor saved = from_vector<float>({kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), -0.0F, 1e-45F}, {5});
  save_safetensors(path(), {{"x", saved}});
  EXPECT_EQ(load_safetensors(path()).tensors.at("x").to_bytes(), saved.to_bytes());
}

TEST_F(Safetensors, SingleNumbersAndEmptyShapesComeBack) {
  save_safetensors(path(), {{"number", scalar(2.5)}, {"none", zeros({0})}, {"rows", zeros({3, 0, 2}, DType::i64)}});
  const auto tensors = load_safetensors(path()).tensors;
  EXPECT_EQ(tensors.at("number").shape(), Dims{});
  EXPECT_EQ(tensors.at("number").item<float>(), 2.5F);
  EXPECT_EQ(tensors.at("none").shape(), Dims{0});
  EXPECT_EQ(tensors.at("rows").shape(), (Dims{3, 0, 2}));
  EXPECT_EQ(tensors.at("rows").dtype(), DType::i64);
}

TEST_F(Safetensors, AViewIsWrittenAsItReads) {
  save_safetensors(path(), {{"x", tensor({{1, 2, 3}, {4, 5, 6}}).t()}});
  const Tensor loaded = load_safetensors(path()).tensors.at("x");
  EXPECT_EQ(loaded.shape(), (Dims{3, 2}));
  EXPECT_EQ(loaded.to_vector<int64_t>(), (std::vector<int64_t>{1, 4, 2, 5, 3, 6}));
}

TEST_F(Safetensors, MetadataAndOddNamesComeBack) {
  const std::map<std::string, std::string> metadata = {
      {"format", "pt"}, {"", ""}, {"line\nbreak", "quote\" \u00e9 \t"}};
  const std::string odd = "wei\"ght\n\u03b1 \\ /";
  save_safetensors(path(), {{odd, tensor({1.0})}, {"", tensor({2.0})}}, metadata);
  const SafetensorsFile file = load_safetensors(path());
  EXPECT_EQ(file.metadata, metadata);
  EXPECT_EQ(file.tensors.at(odd).item<float>(), 1);
  EXPECT_EQ(file.tensors.at("").item<float>(), 2);
}

TEST_F(Safetensors, AFileOfNothingComesBack) {
  save_safetensors(path(), {});
  EXPECT_EQ(content_of(path()), length_of(8) + "{}      ");
  EXPECT_TRUE(load_safetensors(path()).tensors.empty());
}

TEST_F(Safetensors, BytesAreThoseOfTheOfficialWriter) {
  save_safetensors(
      path(), {{"a", tensor({true})}, {"b", from_vector<int32_t>({1}, {1})}, {"c", tensor({2})}, {"aa", scalar(3)}},
      {{"k", "v"}});
  const std::string header =
      R"({"__metadata__":{"k":"v"},"aa":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("c":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},"b":{"dtype":"I32","shape":[1],"data_offsets":[16,20]},)"
      R"("a":{"dtype":"BOOL","shape":[1],"data_offsets":[20,21]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(content_of(path()),
            file_of(header + padding, length_of(3) + length_of(2) + std::string("\1\0\0\0", 4) + "\1"));
}

TEST_F(Safetensors, GoldenFileLoads) {
  const auto tensors = load_safetensors(fs::path(TENON_SOURCE_DIR) / "tests/golden/ops.safetensors").tensors;
  EXPECT_EQ(tensors.at("matmul_6.in0").shape(), (Dims{130, 70}));
  EXPECT_EQ(tensors.at("argmax_0.out0").dtype(), DType::i64);
  EXPECT_EQ(tensors.at("where_0.in0").dtype(), DType::boolean);
  EXPECT_EQ(tensors.at("cat_0.in0").shape(), (Dims{0, 5}));
}

TEST_F(Safetensors, FieldsMayComeInAnyOrderWithSpaces) {
  write(file_of(R"({ "x" : { "data_offsets" : [ 0 , 4 ] , "shape" : [ 4 ] , "dtype" : "U8" } }   )", kBytes4));
  EXPECT_EQ(load_safetensors(path()).tensors.at("x").to_vector<uint8_t>(), (std::vector<uint8_t>{1, 1, 1, 1}));
}

// ---- Dtypes that are widened --------------------------------------------------------------------------------------

/// What two elements of a dtype are loaded as.
struct Widened {
  std::string dtype, bytes;
  DType held;
  std::vector<double> values;
};

TEST_F(Safetensors, NarrowerAndUnsignedIntegersAreWidened) {
  const Widened rows[] = {
      {"I8", "\x80\x7F", DType::i32, {-128, 127}},
      {"I16", std::string("\x00\x80\xFF\x7F", 4), DType::i32, {-32768, 32767}},
      {"U16", std::string("\x00\x80\xFF\xFF", 4), DType::i32, {32768, 65535}},
      {"U32", std::string("\x00\x00\x00\x80\xFF\xFF\xFF\xFF", 8), DType::i64, {2147483648.0, 4294967295.0}},
      {"U64", std::string("\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x40", 16), DType::i64, {1, 4611686018427387904.0}}};
  for (const Widened& row : rows) {
    write(entry_of(
        R"("dtype":")" + row.dtype + R"(","shape":[2],"data_offsets":[0,)" + std::to_string(row.bytes.size()) + "]",
        row.bytes));
    const Tensor x = load_safetensors(path()).tensors.at("x");
    EXPECT_EQ(x.dtype(), row.held) << row.dtype;
    EXPECT_EQ(x.to_vector<double>(), row.values) << row.dtype;
  }
}

TEST_F(Safetensors, EightBitFloatsBecomeF32) {
  // 1.0, -1.75, the largest, the smallest, and one in between, by the OCP specification.
  write(entry_of(R"("dtype":"F8_E4M3","shape":[5],"data_offsets":[0,5])", "\x38\xBE\x7E\x01\x0F"));
  EXPECT_EQ(load_safetensors(path()).tensors.at("x").to_vector<float>(),
            (std::vector<float>{1, -1.75F, 448, 0.001953125F, 0.029296875F}));
  write(entry_of(R"("dtype":"F8_E5M2","shape":[4],"data_offsets":[0,4])", "\x3C\xBF\x7B\x01"));
  EXPECT_EQ(load_safetensors(path()).tensors.at("x").to_vector<float>(),
            (std::vector<float>{1, -1.75F, 57344, 1.52587890625e-05F}));
  write(entry_of(R"("dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2])", "\x7F\xFF"));
  for (const float value : load_safetensors(path()).tensors.at("x").to_vector<float>()) EXPECT_TRUE(std::isnan(value));
}

TEST_F(Safetensors, UnsignedNumbersBeyondI64AreRefused) {
  EXPECT_EQ(refusal(entry_of(R"("dtype":"U64","shape":[1],"data_offsets":[0,8])", std::string(8, '\xFF'))),
            R"(tensor "x" is U64 and holds a number that does not fit into i64)");
}

// ---- Refusals: the file -------------------------------------------------------------------------------------------

TEST_F(Safetensors, MissingFileIsRefused) {
  EXPECT_EQ(refusal_of(path("none")), "cannot be read: No such file or directory");
}

TEST_F(Safetensors, FolderIsRefused) { EXPECT_EQ(refusal_of(folder_), "is not a regular file"); }

TEST_F(Safetensors, TooFewBytesAreRefused) {
  EXPECT_EQ(refusal(""), "0 bytes are too few for a safetensors file");
  EXPECT_EQ(refusal("1234567"), "7 bytes are too few for a safetensors file");
}

TEST_F(Safetensors, HeaderLongerThanTheFileIsRefused) {
  EXPECT_EQ(refusal(length_of(3) + "{}"), "a header of 3 bytes does not fit into the file of 10 bytes");
  EXPECT_EQ(refusal(length_of(100'000'000) + "{}"),
            "a header of 100000000 bytes does not fit into the file of 10 bytes");
}

TEST_F(Safetensors, HeaderOverTheLimitIsRefused) {
  EXPECT_EQ(refusal(length_of(100'000'001) + "{}"),
            "a header of 100000001 bytes is over the limit of 100000000; is this a safetensors file?");
  EXPECT_EQ(refusal(std::string(16, '\xFF')),
            "a header of 18446744073709551615 bytes is over the limit of 100000000; is this a safetensors file?");
}

// ---- Refusals: the header -----------------------------------------------------------------------------------------

TEST_F(Safetensors, HeaderThatIsNoObjectIsRefused) {
  for (const std::string header : {"", "[]", "3", "null", " ", "\"x\"", "\xEF\xBB\xBF{}"}) {
    EXPECT_EQ(refusal(file_of(header)), "the header is not a JSON object") << header;
  }
}

TEST_F(Safetensors, InvalidJsonIsRefused) {
  EXPECT_EQ(refusal(file_of("{")), "the header is not valid JSON (at byte 2 of it)");
  EXPECT_EQ(refusal(file_of("{}x")), "the header is not valid JSON (at byte 3 of it)");
  EXPECT_EQ(refusal(file_of(R"({"x")")), "the header is not valid JSON (at byte 5 of it)");
  EXPECT_EQ(refusal(file_of("{\"\xFF\":{}}")), "the header is not valid JSON (at byte 3 of it)");
  EXPECT_EQ(refusal(file_of("{/**/}")), "the header is not valid JSON (at byte 2 of it)");
}

TEST_F(Safetensors, BlanksAroundTheHeaderAreRead) { EXPECT_EQ(refusal(file_of(" \t\r\n{} \t\r\n")), "(loaded)"); }

TEST_F(Safetensors, TextBehindAZeroByteIsRefused) {
  EXPECT_EQ(refusal(file_of(std::string("{}\0garbage", 10))), "the header is not valid JSON (at byte 3 of it)");
}

TEST_F(Safetensors, DeepNestingIsRefused) {
  const std::string deep(1'000'000, '[');
  EXPECT_EQ(refusal(file_of(R"({"x":)" + deep)), R"(tensor "x" must be a JSON object)");
  EXPECT_EQ(refusal(file_of(R"({"x":{"shape":)" + deep)),
            R"(shape of tensor "x" must be a list of whole numbers, none negative)");
  std::string objects = "{";
  for (int i = 0; i < 100'000; ++i) objects += R"("x":{)";
  EXPECT_EQ(refusal(file_of(objects)), R"(tensor "x" has an unknown field "x")");
}

TEST_F(Safetensors, TensorThatIsNoObjectIsRefused) {
  for (const std::string value : {"[]", "1", "-1", "1.5", "true", "null", "\"F32\""}) {
    EXPECT_EQ(refusal(file_of(R"({"x":)" + value + "}")), R"(tensor "x" must be a JSON object)") << value;
  }
}

TEST_F(Safetensors, MissingFieldIsRefused) {
  EXPECT_EQ(refusal(entry_of("")), R"(tensor "x" has no dtype)");
  EXPECT_EQ(refusal(entry_of(R"("dtype":"U8","data_offsets":[0,0])")), R"(tensor "x" has no shape)");
  EXPECT_EQ(refusal(entry_of(R"("dtype":"U8","shape":[0])")), R"(tensor "x" has no data_offsets)");
}

TEST_F(Safetensors, UnknownFieldIsRefused) {
  EXPECT_EQ(refusal(entry_of(R"("dtype":"U8","shape":[0],"data_offsets":[0,0],"stride":[1])")),
            R"(tensor "x" has an unknown field "stride")");
}

TEST_F(Safetensors, DuplicatesAreRefused) {
  const std::string x = R"("x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(refusal(file_of("{" + x + "," + x + "}")), R"(tensor "x" occurs twice in the header)");
  EXPECT_EQ(refusal(entry_of(R"("dtype":"U8","dtype":"U8")")), R"(tensor "x" has the field "dtype" twice)");
  EXPECT_EQ(refusal(entry_of(R"("shape":[],"shape":[])")), R"(tensor "x" has the field "shape" twice)");
  EXPECT_EQ(refusal(file_of(R"({"__metadata__":{},"__metadata__":{}})")), "__metadata__ occurs twice in the header");
  EXPECT_EQ(refusal(file_of(R"({"__metadata__":{"a":"1","a":"1"}})")), R"(__metadata__ has the key "a" twice)");
}

TEST_F(Safetensors, MetadataOtherThanTextIsRefused) {
  for (const std::string value :
       {"1", "[]", "null", "\"a\"", R"({"a":1})", R"({"a":{}})", R"({"a":[]})", R"({"a":null})"}) {
    EXPECT_EQ(refusal(file_of(R"({"__metadata__":)" + value + "}")), "__metadata__ must map strings to strings")
        << value;
  }
}

TEST_F(Safetensors, DTypesOfTheFormatThatTenonLacksAreRefusedByName) {
  for (const std::string dtype : {"F8_E8M0", "F6_E2M3", "F6_E3M2", "F4", "C64"}) {
    EXPECT_EQ(refusal(entry_of(R"("dtype":")" + dtype + R"(","shape":[0],"data_offsets":[0,0])")),
              "tensor \"x\" has dtype " + dtype +
                  ", which Tenon does not read (it reads I64, U64, F64, F32, I32, U32, BF16, F16, I16, U16, F8_E4M3, "
                  "F8_E5M2, I8, U8, BOOL)");
  }
}

TEST_F(Safetensors, UnknownDTypeIsRefused) {
  EXPECT_EQ(refusal(entry_of(R"("dtype":"BF17","shape":[0],"data_offsets":[0,0])")),
            R"(tensor "x" has an unknown dtype "BF17", did you mean BF16?)");
  EXPECT_EQ(refusal(entry_of(R"("dtype":"quaternion","shape":[0],"data_offsets":[0,0])")),
            R"(tensor "x" has an unknown dtype "quaternion")");
  EXPECT_EQ(refusal(entry_of(R"("dtype":8)")), R"(dtype of tensor "x" must be a string)");
}

TEST_F(Safetensors, ShapeOfOtherThanWholeNumbersIsRefused) {
  for (const std::string shape :
       {"4", "\"4\"", "{}", "null", "[-1]", "[4.0]", "[\"4\"]", "[null]", "[[4]]", "[18446744073709551616]", "[1e3]"}) {
    EXPECT_EQ(refusal(entry_of(R"("dtype":"U8","data_offsets":[0,4],"shape":)" + shape, kBytes4)),
              R"(shape of tensor "x" must be a list of whole numbers, none negative)")
        << shape;
  }
}

TEST_F(Safetensors, ShapeThatOverflowsIsRefused) {
  for (const std::string shape : {"18446744073709551615", "9223372036854775808", "4294967296, 4294967296",
                                  "2305843009213693952", "4294967296, 4294967296, 0", "0, 4294967296, 4294967296"}) {
    EXPECT_EQ(refusal(entry_of(R"("dtype":"F32","data_offsets":[0,0],"shape":[)" + shape + "]")),
              "tensor \"x\" of shape (" + shape + ") is too large");
  }
}

TEST_F(Safetensors, ShapeOfTooManyDimensionsIsRefused) {
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_EQ(refusal(entry_of(R"("dtype":"U8","shape":[)" + ones + "]")),
            R"(shape of tensor "x" has more than 64 numbers)");
}

TEST_F(Safetensors, LongAndOddNamesGiveOneShortLine) {
  EXPECT_EQ(refusal(file_of(R"({"a\nb\u0007":1})")), R"(tensor "a\x0ab\x07" must be a JSON object)");
  EXPECT_EQ(refusal(file_of("{\"" + std::string(10'000, 'n') + "\":1}")),
            "tensor \"" + std::string(80, 'n') + "\"... must be a JSON object");
}

// ---- Refusals: the byte ranges ------------------------------------------------------------------------------------

TEST_F(Safetensors, OffsetsOtherThanTwoWholeNumbersAreRefused) {
  for (const std::string offsets : {"4", "[]", "[4]", "[0,4,4]", "[0,-4]", "[0,4.0]", "[0,\"4\"]"}) {
    EXPECT_EQ(refusal(entry_of(R"("dtype":"U8","shape":[4],"data_offsets":)" + offsets, kBytes4)),
              R"(data_offsets of tensor "x" must be a list of two whole numbers, none negative)")
        << offsets;
  }
}

TEST_F(Safetensors, OffsetsOutOfOrderAreRefused) {
  EXPECT_EQ(refusal(entry_of(R"("dtype":"U8","shape":[4],"data_offsets":[4,0])", kBytes4)),
            R"(tensor "x" ends at byte 0, before its begin at 4)");
}

TEST_F(Safetensors, OffsetsThatDoNotMatchTheShapeAreRefused) {
  EXPECT_EQ(refusal(entry_of(R"("dtype":"F32","shape":[1,2],"data_offsets":[0,4])", kBytes4)),
            R"(tensor "x" of shape (1, 2) and dtype F32 needs 8 bytes, its data_offsets span 4)");
}

TEST_F(Safetensors, OffsetsPastTheEndAreRefused) {
  EXPECT_EQ(refusal(entry_of(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", kBytes4)),
            R"(tensor "x" ends at byte 8 of 4 bytes of data)");
  EXPECT_EQ(refusal(entry_of(R"("dtype":"F32","shape":[1],"data_offsets":[18446744073709551608,18446744073709551612])",
                             kBytes4)),
            R"(tensor "x" ends at byte 18446744073709551612 of 4 bytes of data)");
  EXPECT_EQ(refusal(entry_of(R"("dtype":"U8","shape":[9007199254740992],"data_offsets":[0,9007199254740992])")),
            R"(tensor "x" ends at byte 9007199254740992 of 0 bytes of data)");
}

std::string two_tensors(const std::string& a, const std::string& b, size_t data_bytes) {
  return file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + a +
                     R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + b + "}}",
                 std::string(data_bytes, '\0'));
}

TEST_F(Safetensors, HolesAreRefused) {
  EXPECT_EQ(refusal(two_tensors("[0,2]", "[3,5]", 5)), R"(1 bytes before tensor "b" belong to no tensor)");
  EXPECT_EQ(refusal(two_tensors("[3,5]", "[1,3]", 5)), R"(1 bytes before tensor "b" belong to no tensor)");
  EXPECT_EQ(refusal(two_tensors("[0,2]", "[2,4]", 7)), "the last 3 bytes belong to no tensor");
  EXPECT_EQ(refusal(file_of("{}", "left over")), "the last 9 bytes belong to no tensor");
}

TEST_F(Safetensors, OverlapsAreRefused) {
  EXPECT_EQ(refusal(two_tensors("[0,2]", "[1,3]", 3)), R"(tensor "b" overlaps the tensor before it)");
  EXPECT_EQ(refusal(two_tensors("[0,2]", "[0,2]", 2)), R"(tensor "b" overlaps the tensor before it)");
}

TEST_F(Safetensors, TensorsMayLieInAnyOrder) { EXPECT_EQ(refusal(two_tensors("[2,4]", "[0,2]", 4)), "(loaded)"); }

TEST_F(Safetensors, BoolBytesOtherThanZeroAndOneAreRefused) {
  EXPECT_EQ(refusal(entry_of(R"("dtype":"BOOL","shape":[2],"data_offsets":[0,2])", "\1\2")),
            R"(tensor "x" is BOOL and holds a byte other than 0 and 1)");
}

// ---- Sweeps -------------------------------------------------------------------------------------------------------

class SafetensorsSweep : public Safetensors {
 protected:
  SafetensorsSweep() {
    save_safetensors(path(), {{"weight", ones({2, 3})}, {"bias", zeros({0, 2})}, {"mask", tensor({true, false})}},
                     {{"format", "pt"}});
    whole_ = content_of(path());
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, whole_.data(), 8);
    data_begin_ = 8 + header_bytes;
  }
  std::string whole_;
  size_t data_begin_ = 0;
};

TEST_F(SafetensorsSweep, EveryTruncationIsRefused) {
  ASSERT_EQ(refusal(whole_), "(loaded)");
  for (size_t bytes = 0; bytes < whole_.size(); ++bytes) {
    EXPECT_NE(refusal(whole_.substr(0, bytes)), "(loaded)") << bytes << " bytes";
  }
}

TEST_F(SafetensorsSweep, EveryBitFlipInTheHeaderLoadsOrIsRefused) {
  for (size_t at = 0; at < data_begin_; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string broken = whole_;
      broken[at] = static_cast<char>(broken[at] ^ (1 << bit));
      EXPECT_NO_THROW(refusal(broken)) << "byte " << at << ", bit " << bit;  // refusal() lets only tenon::Error pass
    }
  }
}

TEST_F(SafetensorsSweep, EveryByteOfTheHeaderMayBecomeAnything) {
  for (size_t at = 0; at < data_begin_; ++at) {
    for (const char value : {'\0', '\xFF', '"', '{', '[', '9', '-', ' '}) {
      std::string broken = whole_;
      broken[at] = value;
      EXPECT_NO_THROW(refusal(broken)) << "byte " << at;
    }
  }
}

// ---- Writing ------------------------------------------------------------------------------------------------------

std::string write_error(const fs::path& path, const std::map<std::string, Tensor>& tensors,
                        const std::map<std::string, std::string>& metadata = {}) {
  try {
    save_safetensors(path, tensors, metadata);
  } catch (const Error& error) {
    return error.what();
  }
  return "(saved)";
}

TEST_F(Safetensors, SavingReplacesTheFileAndLeavesNothingBeside) {
  write("old");
  save_safetensors(path(), {{"x", ones({2})}});
  EXPECT_EQ(load_safetensors(path()).tensors.at("x").to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(files(), std::vector<std::string>{"file.safetensors"});
}

TEST_F(Safetensors, SavingReplacesALinkAndNotWhatItLeadsTo) {
  write("old");
  fs::create_symlink("file.safetensors", path("link"));
  save_safetensors(path("link"), {{"x", ones({2})}});
  EXPECT_FALSE(fs::is_symlink(path("link")));
  EXPECT_EQ(refusal_of(path("link")), "(loaded)");
  EXPECT_EQ(content_of(path()), "old");
}

TEST_F(Safetensors, FolderInPlaceOfTheTargetFailsAndLeavesNothingBeside) {
  fs::create_directory(path());
  std::ofstream(path() / "inside") << "kept";
  EXPECT_EQ(write_error(path(), {{"x", ones({2})}}),
            "[safetensors] " + path().string() + ": cannot be written: it is a folder; name a file");
  EXPECT_EQ(files(), std::vector<std::string>{"file.safetensors"});
  EXPECT_EQ(content_of(path() / "inside"), "kept");
}

TEST_F(Safetensors, OldFileSurvivesAWriteThatStopsHalfway) {
  write("old");
  std::string error;
  {
    const FileSizeLimit limit(1000);
    error = write_error(path(), {{"x", ones({1000})}});
  }
  EXPECT_EQ(error, "[safetensors] " + path().string() + ": cannot be written: File too large");
  EXPECT_EQ(content_of(path()), "old");
  EXPECT_EQ(files(), std::vector<std::string>{"file.safetensors"});
}

TEST_F(Safetensors, MissingFolderFails) {
  const fs::path file = path("none") / "file.safetensors";
  EXPECT_EQ(write_error(file, {{"x", ones({2})}}),
            "[safetensors] " + file.string() + ": cannot be written: No such file or directory");
}

TEST_F(Safetensors, OldFileSurvivesTensorsThatCannotBeWritten) {
  write("old");
  const std::string start = "[safetensors] " + path().string() + ": ";
  EXPECT_EQ(write_error(path(), {{"x", Tensor()}}), start + "tensor \"x\" is undefined");
  EXPECT_EQ(write_error(path(), {{"__metadata__", ones({1})}}), start + "a tensor cannot have the name __metadata__");
  EXPECT_EQ(write_error(path(), {{"\xFF", ones({1})}}), start + "the text \"\\xff\" is not valid UTF-8");
  EXPECT_EQ(write_error(path(), {}, {{"key", "\xFF"}}), start + "the text \"\\xff\" is not valid UTF-8");
  EXPECT_EQ(content_of(path()), "old");
  EXPECT_EQ(files(), std::vector<std::string>{"file.safetensors"});
}

}  // namespace
}  // namespace tenon::io
