// The stack machine of the pickle format, less everything that could run.
//
// Objects lie in one list and refer to each other by number, so that a pickle nested a million deep costs a million
// entries and no recursion. Every instruction makes at most one object, and the caller says how many there may be: an
// instruction is a byte, an object is not.

#include "tenon/io/pickle.h"

#include <bit>
#include <unordered_map>

namespace tenon::io {
namespace {

using Kind = Object::Kind;

/// The instructions that torch.save and torch's own older versions write, under their names in Python's pickletools.
enum Instruction : uint8_t {
  kProto = 0x80,
  kFrame = 0x95,
  kStop = '.',
  kMark = '(',
  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8a,
  kBinFloat = 'G',
  kBinUnicode = 'X',
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kEmptyTuple = ')',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kEmptyDict = '}',
  kSetItem = 's',
  kSetItems = 'u',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kMemoize = 0x94,
  kBinGet = 'h',
  kLongBinGet = 'j',
  kGlobal = 'c',
  kStackGlobal = 0x93,
  kReduce = 'R',
  kBuild = 'b',
  kBinPersId = 'Q',
};

class Machine {
 public:
  Machine(const Input& input, bool (*is_accepted)(std::string_view name), const PickleLimits& limits)
      : input_(input), is_accepted_(is_accepted), limits_(limits) {}

  Pickle run() {
    if (input_.bytes.size() > kMostBytes) {
      fail(input_, "a pickle of {} bytes is over the limit of {}", input_.bytes.size(), kMostBytes);
    }
    if (take<uint8_t>() != kProto) fail(input_, "the pickle does not start with its protocol");
    if (const int protocol = take<uint8_t>(); protocol < 2 || protocol > 5) {
      fail(input_, "a pickle of protocol {} is not read (2 to 5 are)", protocol);
    }
    while (true) {
      at_instruction_ = at_;
      const auto instruction = take<uint8_t>();
      if (instruction == kStop) break;
      step(instruction);
    }
    if (stack_.size() != 1 || !marks_.empty()) refuse("ends with other than one object");
    if (at_ != input_.bytes.size() && !limits_.may_go_on) refuse("goes on behind its end");
    result_.root = stack_[0];
    result_.bytes = at_;
    return std::move(result_);
  }

 private:
  void step(uint8_t instruction) {
    switch (instruction) {
      case kFrame: check_frame(take<uint64_t>()); return;
      case kMark: push_mark(); return;
      case kNone: push({Kind::none}); return;
      case kNewTrue: push({Kind::boolean, 1}); return;
      case kNewFalse: push({Kind::boolean, 0}); return;
      case kBinInt: push({Kind::integer, take<int32_t>()}); return;
      case kBinInt1: push({Kind::integer, take<uint8_t>()}); return;
      case kBinInt2: push({Kind::integer, take<uint16_t>()}); return;
      case kLong1: push({Kind::integer, long_integer(take<uint8_t>())}); return;
      case kBinFloat: push({Kind::real, 0, big_endian_real()}); return;
      case kBinUnicode: push_text(take<uint32_t>()); return;
      case kShortBinUnicode: push_text(take<uint8_t>()); return;
      case kBinUnicode8: push_text(take<uint64_t>()); return;
      case kEmptyTuple: push({Kind::tuple}); return;
      case kTuple: push_tuple(since_mark()); return;
      case kTuple1: push_tuple(1); return;
      case kTuple2: push_tuple(2); return;
      case kTuple3: push_tuple(3); return;
      case kEmptyList: push({Kind::list}); return;
      case kAppend: extend(Kind::list, 1); return;
      case kAppends: extend(Kind::list, since_mark()); return;
      case kEmptyDict: push({Kind::dict}); return;
      case kSetItem: extend(Kind::dict, 2); return;
      case kSetItems: extend(Kind::dict, since_mark()); return;
      case kBinPut: remember(take<uint8_t>()); return;
      case kLongBinPut: remember(take<uint32_t>()); return;
      case kMemoize: remember(static_cast<uint32_t>(memo_.size())); return;
      case kBinGet: recall(take<uint8_t>()); return;
      case kLongBinGet: recall(take<uint32_t>()); return;
      case kGlobal: push_name_from_lines(); return;
      case kStackGlobal: push_name_from_stack(); return;
      case kReduce: reduce(); return;
      case kBuild: build(); return;
      case kBinPersId: push_around(Kind::persistent, 1); return;
      default:
        fail(input_, "the pickle has the instruction 0x{:02x} at byte {}, which no state dict has", instruction,
             at_instruction_);
    }
  }

  [[noreturn]] void refuse(std::string_view problem) const {
    fail(input_, "the pickle {} (at byte {} of it)", problem, at_instruction_);
  }

  std::span<const std::byte> take_bytes(uint64_t bytes) {
    if (bytes > input_.bytes.size() - at_) refuse("is cut off");
    const auto taken = input_.bytes.subspan(at_, bytes);
    at_ += bytes;
    return taken;
  }
  template <typename T>
  T take() {
    return number_at<T>(take_bytes(sizeof(T)), 0);
  }
  std::string_view take_line() {
    const std::string_view rest = as_text(input_.bytes.subspan(at_));
    const size_t end = rest.find('\n');
    if (end == rest.npos) refuse("is cut off");
    at_ += end + 1;
    return rest.substr(0, end);
  }
  int64_t long_integer(size_t bytes) {
    if (bytes > 8) refuse("holds a number beyond 64 bits");
    const auto digits = take_bytes(bytes);
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; ++i) number |= static_cast<uint64_t>(digits[i]) << (8 * i);
    const bool negative = bytes > 0 && (digits[bytes - 1] & std::byte{0x80}) != std::byte{0};
    if (negative && bytes < 8) number |= ~uint64_t{0} << (8 * bytes);
    return static_cast<int64_t>(number);
  }
  double big_endian_real() { return std::bit_cast<double>(__builtin_bswap64(take<uint64_t>())); }

