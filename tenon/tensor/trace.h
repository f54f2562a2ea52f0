// What is written down while a captured function runs: which tensors it reads, writes and makes, and what varies.

#pragma once

#include <memory>
#include <vector>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/scalar.h"
#include "tenon/tensor/tensor.h"

namespace tenon {

struct TensorImpl;

/// Numbers of one dtype that vary, side by side on their device: written together, once per call.
struct StepBlock {
  ir::Value leaf;
  DType dtype;
  Device device;
  std::vector<std::shared_ptr<Scalar::State>> scalars;

  /// As many as travel inside one command.
  static size_t room(DType dtype);
  size_t bytes() const { return scalars.size() * size_of(dtype); }
  /// The numbers of now.
  void write(std::byte* to) const;
};

/// Alive while a captured function records; of one thread.
class Trace {
 public:
  Trace();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  /// The function has returned: nothing more is written down.
  void stop();
  /// The one of this thread, or null.
  static Trace* current();

  void reads(const std::shared_ptr<TensorImpl>& root);
  /// To be called before the write.
  void writes(const std::shared_ptr<TensorImpl>& owner);
  void makes(const std::shared_ptr<TensorImpl>& tensor);
  /// Host values that became a tensor: they are the same in every replay.
  void uploads(uint64_t hash) { uploads_.push_back(hash); }
  ir::Value scalar(const std::shared_ptr<Scalar::State>& state);
  ir::Value random_state(const std::shared_ptr<Generator::State>& state, Device device);

  struct Write {
    std::shared_ptr<TensorImpl> owner;
    ir::Value old;
    uint64_t old_version;
  };
  /// A place in a stream of random numbers.
  struct Varying {
    std::shared_ptr<Generator::State> generator;
    Device device;
    ir::Value leaf;
    uint64_t start = 0, drawn = 0;
  };

  /// Undoes all writes, as if the function had not been called.
  void undo();
  /// What was written before is not needed any more: nothing will be undone.
  void forget_old_values();
  /// Lets go of everything it has written down.
  void clear();
  /// Tensors that were there before.
  const std::vector<std::shared_ptr<TensorImpl>>& read_roots() const { return reads_; }
  /// Tensors made inside that somebody still holds.
  std::vector<std::shared_ptr<TensorImpl>> survivors() const;
  const std::vector<Write>& written() const { return written_; }
  std::vector<Varying>& varying() { return varying_; }
  const std::vector<StepBlock>& blocks() const { return blocks_; }
  const std::vector<uint64_t>& uploaded() const { return uploads_; }

 private:
  uint64_t id_;
  std::vector<std::shared_ptr<TensorImpl>> reads_;
  std::vector<Write> written_;
  std::vector<std::weak_ptr<TensorImpl>> made_;
  std::vector<Varying> varying_;
  std::vector<StepBlock> blocks_;
  std::vector<uint64_t> uploads_;
};

}  // namespace tenon
