// Event files, read back by a small reader of their format and by protobuf.

#include "tenon/watch/tensorboard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <sstream>
#include <vector>

#include "tenon/watch/crc32c.h"
#include "tests/watch/support.h"

namespace tenon::watch {
namespace {

/// The head of a picture of 260 by 32.
const std::string kPng = std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\4\0\0\0\x20", 24) + "the rest";

/// The checksum bit by bit, from its definition.
uint32_t slow_crc32c(const std::string& bytes) {
  uint32_t crc = ~0U;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) * 0x82f63b78U);
  }
  return ~crc;
}

uint64_t number_at(const std::string& bytes, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = 0; i < size; ++i) number |= uint64_t{static_cast<unsigned char>(bytes.at(at + i))} << (8 * i);
  return number;
}

uint64_t unmasked(uint64_t masked) {
  const auto rotated = static_cast<uint32_t>(masked - 0xa282ead8U);
  return rotated >> 17 | rotated << 15;
}

std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> records;
  for (size_t at = 0; at < file.size();) {
    const uint64_t length = number_at(file, at, 8);
    EXPECT_EQ(unmasked(number_at(file, at + 8, 4)), slow_crc32c(file.substr(at, 8)));
    records.push_back(file.substr(at + 12, length));
    EXPECT_EQ(unmasked(number_at(file, at + 12 + length, 4)), slow_crc32c(records.back()));
    at += 16 + length;
  }
  return records;
}

/// The fields of a protobuf message: numbers as such, everything else as its bytes.
struct Fields {
  std::map<uint64_t, uint64_t> numbers;
  std::map<uint64_t, std::string> bytes;
};

Fields fields_of(const std::string& message) {
  Fields fields;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.size()) {
    const uint64_t key = varint();
    size_t size = 0;
    switch (key & 7) {
      case 0: fields.numbers[key >> 3] = varint(); continue;
      case 1: size = 8; break;
      case 2: size = varint(); break;
      case 5: size = 4; break;
      default: ADD_FAILURE() << "wire type " << (key & 7); return fields;
    }
    fields.bytes[key >> 3] = message.substr(at, size);
    at += size;
  }
  return fields;
}

template <typename T>
T value_of(const std::string& bytes) {
  T value;
  EXPECT_EQ(bytes.size(), sizeof value);
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

class TensorBoard : public InFolder {};

TEST(Crc32c, KnownValues) {
  // RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST_F(TensorBoard, FileBeginsWithItsVersion) {
  const fs::path file = TensorBoardWriter(folder_ / "events").path();
  EXPECT_TRUE(file.filename().string().starts_with("events.out.tfevents.")) << file;
  const std::vector<std::string> records = records_of(content_of(file));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(fields_of(records[0]).bytes[3], "brain.Event:2");
}

TEST_F(TensorBoard, ScalarIsAnEventWithOneValue) {
  TensorBoardWriter writer(folder_);
  writer.scalar("train/loss", 300, 2.5, 1234.5);
  writer.flush();
  Fields event = fields_of(records_of(content_of(writer.path())).at(1));
  EXPECT_EQ(value_of<double>(event.bytes[1]), 1234.5);
  EXPECT_EQ(event.numbers[2], 300U);
  Fields value = fields_of(fields_of(event.bytes[5]).bytes[1]);
  EXPECT_EQ(value.bytes[1], "train/loss");
  EXPECT_EQ(value_of<float>(value.bytes[2]), 2.5F);
}

TEST_F(TensorBoard, TextIsATensorOfStringsForTheTextTab) {
  TensorBoardWriter writer(folder_);
  writer.text("samples", 2, "Once upon a time");
  writer.flush();
  Fields event = fields_of(records_of(content_of(writer.path())).at(1));
  Fields value = fields_of(fields_of(event.bytes[5]).bytes[1]);
  Fields tensor = fields_of(value.bytes[8]);
  EXPECT_EQ(tensor.numbers[1], 7U);
  EXPECT_EQ(tensor.bytes[8], "Once upon a time");
  EXPECT_EQ(fields_of(fields_of(value.bytes[9]).bytes[1]).bytes[1], "text");
}

TEST_F(TensorBoard, PictureHasItsSizeAndBytes) {
  TensorBoardWriter writer(folder_);
  writer.picture("sample", 2, kPng);
  writer.flush();
  Fields event = fields_of(records_of(content_of(writer.path())).at(1));
  Fields value = fields_of(fields_of(event.bytes[5]).bytes[1]);
  Fields image = fields_of(value.bytes[4]);
  EXPECT_EQ(value.bytes[1], "sample");
  EXPECT_EQ(image.numbers[1], 32U);   // height
  EXPECT_EQ(image.numbers[2], 260U);  // width
  EXPECT_EQ(image.bytes[4], kPng);
  EXPECT_THROW(writer.picture("sample", 2, "no PNG"), Error);
}

TEST_F(TensorBoard, ResumedRunTellsWhereItBegins) {
  const fs::path file = TensorBoardWriter(folder_, 41).path();
  Fields event = fields_of(records_of(content_of(file)).at(1));
  EXPECT_EQ(event.numbers[2], 42U);
  EXPECT_EQ(fields_of(event.bytes[7]).numbers[1], 1U);
}

TEST_F(TensorBoard, TwoWritersNeverShareAFile) {
  const TensorBoardWriter one(folder_), two(folder_);
  EXPECT_NE(one.path(), two.path());
}

TEST_F(TensorBoard, FolderThatCannotBeMadeIsOneLine) {
  write("file", "");
  EXPECT_EQ(text_of([&] {
              TensorBoardWriter writer(path("file"));
            }).find("[tensorboard] " + path("file").string() + ": cannot be written"),
            0U);
}

TEST_F(TensorBoard, LibraryReadsWhatWasWritten) {
  {
    TensorBoardWriter writer(folder_ / "events", 6);
    writer.scalar("train/loss", 7, 2.5);
    writer.scalar("train/loss", int64_t{1} << 40, std::nan(""));
    writer.text("samples", 7, "été \xff");
    writer.picture("picture", 7, kPng);
  }
  const std::string check =
      fmt::format("{}/scripts/check_tensorboard.py {}", TENON_SOURCE_DIR, path("events").string());
  auto [status, text] = output_of("python3 " + check);
  if (status == 77) std::tie(status, text) = output_of("/usr/bin/python3 " + check);
  if (status == 77 || status == 127) GTEST_SKIP() << "neither tensorboard nor python3-protobuf is installed";
  ASSERT_EQ(status, 0) << text;
  EXPECT_EQ(text.substr(0, text.rfind("check_tensorboard: read by ")),
            "{\"step\": 0, \"version\": \"brain.Event:2\"}\n"
            "{\"step\": 7, \"session\": 1}\n"
            "{\"step\": 7, \"tag\": \"train/loss\", \"plugin\": \"scalars\", \"value\": 2.5}\n"
            "{\"step\": 1099511627776, \"tag\": \"train/loss\", \"plugin\": \"scalars\", \"value\": NaN}\n"
            "{\"step\": 7, \"tag\": \"samples\", \"plugin\": \"text\", \"value\": \"??t?? ?\"}\n"
            "{\"step\": 7, \"tag\": \"picture\", \"plugin\": \"images\", \"value\": \"260 x 32\"}\n");
}

}  // namespace
}  // namespace tenon::watch
