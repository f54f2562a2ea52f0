// The graph: immutable nodes, interned by structure, counted by reference.
//
// Two recordings of the same op on the same operands are one node, so common subexpressions cost nothing to find; but
// not where a tensor holds the first and gradients pass: each tensor has a gradient of its own (Node::apart). A node
// knows whether it has been evaluated (its Data), never how. Chains may be millions of nodes long: nothing in here
// recurses over operands.

#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/base/small_vector.h"
#include "tenon/ir/attrs.h"
#include "tenon/ir/data.h"

namespace tenon::ir {

class Node;
struct Inferred;  // infer.h

/// A counted reference to a node.
class NodeRef {
 public:
  NodeRef() = default;
  NodeRef(const NodeRef& other);
  NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodeRef& operator=(NodeRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodeRef();

  Node* get() const { return node_; }
  Node* operator->() const { return node_; }
  Node& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  friend bool operator==(const NodeRef& a, const NodeRef& b) { return a.node_ == b.node_; }

 private:
  friend class Node;
  friend class InternTable;
  static NodeRef adopt(Node* node) {
    NodeRef ref;
    ref.node_ = node;
    return ref;
  }
  Node* node_ = nullptr;
};

/// One result of a node: what a tensor holds and what ops take.
struct Value {
  NodeRef node;
  uint32_t index = 0;

  const Type& type() const;
  DType dtype() const { return type().dtype; }
  const Dims& shape() const { return type().shape; }
  size_t rank() const { return shape().size(); }
  DeviceId device() const;
  bool needs_grad() const;
  explicit operator bool() const { return static_cast<bool>(node); }
  friend bool operator==(const Value& a, const Value& b) { return a.node == b.node && a.index == b.index; }
};

using Operands = base::SmallVector<Value, 3>;

/// What is done with the gradient of a node's result when all of it has arrived, before it goes on.
struct GradientHooks {
  virtual ~GradientHooks() = default;
  virtual Value applied(uint32_t result, const Value& gradient) = 0;
};

class Node {
 public:
  /// The node for this op on these operands: an existing equal one, or a new one. Checks the table's rules.
  static NodeRef make(Op op, Operands inputs, Attrs attrs);
  /// The same op on other operands, recorded in the same module.
  static NodeRef make_like(const Node& node, Operands inputs);
  /// The value under an identity of its own, for a tensor whose gradient is its own: whoever records the same op on the
  /// same operands gets another node. A value that has one already, of an op that folded to its operand, is marked.
  static Value apart(Value value);

  Op op() const { return op_; }
  const OpInfo& info() const { return ir::info(op_); }
  std::span<const Value> inputs() const { return {inputs_.data(), inputs_.size()}; }
  const Value& input(size_t i) const { return inputs_[i]; }
  const Attrs& attrs() const { return attrs_; }
  template <typename T>
  const T& attrs_as() const {
    return std::get<T>(attrs_);
  }
  size_t results() const { return 1 + more_types_.size(); }
  const Type& type(size_t result = 0) const { return result == 0 ? type_ : more_types_[result - 1]; }
  DeviceId device() const { return device_; }
  bool needs_grad() const { return needs_grad_; }
  uint64_t hash() const { return hash_; }
  /// See InRealm.
  uint64_t realm() const { return realm_; }

  /// The bytes of a result once it has been evaluated. Set and read under the executor's lock.
  const DataRef& data(size_t result = 0) const;
  void set_data(size_t result, DataRef data);
  bool evaluated() const { return evaluated_.load(std::memory_order_acquire); }

  /// What hangs on this node while it is not evaluated: the longest chain of such nodes below it, and the bytes of
  /// evaluated values along one chain.
  uint32_t depth() const { return depth_; }
  uint64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  /// Whoever knows better, from now on.
  void set_held_bytes(uint64_t bytes) { held_bytes_.store(bytes, std::memory_order_relaxed); }

  /// Whether it is made of memory that others write, too: nodes of one formula may then have different values, and
  /// every one made is a new one.
  bool reads_shared() const { return reads_shared_.load(std::memory_order_relaxed); }
  void set_reads_shared() { reads_shared_.store(true, std::memory_order_relaxed); }

  /// Whether it, or what it was made of and was not evaluated then, looks up elements by indices that may be bad.
  bool may_fault() const { return may_fault_; }

