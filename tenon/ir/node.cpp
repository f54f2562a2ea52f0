// Interning and the end of nodes.
//
// The table is cut into shards by hash, so that many threads record at once. It holds weak pointers: a node whose count
// reached zero is skipped by look-ups and removed by the thread that dropped it.

#include "tenon/ir/node.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"
#include "tenon/ir/composition.h"
#include "tenon/ir/infer.h"

namespace tenon::ir {

class InternTable {
 public:
  static InternTable& get() {
    static auto* table = new InternTable;  // never destroyed: nodes may outlive static destructors
    return *table;
  }

  NodeRef find(uint64_t hash, uint64_t realm, Op op, const Operands& inputs, const Attrs& attrs) {
    Shard& shard = shard_of(hash);
    std::lock_guard lock(shard.mutex);
    return find_locked(shard, hash, realm, op, inputs, attrs);
  }

  // Inserts a new node unless another thread was faster.
  NodeRef insert(Node* node) {
    Shard& shard = shard_of(node->hash_);
    std::lock_guard lock(shard.mutex);
    if (NodeRef other = find_locked(shard, node->hash_, node->realm_, node->op_, node->inputs_, node->attrs_))
      return other;
    if (shard.size == shard.slots.size()) shard.grow();
    Node*& first = shard.first(node->hash_);
    node->next_ = first;
    first = node;
    ++shard.size;
    return NodeRef::adopt(node);
  }

  void erase(Node* node) {
    if (node->is_apart()) {
      --apart_;
      return;
    }
    Shard& shard = shard_of(node->hash_);
    std::lock_guard lock(shard.mutex);
    shard.unlink(node);
  }

  // Takes a node out, unless it has one result that somebody but the caller has, too.
  bool withdraw(Node* node, uint32_t bit) {
    Shard& shard = shard_of(node->hash_);
    std::lock_guard lock(shard.mutex);
    const bool is_alone = node->references_.load(std::memory_order_acquire) == 1;
    if (!is_alone && node->results() == 1 && node->op_ != Op::custom) return false;
    if (node->apart_.fetch_or(bit) == 0) {
      shard.unlink(node);
      ++apart_;
    }
    return true;
  }

  NodeRef keep_out(Node* node, uint32_t bit) {
    node->apart_ = bit;
    ++apart_;
    return NodeRef::adopt(node);
  }

  size_t size() {
    size_t total = apart_;
    for (Shard& shard : shards_) {
      std::lock_guard lock(shard.mutex);
      total += shard.size;
    }
    return total;
  }

 private:
  // Nodes are chained through themselves, so that keeping one costs no allocation.
  struct Shard {
    std::mutex mutex;
    std::vector<Node*> slots = std::vector<Node*>(64);
    size_t size = 0;

    Node*& first(uint64_t hash) { return slots[hash & (slots.size() - 1)]; }
    void unlink(Node* node) {
      Node** at = &first(node->hash_);
      while (*at != node) at = &(*at)->next_;
      *at = node->next_;
      --size;
    }
    void grow() {
      std::vector<Node*> old(2 * slots.size());
      old.swap(slots);
      for (Node* node : old) {
        while (node) {
          Node* next = node->next_;
          node->next_ = std::exchange(first(node->hash_), node);
          node = next;
        }
      }
    }
  };

  Shard& shard_of(uint64_t hash) { return shards_[hash >> 60]; }

  static NodeRef find_locked(Shard& shard, uint64_t hash, uint64_t realm, Op op, const Operands& inputs,
                             const Attrs& attrs) {
    for (Node* node = shard.first(hash); node; node = node->next_) {
      if (node->hash_ != hash || node->realm_ != realm || node->op_ != op || !(node->inputs_ == inputs) ||
          !(node->attrs_ == attrs))
        continue;
      uint32_t seen = node->references_.load(std::memory_order_relaxed);
      while (seen != 0) {  // zero: another thread is ending it
        if (node->references_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire))
          return NodeRef::adopt(node);
      }
    }
    return {};
  }

  std::array<Shard, 16> shards_;
  std::atomic<size_t> apart_{0};
};

namespace {

std::atomic<uint64_t> next_unique{1};

uint64_t structural_hash(uint64_t realm, Op op, const Operands& inputs, const Attrs& attrs) {
  uint64_t h = base::mix(static_cast<uint64_t>(op) ^ realm << 8, hash(attrs));
  bool is_unique = false;
  for (const Value& value : inputs) {
    h = base::mix(h, reinterpret_cast<uintptr_t>(value.node.get()));
    h = base::mix(h, value.index);
    is_unique = is_unique || (value.node && value.node->reads_shared());  // infer() refuses empty ones
  }
  return is_unique ? base::mix(h, next_unique++) : h;
}

bool any_float(const Inferred& inferred) {
  return is_float(inferred.first.dtype) ||
         std::any_of(inferred.more.begin(), inferred.more.end(), [](const Type& type) { return is_float(type.dtype); });
}

bool passes_gradient(Op op, const Operands& inputs) {
  if (!info(op).is(kDifferentiable)) return false;
  if (op == Op::param) return true;
  for (const Value& value : inputs) {
    if (value.needs_grad()) return true;
  }
  return false;
}

// Whether operands are what a node's operands are, so that its results are known.
bool has_types_of(const Node& node, const Operands& inputs) {
  const auto is_alike = [](const Value& a, const Value& b) { return a.type() == b.type() && a.device() == b.device(); };
  return std::equal(inputs.begin(), inputs.end(), node.inputs().begin(), node.inputs().end(), is_alike);
}

const DataRef kNoData;

std::atomic<uint64_t> next_param{1}, next_realm{1};

thread_local uint64_t realm_of_thread = 0;

}  // namespace

