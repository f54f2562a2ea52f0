// One recording of a captured function: for arguments of certain types, under certain circumstances.
//
// A call is traced and carried out as usual until two in a row have the same signature; then what they recorded is
// replayed. Memory of arguments, results and states is fixed; tensors are values all the same, because whoever holds
// something that a replay is about to overwrite gets the content in other memory first.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/exec/capture.h"
#include "tenon/tensor/compile.h"
#include "tenon/tensor/signature.h"

namespace tenon {

inline constexpr const char* kNoGraph =
    "a gradient arrived at the result of a captured function, which keeps no graph; call backward() inside the "
    "function";

/// The tensor that a place stands for, in a call with these arguments.
Tensor tensor_at(const Place& place, std::span<const Tensor> arguments, const std::vector<Trace::Impl>& outside,
                 const std::function<Trace::Impl(size_t)>& made);

/// What a thread has switched on, and where it makes tensors: another recording each.
struct Circumstances {
  bool records_gradients;
  std::optional<DType> autocast;
  bool tf32;
  uint32_t device;
  static Circumstances now();
  bool operator==(const Circumstances&) const = default;
};

class Recording {
 public:
  using Function = CompiledFunction::Function;
  using Impl = Trace::Impl;

  explicit Recording(std::span<const Tensor> like);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Whether a call with these arguments, now, is one of this recording's.
  bool fits(std::span<const Tensor> arguments, const Circumstances& now) const;
  bool is_recorded() const { return capture_ != nullptr; }
  /// Why a recording cannot be used any more: a tensor was replaced, say. Empty while it can.
  std::string why_outdated() const;

  /// Calls the function. When it has recorded the same as in the call before, that becomes the recording, unless
  /// `may_record` is off.
  void trace(const Function& function, std::span<const Tensor> arguments, bool may_record);
  /// Why the last call was not recorded although it could have been; empty if nothing stands against it.
  const std::optional<Difference>& obstacle() const { return obstacle_; }

  /// Traces the function without carrying anything out, and compares. With `bits`, the next replay is compared with
  /// what the function computes.
  std::optional<Difference> verify(const Function& function, std::span<const Tensor> arguments, bool bits);
  void replay(std::span<const Tensor> arguments);
  /// Fails when the replay gave other bits than the function that `verify` called.
  void compare_bits();

  /// Of the last call; each is asked for once.
  size_t results() const;
  Tensor result(size_t i, std::span<const Tensor> arguments);
  uint64_t replays() const { return replays_; }
  /// Replays up to the last one that was compared.
  uint64_t checked() const { return checked_; }

 private:
  /// A tensor from outside that the function has asked for, by its number in `held_`.
  struct Guarded {
    uint64_t leaf = 0;  // which leaf it was
    const TensorImpl* root = nullptr;
    uint64_t data_replacements = 0;
  };
  /// One that owns its memory.
  struct Bound {
    size_t tensor;  // in `held_`
    device::Pin memory;
    ir::Type type;
    uint64_t version = 0;
    bool is_written = false;
    bool shadow_is_current = false;  // after a call
  };
  struct Argument {
    ir::Type type;
    Device device;
    device::Pin memory;
    const TensorImpl* linked = nullptr;  // what it shows and the function writes
    std::vector<ir::Move> path;
  };
  /// A tensor that the function makes and hands out.
  struct Made {
    bool needs_grad = false, is_released = false;
    Impl handle;
    const ir::Node* shown = nullptr;  // the handle's value, unless somebody wrote it
  };
  /// A gradient that the function looks at before it sets it.
  struct GradientRead {
    std::shared_ptr<Leaf> leaf;
    const TensorImpl* before;
  };
  /// What a call leaves behind.
  struct Examined {
    std::vector<Tensor> made, leaked;
    std::vector<Made> flags;
    std::vector<ir::Value> made_values;
    std::vector<Place> places;
    std::vector<GradientLeft> gradients;
    Signature signature;
  };

  Examined run_traced(Trace& trace, const Function& function);
  Examined examine(Trace& trace, std::vector<Tensor> outputs);
  void carry_out(Trace& trace, Examined& examined, std::span<const Tensor> arguments);
  void record(Trace& trace, Examined& examined, std::span<const Tensor> arguments);
  void bind(Trace& trace);
  size_t hold(const Impl& tensor);
  void let_go();

  void fill_arguments(std::span<const Tensor> arguments);
  void look_after(Bound& bound);
  void show(Bound& bound);
  void protect(Bound& bound);
  void protect_results();
  void move_holders_away(const device::StorageRef& memory);
  void run();
  void finish(std::span<const Tensor> arguments);
  Tensor made_now(size_t i) const;

  std::vector<Argument> arguments_;
  Circumstances circumstances_;
  std::vector<Trace::Flag> flags_;
  mutable uint64_t flags_seen_ = 0;  // changes of switches when they were last looked at
  std::optional<Signature> before_;
  std::optional<Difference> obstacle_;
  bool is_traced_ = false;  // the last call was
  std::vector<Tensor> traced_results_;

  std::unique_ptr<exec::Capture> capture_;
  std::vector<Impl> held_;
  std::vector<Guarded> guarded_;
  std::vector<Bound> bound_;
  std::vector<GradientRead> gradients_read_;
  std::vector<Trace::Watched> watched_;
  std::vector<Trace::Varying> varying_;
  std::vector<ScalarBlock> blocks_;
  std::vector<Made> made_;
  std::vector<Place> places_;
  std::vector<GradientLeft> gradients_;
  std::vector<device::Command> before_commands_;
  std::vector<std::byte> step_bytes_;        // what they upload
  std::vector<device::StorageRef> sources_;  // of copies that are not submitted yet
  uint64_t replays_ = 0, checked_ = 0;
  std::vector<std::vector<std::byte>> expected_;
};

}  // namespace tenon