  /// Whether an evaluation that it had joined without being asked for failed: it is not to join another one.
  bool waits_alone() const { return waits_alone_.load(std::memory_order_relaxed); }
  void set_waits_alone() { waits_alone_.store(true, std::memory_order_relaxed); }

  /// How often it was computed on the way to something else, and not kept; counts up to a few. Set and read under the
  /// executor's lock.
  uint32_t times_computed() const { return times_computed_; }
  void note_computed() { times_computed_ = std::min<uint8_t>(times_computed_ + 1, 100); }

  /// The module and the pass in which it was recorded first.
  base::Label label() const { return label_; }

  /// Null where nobody has registered any.
  GradientHooks* hooks() const { return hooks_.load(std::memory_order_acquire); }
  /// These, or those that another thread has given before. They live as long as the node.
  GradientHooks& set_hooks(std::unique_ptr<GradientHooks> hooks);

  /// Whether it is left out when equal nodes are looked for: see apart().
  bool is_apart() const { return apart_.load(std::memory_order_relaxed) != 0; }

  /// How many references exist; only a hint while other threads record.
  uint32_t references() const { return references_.load(std::memory_order_relaxed); }

 private:
  friend class NodeRef;
  friend class InternTable;
  Node() = default;
  ~Node() { delete hooks_.load(std::memory_order_relaxed); }
  static void release(Node* node);
  static Node* filled(uint64_t hash, Op op, Operands inputs, Attrs attrs, Inferred inferred, base::Label label);
  static NodeRef record(uint64_t hash, Op op, Operands inputs, Attrs attrs, Inferred inferred, base::Label label);

  // What walks and the intern table look at comes first, so that they touch little of a node.
  std::atomic<uint32_t> references_{1};
  std::atomic<bool> evaluated_{false};  // threads that record may look while another evaluates
  Op op_ = Op::buffer;
  bool needs_grad_ = false, may_fault_ = false;
  uint8_t times_computed_ = 0;
  std::atomic<bool> reads_shared_{false}, waits_alone_{false};
  std::atomic<uint32_t> apart_{0};  // a bit for each result
  uint64_t hash_ = 0, realm_ = 0;
  Node* next_ = nullptr;  // in the intern table, of those with the same slot
  Operands inputs_;
  Type type_;
  DeviceId device_;
  uint32_t depth_ = 0;
  base::Label label_ = 0;
  std::atomic<uint64_t> held_bytes_{0};
  std::vector<Type> more_types_;
  Attrs attrs_;
  DataRef data_;
  std::vector<DataRef> more_data_;
  std::atomic<GradientHooks*> hooks_{nullptr};
};

/// The identity of a differentiable leaf. It stays the same while the leaf's value is read, updated or moved; what the
/// leaf collects stands in `tensor`, which derives from this.
struct Param {
  Param();
  virtual ~Param() = default;
  const uint64_t id;  // never reused in a process
};

/// The gradient of a user-defined function: from the results' gradients (empty where none arrived) to the operands'.
struct CustomRule {
  std::string name;
  std::function<std::vector<Value>(std::span<const Value> operands, std::span<const Value> grads)> backward;
};

/// While alive, this thread makes nodes of a realm of their own: none of them is found from outside, and none from
/// outside is found again here. What is recorded to be run again must not meet values that happen to be there.
class InRealm {
 public:
  explicit InRealm(uint64_t realm);
  ~InRealm();
  InRealm(const InRealm&) = delete;
  InRealm& operator=(const InRealm&) = delete;
  /// One that no node has been made in; 0 is everybody's.
  static uint64_t next();

 private:
  uint64_t before_;
};

/// Live nodes in the intern table, for tests and statistics.
size_t live_nodes();

inline NodeRef::NodeRef(const NodeRef& other) : node_(other.node_) {
  if (node_) node_->references_.fetch_add(1, std::memory_order_relaxed);
}
inline NodeRef::~NodeRef() {
  if (node_ && node_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) Node::release(node_);
}
inline const Type& Value::type() const { return node->type(index); }
inline DeviceId Value::device() const { return node->device(); }
inline bool Value::needs_grad() const { return node->needs_grad() && is_float(dtype()); }

}  // namespace tenon::ir
