// What a captured function does while it is traced, kept apart from the program around it.
//
// A tensor from outside is seen through a placeholder: a leaf over the same memory that equals no node there is, in a
// realm of nodes that only this trace finds. What the function writes and the gradients it leaves stand here too, until
// somebody carries them out: a trace that ends in an error, or that only checks a recording, has changed nothing.

#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "tenon/base/flat_map.h"
#include "tenon/device/storage.h"
#include "tenon/ir/node.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/scalar.h"
#include "tenon/tensor/tensor.h"

namespace tenon {

struct Leaf;
struct TensorImpl;

/// Numbers of one dtype that vary, side by side on their device: written together, once per call.
struct ScalarBlock {
  ir::Value leaf;
  DType dtype;
  Device device;
  std::vector<std::shared_ptr<Scalar::State>> scalars;

  static constexpr size_t kBytes = 64;
  /// How many fit.
  static size_t room(DType dtype);
  size_t bytes() const { return scalars.size() * size_of(dtype); }
  /// The numbers of now.
  void write(std::byte* to) const;
};

/// Alive while a captured function records; of one thread.
class Trace {
 public:
  using Impl = std::shared_ptr<TensorImpl>;

  /// From now on the thread traces. The function is given `arguments()` in place of these.
  explicit Trace(std::span<const Tensor> given);
  /// Random numbers that were drawn are not drawn, unless `keep_draws` was called.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  /// The function has returned: nothing more is written down.
  void stop();
  /// The one of this thread, or null.
  static Trace* current();

  /// While alive, the thread works outside of its trace: what a tensor holds is computed, say.
  class Aside {
   public:
    Aside();
    ~Aside();
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

   private:
    Trace* before_;
    ir::InRealm everybodys_;
  };

  // ---- what tensors ask ----

  /// Whether a tensor was there before the function was called.
  bool is_outside(const TensorImpl& tensor) const;
  bool is_argument(const TensorImpl& tensor) const;
  const ir::Value& value_of(const Impl& tensor);
  /// How often the tensor that owns the memory was written, by this function too.
  uint64_t version_of(const Impl& tensor);
  bool is_written(const Impl& root);
  /// A tensor from outside that owns its memory gets another value.
  void write(const Impl& root, ir::Value next);
  void makes(const Impl& tensor);
  Tensor grad_of(const std::shared_ptr<Leaf>& leaf);
  void set_grad(const std::shared_ptr<Leaf>& leaf, const Tensor& gradient);
  /// The distance to its shadow that a tensor from outside has, and gets.
  uint64_t shadow_distance(const Impl& root);
  void set_shadow_distance(const Impl& root, uint64_t distance);
  /// Host values that became a tensor: they are the same in every replay.
  void uploads(const ir::Value& leaf, uint64_t hash) { uploads_.push_back({leaf, hash}); }
  /// A switch that decides what is recorded: whether a module trains, say.
  void depends_on(const std::shared_ptr<const bool>& flag);
  /// Variables that hold tensors, of a module say: another tensor in one of them is noticed.
  void watches(const std::shared_ptr<const std::vector<Tensor*>>& variables);
  ir::Value scalar(const std::shared_ptr<Scalar::State>& state);
  /// Takes words of a stream: the leaf with a place in it, and how far behind that they are.
  std::pair<ir::Value, uint64_t> draw(const std::shared_ptr<Generator::State>& state, Device device, uint64_t words);
  /// Words that were drawn so far.
  uint64_t drawn_of(const Generator::State& state) const;

  // ---- what is left when the function has returned ----

