// Convolutions by cuDNN: one of its engines is chosen when a program is made, and runs with memory that the program
// brings.
//
// An engine and its settings are named by numbers that mean the same in the next process: the library's version, the
// engine's number, then a pair for each setting. They are the way of a call. Without one the library's first proposal
// is taken: on an H200 the quickest of the first ten takes 6 % less time than it, over all convolutions of a ResNet-50.
//
// Engines that may give other bits the next time are never taken, nor are those that transform their operands
// (Winograd, Fourier), round sums to 16 bits, or, but where tf32 is allowed, round operands of f32.

#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/backends/cuda/driver.h"
#include "tenon/ir/call.h"

namespace tenon::backends::cuda {

/// A convolution as the library sees it: one axis is two, of which the first has one element. Sizes and strides stand
/// in the order (N, C, height, width), however elements lie.
struct DnnCall {
  struct Tensor {
    DType dtype = DType::f32;
    uint32_t arg = 0;    // of the launch
    int64_t offset = 0;  // bytes after the beginning of the argument
    Dims sizes, strides;
  };
  ir::Op op = ir::Op::conv;  // which of the three is the result
  Tensor x, w, y;
  Dims strides, dilations, before, after;  // of height and width; zeros before and after
  bool tf32 = false;
};

/// None where the call is no convolution whose channels come last, or one that the library has no words for.
std::optional<DnnCall> plan_convolution(const ir::Call& call);

/// Whether the library is there, and wanted: unless TENON_CONVOLUTION=own.
bool has_dnn();

/// A handle of the library, made when it is first needed, and used by one thread at a time.
class DnnLibrary {
 public:
  /// Null where the library does not start.
  DnnHandle handle();
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  DnnHandle handle_ = nullptr;
  bool was_tried_ = false;
};

/// A descriptor of the library with what was set.
class DnnObject {
 public:
  explicit DnnObject(int kind);
  DnnObject(DnnObject&& other) noexcept : made_(std::exchange(other.made_, nullptr)), is_good_(other.is_good_) {}
  ~DnnObject();

  DnnDescriptor get() const { return made_; }
  template <typename T>
  void set(int attribute, int type, const T& value) {
    set_all(attribute, type, 1, &value);
  }
  void set(int attribute, const DnnObject& other) { set(attribute, Dnn::kTypeDescriptor, other.made_); }
  void set(int attribute, const Dims& values) {
    set_all(attribute, Dnn::kTypeInt64, static_cast<int64_t>(values.size()), values.data());
  }
  void set_all(int attribute, int type, int64_t count, const void* values);
  /// Whether the library takes everything that was set.
  bool finish();

 private:
  DnnDescriptor made_ = nullptr;
  bool is_good_ = false;
};

/// A call with the engine that runs it.
class DnnRun : public Runnable {
 public:
  /// The call as a graph of the library's, with the engines that may do it and their settings, those that the library
  /// thinks the best of first; it has not looked at all of what they need.
  struct Problem {
    struct Proposal {
      ir::Way name;
      DnnObject config;
    };
    Problem(DnnHandle handle, const DnnCall& call);
    DnnCall call;
    std::vector<DnnObject> parts;  // which the graph refers to
    DnnObject graph;
    std::vector<Proposal> proposals;
  };

  /// None where the library has no such engine for it.
  static std::shared_ptr<DnnRun> make(DnnLibrary& library, std::shared_ptr<const Problem> problem,
                                      const ir::Way& engine);

  size_t workspace_bytes() const { return workspace_bytes_; }
  /// Where the launch brings the workspace.
  void set_workspace(uint32_t arg) { workspace_arg_ = arg; }
  Result run(const gpu::Step& step, const device::Launch& launch, uint64_t fault_words, Stream stream) const override;

 private:
  DnnRun(DnnLibrary& library, std::shared_ptr<const Problem> problem);
  const DnnObject* named(const ir::Way& name);
  bool make_anew(const ir::Way& name);

  DnnLibrary& library_;
  std::shared_ptr<const Problem> problem_;
  DnnObject engine_, config_, plan_;  // the first two where the library did not propose it
  size_t workspace_bytes_ = 0;
  uint32_t workspace_arg_ = 0;
};

}  // namespace tenon::backends::cuda
