// Tensors that lie in the map of their file: they share its memory, never its fate.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>

#include "tenon/device/storage.h"
#include "tenon/io/file.h"
#include "tenon/io/safetensors.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/compile.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/io/support.h"

namespace tenon::io {
namespace {

const std::byte* memory_of(const Tensor& tensor) {
  const ir::Value& value = value_of(tensor);
  return device::storage_of(value.node->data(value.index))->buffer().host;
}

bool lies_in(const std::byte* memory, std::span<const std::byte> bytes) {
  return memory >= bytes.data() && memory < bytes.data() + bytes.size();
}

class Mapped : public InFolder, public testing::WithParamInterface<const char*> {
 protected:
  /// Twelve floats 0 ... 11 over the map of a file, behind `offset` bytes.
  Tensor floats(size_t offset = 0) {
    original_.resize(12);
    std::iota(original_.begin(), original_.end(), 0.0F);
    write(std::string(offset, 'x') + std::string(reinterpret_cast<const char*>(original_.data()), 48));
    file_ = MappedFile::open("test", path());
    return from_host_memory(file_->bytes().subspan(offset), file_, {3, 4}, Options(DType::f32, GetParam()));
  }
  std::vector<float> original_;
  std::shared_ptr<const MappedFile> file_;
};

TEST_P(Mapped, TensorStaysWhereItIs) {
  const Tensor x = floats();
  EXPECT_EQ(memory_of(x), file_->bytes().data());
  EXPECT_EQ(x.sum().item<float>(), 66);
}

TEST_P(Mapped, UnalignedBytesAreCopied) {
  const Tensor x = floats(2);
  EXPECT_FALSE(lies_in(memory_of(x), file_->bytes()));
  EXPECT_EQ(x.sum().item<float>(), 66);
}

TEST_P(Mapped, BytesAlignedToTheirElementsAreNot) {
  const Tensor x = floats(4);
  EXPECT_TRUE(lies_in(memory_of(x), file_->bytes()));
  EXPECT_EQ(x.sum().item<float>(), 66);
}

TEST_P(Mapped, WritingInPlaceDoesNotReachTheFile) {
  Tensor x = floats();
  const std::string before = content_of(path());
  for (int step = 0; step < 3; ++step) {
    x.add_(1.0);
    x.eval();
  }
  EXPECT_EQ(x.sum().item<float>(), 102);
  EXPECT_TRUE(lies_in(memory_of(x), file_->bytes()));  // the state was overwritten where it is
  EXPECT_EQ(content_of(path()), before);
}

TEST_P(Mapped, TensorOutlivesTheHandleOfItsFile) {
  const Tensor x = floats();
  file_.reset();
  fs::remove(path());
  EXPECT_EQ(x.sum().item<float>(), 66);
}

TEST_P(Mapped, MapIsGivenBackWhenTheLastTensorIsGone) {
  Tensor x = floats();
  const std::weak_ptr<const MappedFile> file = file_;
  file_.reset();
  Tensor later = x * 2;
  x = Tensor();
  EXPECT_FALSE(file.expired());  // `later` is made of it
  EXPECT_EQ(later.sum().item<float>(), 132);
  later = Tensor();
  EXPECT_TRUE(file.expired());
}

TEST_P(Mapped, MemoryOfAFileIsNotCountedAsTheDevices) {
  const size_t before = device::memory_stats().live_bytes;
  const Tensor x = floats();
  EXPECT_EQ(device::memory_stats().live_bytes, before);
}

TEST_P(Mapped, DroppedWhileStillReadIsReadToItsEnd) {
  const int64_t n = 1 << 20;
  write(std::string(static_cast<size_t>(n) * 4, '\0'));
  Tensor sum;
  {
    const auto file = MappedFile::open("test", path());
    Tensor x = from_host_memory(file->bytes(), file, {1024, 1024}, Options(DType::f32, GetParam()));
    sum = (x + 1.0).exp().log().sum();
    sum.eval();  // may be under way when x and the map go
  }
  EXPECT_NEAR(sum.item<float>(), static_cast<float>(n), 64);
}

TEST_P(Mapped, CapturedFunctionTrainsMappedState) {
  Tensor x = floats();
  auto step = compile([&](const Tensor& by) {
    x.add_(by);
    return x.sum();
  });
  const Tensor one = ones({3, 4}, Options(DType::f32, GetParam()));
  float last = 0;
  for (int i = 0; i < 4; ++i) last = step(one).item<float>();
  EXPECT_EQ(last, 66 + 4 * 12);
  EXPECT_EQ(content_of(path()), std::string(reinterpret_cast<const char*>(original_.data()), 48));
}

TEST_P(Mapped, ReaderOfAnEarlierValueKeepsItWhenAReplayOverwritesTheState) {
  Tensor x = floats();
  auto step = compile([&](const Tensor& by) {
    x.add_(by);
    return x.sum();
  });
  const Tensor one = ones({3, 4}, Options(DType::f32, GetParam()));
  for (int i = 0; i < 3; ++i) step(one).item<float>();
  const Tensor earlier = x * 1.0;  // not computed yet
  EXPECT_EQ(step(one).item<float>(), 66 + 4 * 12);
  EXPECT_EQ(earlier.sum().item<float>(), 66 + 3 * 12);
}

INSTANTIATE_TEST_SUITE_P(Devices, Mapped, testing::Values("cpu", "reference"));

TEST(MappedOnOtherDevices, BytesAreCopied) {
  const auto bytes = std::make_shared<std::vector<std::byte>>(16);
  const Tensor x = from_host_memory(*bytes, bytes, {4}, Options(DType::f32, "null"));
  EXPECT_EQ(bytes.use_count(), 1);
  EXPECT_EQ(x.shape(), Dims{4});
}

TEST(MappedOnOtherDevices, WrongNumberOfBytesIsRefused) {
  const auto bytes = std::make_shared<std::vector<std::byte>>(16);
  EXPECT_EQ(text_of([&] { from_host_memory(*bytes, bytes, {5}, DType::f32); }),
            "[tensor] 16 bytes given, f32(5,) takes 20");
}

/// Memory that ends at a page nobody may touch: a kernel that looks behind its operand is stopped at once.
class Fenced {
 public:
  explicit Fenced(size_t bytes) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    memory_ =
        static_cast<std::byte*>(mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + page_, page_, PROT_NONE);
    bytes_ = {memory_ + page_ - bytes, bytes};
  }
  ~Fenced() { munmap(memory_, 2 * page_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  size_t page_;
  std::byte* memory_;
  std::span<std::byte> bytes_;
};

TEST(MappedToTheEnd, NoKernelLooksBehindItsOperand) {
  for (const DType dtype : kAllDTypes) {
    for (const int64_t n : {1, 3, 7, 15, 17, 31, 33, 63, 65, 100}) {
      const auto fenced = std::make_shared<Fenced>(static_cast<size_t>(n) * size_of(dtype));
      Tensor x = from_host_memory(fenced->bytes(), fenced, {n}, Options(dtype, "cpu"));
      EXPECT_EQ(x.to(DType::f64).sum().item<double>(), 0);
      EXPECT_EQ(x.max().item<double>(), 0);
      x.copy_(full({n}, 1, Options(dtype, "cpu")));
      EXPECT_EQ(x.to(DType::f64).sum().item<double>(), static_cast<double>(n)) << name(dtype) << " " << n;
      if (!is_float(dtype)) continue;
      EXPECT_EQ(matmul(x.reshape({1, n}), x.reshape({n, 1})).item<float>(), static_cast<float>(n));
      EXPECT_NEAR(x.softmax(0).to(DType::f32).sum().item<float>(), 1, 0.02);
    }
  }
}

class MappedSafetensors : public InFolder {
 protected:
  MappedSafetensors() : InFolder("model.safetensors") {}
};

TEST_F(MappedSafetensors, LoadingUsesNoDeviceMemory) {
  save_safetensors(path(), {{"a", ones({100, 100})}, {"b", ones({100}, DType::f16)}});
  const size_t before = device::memory_stats().allocations;
  const auto tensors = load_safetensors(path(), "cpu").tensors;
  EXPECT_EQ(device::memory_stats().allocations, before);
  EXPECT_EQ(tensors.at("a").sum().item<float>(), 10000);
}

TEST_F(MappedSafetensors, SavingOverTheFileThatTensorsLieInIsSafe) {
  save_safetensors(path(), {{"x", arange(1000, DType::f32)}});
  Tensor x = load_safetensors(path(), "cpu").tensors.at("x");
  x.mul_(2.0);
  save_safetensors(path(), {{"x", x}});
  EXPECT_EQ(x.sum().item<float>(), 999000);
  EXPECT_EQ(load_safetensors(path()).tensors.at("x").sum().item<float>(), 999000);
}

TEST_F(MappedSafetensors, TrainingOneTensorLeavesItsNeighboursAlone) {
  save_safetensors(path(), {{"a", zeros({7})}, {"b", zeros({5})}, {"c", zeros({3})}});
  auto tensors = load_safetensors(path(), "cpu").tensors;
  tensors.at("b").add_(1.0).eval();
  EXPECT_EQ(tensors.at("a").sum().item<float>(), 0);
  EXPECT_EQ(tensors.at("b").sum().item<float>(), 5);
  EXPECT_EQ(tensors.at("c").sum().item<float>(), 0);
}

}  // namespace
}  // namespace tenon::io