Param::Param() : id(next_param++) {}

InRealm::InRealm(uint64_t realm) : before_(std::exchange(realm_of_thread, realm)) {}
InRealm::~InRealm() { realm_of_thread = before_; }
uint64_t InRealm::next() { return next_realm++; }

NodeRef Node::make(Op op, Operands inputs, Attrs attrs) {
  const uint64_t realm = realm_of_thread, h = structural_hash(realm, op, inputs, attrs);
  if (NodeRef known = InternTable::get().find(h, realm, op, inputs, attrs)) return known;

  Inferred inferred = infer(op, inputs, attrs);  // throws before anything is made
  return record(h, op, std::move(inputs), std::move(attrs), std::move(inferred), base::label());
}

Node* Node::filled(uint64_t hash, Op op, Operands inputs, Attrs attrs, Inferred inferred, base::Label label) {
  auto* node = new Node;
  node->op_ = op;
  node->hash_ = hash;
  node->realm_ = realm_of_thread;
  node->needs_grad_ = any_float(inferred) && passes_gradient(op, inputs);
  node->device_ = inferred.device;
  node->type_ = std::move(inferred.first);
  node->more_types_ = std::move(inferred.more);
  node->label_ = label;
  node->may_fault_ =
      ir::info(op).kind == Kind::indexed || (op == Op::composed && std::get<ComposedAttrs>(attrs).what->may_fault);
  uint64_t held_here = 0, held_below = 0;
  for (const Value& input : inputs) {
    const Node& below = *input.node;
    if (below.reads_shared()) node->set_reads_shared();
    if (below.evaluated()) {
      held_here += bytes_of(below.type());
      continue;
    }
    node->may_fault_ = node->may_fault_ || below.may_fault_;
    node->depth_ = std::max(node->depth_, below.depth_ + 1);
    held_below = std::max(held_below, below.held_bytes());
  }
  node->set_held_bytes(held_below + held_here);
  node->inputs_ = std::move(inputs);
  node->attrs_ = std::move(attrs);
  return node;
}

NodeRef Node::record(uint64_t hash, Op op, Operands inputs, Attrs attrs, Inferred inferred, base::Label label) {
  Node* node = filled(hash, op, std::move(inputs), std::move(attrs), std::move(inferred), label);
  NodeRef result = InternTable::get().insert(node);
  if (result.get() != node) {
    Operands dropped = std::move(node->inputs_);
    delete node;
  }
  return result;
}

NodeRef Node::make_like(const Node& node, Operands inputs) {
  const uint64_t realm = realm_of_thread, h = structural_hash(realm, node.op_, inputs, node.attrs_);
  NodeRef made = InternTable::get().find(h, realm, node.op_, inputs, node.attrs_);
  if (!made) {
    Inferred inferred = has_types_of(node, inputs) ? Inferred{node.type_, node.more_types_, node.device_}
                                                   : infer(node.op_, inputs, node.attrs_);
    made = record(h, node.op_, std::move(inputs), node.attrs_, std::move(inferred), node.label_);
  }
  return made;
}

Value Node::apart(Value value) {
  Node* node = value.node.get();
  const uint32_t bit = 1u << std::min(value.index, 31u);
  if ((node->apart_ & bit) != 0 || node->op_ == Op::param) {
    const uint64_t h = structural_hash(node->realm_, Op::after, {value}, NoAttrs());
    Inferred inferred{value.type(), {}, node->device_};
    return {InternTable::get().keep_out(
                filled(h, Op::after, {std::move(value)}, NoAttrs(), std::move(inferred), node->label_), 1),
            0};
  }
  if (InternTable::get().withdraw(node, bit)) return value;
  Inferred inferred{node->type_, node->more_types_, node->device_};
  Node* twin = filled(node->hash_, node->op_, node->inputs_, node->attrs_, std::move(inferred), node->label_);
  return {InternTable::get().keep_out(twin, bit), value.index};
}

const DataRef& Node::data(size_t result) const {
  if (result == 0) return data_;
  return result - 1 < more_data_.size() ? more_data_[result - 1] : kNoData;
}

void Node::set_data(size_t result, DataRef data) {
  if (result == 0) {
    const bool is_there = data != nullptr;
    if (!is_there) evaluated_.store(false, std::memory_order_release);
    data_ = std::move(data);
    if (is_there) evaluated_.store(true, std::memory_order_release);
    return;
  }
  more_data_.resize(std::max(more_data_.size(), result));
  more_data_[result - 1] = std::move(data);
}

GradientHooks& Node::set_hooks(std::unique_ptr<GradientHooks> hooks) {
  GradientHooks* before = nullptr;
  return hooks_.compare_exchange_strong(before, hooks.get()) ? *hooks.release() : *before;
}

// Ends a node and whatever only it kept alive, with an explicit list instead of recursion.
void Node::release(Node* node) {
  using List = base::SmallVector<Node*, 16>;  // the usual few take no memory of their own
  thread_local List* pending = nullptr;
  if (pending) {
    pending->push_back(node);
    return;
  }
  List ending{node};
  pending = &ending;
  while (!ending.empty()) {
    Node* last = ending.back();
    ending.pop_back();
    InternTable::get().erase(last);
    delete last;  // dropping its operands calls release, which appends to the list
  }
  pending = nullptr;
}

size_t live_nodes() { return InternTable::get().size(); }

}  // namespace tenon::ir