  /// Only a hint for streams, but one that leads beyond the file is no pickler's: Python reads nothing of such a
  /// pickle.
  void check_frame(uint64_t bytes) const {
    if (bytes > input_.bytes.size() - at_) refuse(fmt::format("has a frame of {} bytes and is cut off", bytes));
  }
  void push_mark() {
    constexpr size_t kMostOpen = 1000;
    if (marks_.size() == kMostOpen) refuse("is nested too deep");
    marks_.push_back(stack_.size());
  }
  void check_count(size_t count) const {
    if (count >= limits_.most_objects) refuse("is made of far more objects than a file of this size has use for");
  }
  void push(Object object) {
    check_count(result_.objects.size());
    stack_.push_back(static_cast<ObjectId>(result_.objects.size()));
    result_.objects.push_back(std::move(object));
  }
  void push_text(uint64_t bytes) {
    Object object{Kind::text};
    object.text = as_text(take_bytes(bytes));
    if (!is_utf8(object.text)) refuse("holds text that is not valid UTF-8");
    push(std::move(object));
  }

  /// How many objects lie above the last mark, which is taken away.
  size_t since_mark() {
    if (marks_.empty()) refuse("closes what it did not open");
    const size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    return count;
  }
  /// The uppermost objects, which are taken away; no more than lie above the last mark.
  std::vector<ObjectId> pop(size_t count) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (count > stack_.size() - floor) refuse("takes more objects than there are");
    std::vector<ObjectId> taken(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return taken;
  }
  Object& top() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) refuse("takes more objects than there are");
    return result_.objects[stack_.back()];
  }

  void push_around(Kind kind, size_t count) {
    Object object{kind};
    object.items = pop(count);
    push(std::move(object));
  }
  void push_tuple(size_t count) { push_around(Kind::tuple, count); }
  void extend(Kind kind, size_t count) {
    const std::vector<ObjectId> items = pop(count);
    Object& target = top();
    if (target.kind != kind) refuse("adds items to what holds none");
    if (kind == Kind::dict && count % 2 != 0) refuse("has a key without a value");
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void remember(uint32_t place) {
    top();
    check_count(memo_.size());
    memo_[place] = stack_.back();
  }
  void recall(uint32_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) refuse("recalls what it did not remember");
    stack_.push_back(found->second);
  }

  void push_name(std::string_view module, std::string_view name) {
    const std::string full = fmt::format("{} {}", module, name);
    if (!is_accepted_(full)) {
      fail(input_, "the pickle asks for {}, which is not on the list of what a state dict is made of",
           in_quotes(fmt::format("{}.{}", module, name)));
    }
    const auto [known, is_new] = names_.try_emplace(full, static_cast<ObjectId>(result_.objects.size()));
    if (is_new) {
      Object object{Kind::name};
      object.text = result_.names.emplace_back(full);
      result_.objects.push_back(std::move(object));
    }
    stack_.push_back(known->second);
  }
  void push_name_from_lines() {
    const std::string_view module = take_line();
    push_name(module, take_line());
  }
  void push_name_from_stack() {
    const std::vector<ObjectId> both = pop(2);
    const Object &module = result_[both[0]], &name = result_[both[1]];
    if (module.kind != Kind::text || name.kind != Kind::text) refuse("names something by other than text");
    push_name(module.text, name.text);
  }

  /// What Python would call is written down; only names that were accepted get here. The arguments stay a tuple of
  /// their own: copied into every call, one long tuple called often would outgrow the file.
  void reduce() {
    const std::vector<ObjectId> both = pop(2);
    const Object &callee = result_[both[0]], &arguments = result_[both[1]];
    if (callee.kind != Kind::name || arguments.kind != Kind::tuple) refuse("calls what is no function");
    if (callee.text != kOrderedDict) {
      push({Kind::call, 0, 0, {}, both});
      return;
    }
    if (!arguments.items.empty()) refuse("makes an OrderedDict of something");
    push({Kind::dict});
  }
  /// Attributes of an OrderedDict: versions of modules, which no tensor needs. Nothing else has any.
  void build() {
    pop(1);
    if (top().kind != Kind::dict) refuse("sets attributes of what has none");
  }

  static constexpr size_t kMostBytes = size_t{1} << 30;  // the pickle only describes; the data lie beside it
  static constexpr std::string_view kOrderedDict = "collections OrderedDict";

  const Input& input_;
  bool (*is_accepted_)(std::string_view name);
  PickleLimits limits_;
  Pickle result_;
  std::vector<ObjectId> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::unordered_map<uint32_t, ObjectId> memo_;
  std::unordered_map<std::string, ObjectId> names_;
  size_t at_ = 0, at_instruction_ = 0;
};

}  // namespace

Pickle parse_pickle(const Input& input, bool (*is_accepted)(std::string_view name), const PickleLimits& limits) {
  return Machine(input, is_accepted, limits).run();
}

}  // namespace tenon::io