  struct Argument {
    Tensor given, tensor;  // by the caller, and to the function
    ir::Value leaf;
    device::Pin memory;
    Impl linked;                 // the tensor that the function writes and this argument shows, if any
    std::vector<ir::Move> path;  // how it shows it
  };
  /// A tensor from outside that owns its memory.
  struct Outside {
    Impl tensor;
    device::Pin memory;  // where its content lies, in row-major order
    ir::Type type;
    ir::Value leaf;         // the placeholder
    ir::Value before, now;  // what the tensor shows of it
    uint64_t version = 0;   // now
    bool is_written = false;
    std::optional<uint64_t> shadow_distance;  // when it was written with its shadow
  };
  /// A view from outside.
  struct View {
    Impl tensor;
    ir::Value value;
    uint64_t seen_version = 0;
  };
  /// The gradient of a leaf.
  struct Gradient {
    std::shared_ptr<Leaf> leaf;
    Tensor before, now;
    bool is_read = false;  // the function looked at the one before
    bool is_set = false;   // it left another, or none
  };
  /// A place in a stream of random numbers: behind so many words of the trace, and how many follow.
  struct Varying {
    std::shared_ptr<Generator::State> generator;
    Device device;
    ir::Value leaf;
    uint64_t start = 0, drawn = 0;
  };
  struct Uploaded {
    ir::Value leaf;
    uint64_t hash;
  };
  struct Flag {
    std::shared_ptr<const bool> flag;
    bool is_set;
  };
  struct Watched {
    std::shared_ptr<const std::vector<Tensor*>> variables;
    std::vector<const TensorImpl*> tensors;  // in them
  };

  std::span<const Tensor> arguments() const { return argument_tensors_; }
  const std::vector<Argument>& argument_leaves() const { return arguments_; }
  std::deque<Outside>& outside() { return outside_; }
  const std::deque<View>& views() const { return views_; }
  std::vector<Gradient>& gradients() { return gradients_; }
  std::vector<Varying>& varying() { return varying_; }
  const std::vector<ScalarBlock>& blocks() const { return blocks_; }
  const std::vector<Uploaded>& uploaded() const { return uploads_; }
  const std::vector<Flag>& flags() const { return flags_; }
  const std::vector<Watched>& watched() const { return watched_; }
  /// Tensors made inside that are still there.
  std::vector<Impl> alive() const;
  uint64_t realm() const { return id_; }

  /// Views look again at what they show, outside of the trace.
  void let_views_go();
  /// Lets go of all values and tensors.
  void clear();
  /// Random numbers that were drawn stay drawn.
  void keep_draws() { keeps_draws_ = true; }

 private:
  Outside& outside_of(const Impl& root);
  static void link(Argument& argument, const Impl& root);
  Gradient& gradient_of(const std::shared_ptr<Leaf>& leaf);

  uint64_t id_;
  std::optional<ir::InRealm> in_realm_;
  std::vector<Argument> arguments_;
  std::vector<Tensor> argument_tensors_;
  std::deque<Outside> outside_;  // stays where it is: tensors show its values
  std::deque<View> views_;
  base::FlatMap<const TensorImpl*, uint32_t> outside_at_, view_at_;
  std::vector<Gradient> gradients_;
  base::FlatMap<const Leaf*, uint32_t> gradient_at_;
  std::vector<std::weak_ptr<TensorImpl>> made_;
  std::vector<Varying> varying_;
  struct Drawn {
    Generator::State* generator;  // which a Varying keeps
    uint64_t words = 0;           // in the trace
    uint64_t from = 0;            // where they begin in the stream, when the trace has stopped
  };
  std::vector<Drawn> drawn_;
  std::vector<ScalarBlock> blocks_;
  std::vector<Uploaded> uploads_;
  std::vector<Flag> flags_;
  std::vector<Watched> watched_;
  bool keeps_draws_ = false;
};

/// Somebody has set a switch that captured functions may depend on; and how often that has happened.
void note_switch();
uint64_t switches_set();

/// Memory that holds the tensor's content in row-major order, computed if need be.
device::StorageRef packed_memory(const ir::Value& value);

/// The value as the result of a captured function, or as one sees a tensor from outside: it says that it needs
/// gradients, but one that arrives at it is an error, because the graph behind it is not there.
ir::Value without_graph(const ir::Value& data, const char* what);

/// The same values without gradient rules and what only those read.
std::vector<ir::Value> without_history(std::span<const ir::Value> values, uint64_t realm);

}  // namespace tenon
