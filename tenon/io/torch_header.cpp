// From the pickled objects of a .pt file to a list of tensors.
//
// The names below are all that a state dict of any PyTorch refers to. Walking the objects is limited in
// depth, in steps and in the text it makes, because a pickle may refer to the same object from many places.

#include "tenon/io/torch_header.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "tenon/io/pickle.h"
#include "tenon/io/zip.h"

namespace tenon::io {
namespace {

using Kind = Object::Kind;

struct NamedElement {
  std::string_view name;
  Element element;
};
constexpr NamedElement kStorages[] = {
    {"torch FloatStorage", Element::f32},     {"torch DoubleStorage", Element::f64},
    {"torch HalfStorage", Element::f16},      {"torch LongStorage", Element::i64},
    {"torch BFloat16Storage", Element::bf16}, {"torch IntStorage", Element::i32},
    {"torch ShortStorage", Element::i16},     {"torch CharStorage", Element::i8},
    {"torch ByteStorage", Element::u8},       {"torch BoolStorage", Element::boolean}};
constexpr NamedElement kDTypes[] = {{"torch float32", Element::f32},        {"torch float64", Element::f64},
                                    {"torch float16", Element::f16},        {"torch int64", Element::i64},
                                    {"torch bfloat16", Element::bf16},      {"torch int32", Element::i32},
                                    {"torch int16", Element::i16},          {"torch int8", Element::i8},
                                    {"torch uint8", Element::u8},           {"torch bool", Element::boolean},
                                    {"torch uint16", Element::u16},         {"torch uint32", Element::u32},
                                    {"torch uint64", Element::u64},         {"torch float8_e4m3fn", Element::f8_e4m3},
                                    {"torch float8_e5m2", Element::f8_e5m2}};
constexpr std::string_view kUntypedStorage = "torch.storage UntypedStorage", kUntypedAlias = "torch UntypedStorage",
                           kSize = "torch Size", kTensorV2 = "torch._utils _rebuild_tensor_v2",
                           kTensorV3 = "torch._utils _rebuild_tensor_v3",
                           kParameter = "torch._utils _rebuild_parameter";
constexpr std::string_view kOthers[] = {
    "collections OrderedDict", kUntypedStorage, kSize, kTensorV2, kTensorV3, kParameter};

const NamedElement* find(std::span<const NamedElement> list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &NamedElement::name);
  return found == list.end() ? nullptr : &*found;
}

bool is_accepted(std::string_view name) {
  return std::ranges::find(kOthers, name) != std::end(kOthers) || find(kStorages, name) || find(kDTypes, name);
}

/// "torch float32" less its module.
std::string_view short_name(std::string_view name) { return name.substr(name.find(' ') + 1); }

/// torch.save packs nothing. That nothing may be packed keeps the pickle, and all that is made of it, within the file.
std::span<const std::byte> bytes_of_file(const Input& input, const ZipEntry& file) {
  if (file.deflated) fail(input, "{} is deflated; torch.save stores files as they are", in_quotes(file.name));
  return file.packed;
}

/// A storage as a tensor refers to it.
struct StorageRef {
  std::string_view key;
  std::string_view dtype;
  Element element = Element::u8;
  bool typed = false;
  uint64_t elements = 0;
};

/// The bytes of every storage by its key.
using Storages = std::map<std::string, std::span<const std::byte>, std::less<>>;

class Walk {
 public:
  /// `input` is the pickle's; what is made of it may take some times the bytes of the whole file.
  Walk(const Input& input, const Pickle& pickle, Storages storages, size_t file_bytes)
      : input_(input),
        pickle_(pickle),
        storage_files_(std::move(storages)),
        steps_left_(input.bytes.size()),
        bytes_left_(kSmall + kMostTimes * file_bytes) {}

  TorchContent run() {
    const Kind root = pickle_[pickle_.root].kind;
    if (root != Kind::dict && root != Kind::list && root != Kind::tuple && root != Kind::call)
      fail(input_, "holds neither tensors nor a dict or list of them");
    visit(pickle_.root, root == Kind::call ? "tensor" : "", 0);
    check_sharing();
    return std::move(content_);
  }

 private:
  static constexpr int kMostNested = 64;
  static constexpr size_t kSmall = size_t{16} << 20, kMostTimes = 8;

  void visit(ObjectId id, const std::string& name, int depth) {
    if (depth > kMostNested) fail(input_, "{} is nested more than {} deep", in_quotes(name), kMostNested);
    if (steps_left_-- == 0) fail(input_, "the pickle refers to the same objects again and again");
    const Object& object = pickle_[id];
    switch (object.kind) {
      case Kind::dict:
        for (size_t i = 0; i < object.items.size(); i += 2) {
          visit(object.items[i + 1], below(name, key_of(object.items[i], name)), depth + 1);
        }
        return;
      case Kind::list:
      case Kind::tuple:
        for (size_t i = 0; i < object.items.size(); ++i) {
          visit(object.items[i], below(name, std::to_string(i)), depth + 1);
        }
        return;
      case Kind::call: return visit_call(object, name, depth);
      case Kind::persistent: fail(input_, "{} is a storage, not a tensor", in_quotes(name));
      case Kind::none: return add_other(name, "None");
      case Kind::boolean: return add_other(name, object.number ? "True" : "False");
      case Kind::integer: return add_other(name, fmt::format("{}", object.number));
      case Kind::real: return add_other(name, fmt::format("{}", object.real));
      case Kind::name: return add_other(name, std::string(short_name(object.text)));
      case Kind::text: spend(object.text.size()); return add_other(name, std::string(object.text));
    }
  }

  /// Memory that is made of the pickle.
  void spend(size_t bytes) {
    if (bytes > bytes_left_) fail(input_, "the pickle describes far more than it holds");
    bytes_left_ -= bytes;
  }
  std::string below(const std::string& name, const std::string& key) {
    spend(name.size() + key.size());
    return name.empty() ? key : name + "." + key;
  }
  std::string key_of(ObjectId id, const std::string& name) const {
    const Object& key = pickle_[id];
    if (key.kind == Kind::integer) return std::to_string(key.number);
    if (key.kind != Kind::text) fail(input_, "a key in {} is neither text nor a whole number", in_quotes(name));
    return std::string(key.text);
  }
  void check_new(const std::string& name) {
    constexpr size_t kEntry = 256;  // what lists and maps take for one name
    spend(kEntry + 2 * name.size());
    if (!names_.insert(name).second) fail(input_, "{} occurs twice", in_quotes(name));
  }
  void add_other(const std::string& name, std::string text) {
    check_new(name);
    content_.others.emplace(name, std::move(text));
  }

  void visit_call(const Object& call, const std::string& name, int depth) {
    const std::string_view function = pickle_[call.items[0]].text;
    const std::vector<ObjectId>& arguments = pickle_[call.items[1]].items;
    if (function == kParameter || function == kSize) {
      if (arguments.empty()) fail(input_, "{} lacks what {} is made of", in_quotes(name), short_name(function));
      return visit(arguments[0], name, depth + 1);
    }
    const bool is_v3 = function == kTensorV3;
    if (function != kTensorV2 && !is_v3) fail(input_, "{} calls {}", in_quotes(name), in_quotes(short_name(function)));
    if (arguments.size() < (is_v3 ? 7 : 4)) {
      fail(input_, "tensor {} is made of too few things ({})", in_quotes(name), arguments.size());
    }
    StorageRef storage = storage_of(arguments[0], name);
    if (is_v3) set_dtype(storage, arguments[6], name);
    if (!storage.typed) fail(input_, "tensor {} has no dtype", in_quotes(name));
    check_new(name);
    add_tensor(
        name, storage,
        {whole_number(arguments[1], name), whole_numbers(arguments[2], name), whole_numbers(arguments[3], name)});
  }

  uint64_t whole_number(ObjectId id, const std::string& name) const {
    const Object& object = pickle_[id];
    if (object.kind != Kind::integer || object.number < 0) {
      fail(input_, "sizes, strides and offset of tensor {} must be whole numbers, none negative", in_quotes(name));
    }
    return static_cast<uint64_t>(object.number);
  }
  std::vector<uint64_t> whole_numbers(ObjectId id, const std::string& name) const {
    const Object* list = &pickle_[id];
    if (list->kind == Kind::call && pickle_[list->items[0]].text == kSize && !pickle_[list->items[1]].items.empty()) {
      list = &pickle_[pickle_[list->items[1]].items[0]];
    }
    if (list->kind != Kind::tuple) fail(input_, "sizes and strides of tensor {} must be tuples", in_quotes(name));
    if (list->items.size() > kMaxRank) {
      fail(input_, "tensor {} has more than {} dimensions", in_quotes(name), kMaxRank);
    }
    std::vector<uint64_t> numbers;
    for (const ObjectId item : list->items) numbers.push_back(whole_number(item, name));
    return numbers;
  }

  /// ("storage", type, key, place, elements)
  StorageRef storage_of(ObjectId id, const std::string& name) const {
    const auto refuse = [&] {
      fail(input_, "the storage of tensor {} is described in an unknown way", in_quotes(name));
    };
    const Object& persistent = pickle_[id];
    if (persistent.kind != Kind::persistent) refuse();
    const Object& tuple = pickle_[persistent.items[0]];
    if (tuple.kind != Kind::tuple || tuple.items.size() < 5) refuse();
    const Object &word = pickle_[tuple.items[0]], &type = pickle_[tuple.items[1]], &key = pickle_[tuple.items[2]];
    if (word.text != "storage" || type.kind != Kind::name || key.kind != Kind::text) refuse();
    StorageRef storage{key.text};
    storage.elements = whole_number(tuple.items[4], name);
    if (const NamedElement* known = find(kStorages, type.text)) {
      storage.dtype = short_name(known->name);
      storage.element = known->element;
      storage.typed = true;
    } else if (type.text != kUntypedStorage && type.text != kUntypedAlias) {
      refuse();
    }
    return storage;
  }
  void set_dtype(StorageRef& storage, ObjectId id, const std::string& name) const {
    const NamedElement* known = find(kDTypes, pickle_[id].text);
    if (!known || pickle_[id].kind != Kind::name) fail(input_, "tensor {} has an unknown dtype", in_quotes(name));
    if (storage.typed && storage.element != known->element) {
      fail(input_, "tensor {} is {} in a {}", in_quotes(name), short_name(known->name), storage.dtype);
    }
    if (!storage.typed) storage.elements /= size_of(known->element);  // was counted in bytes
    storage.element = known->element;
    storage.dtype = short_name(known->name);
    storage.typed = true;
  }

  size_t number_of(const StorageRef& storage, const std::string& name) {
    const auto known = storage_numbers_.find(storage.key);
    if (known != storage_numbers_.end()) return known->second;
    const auto file = storage_files_.find(storage.key);
    if (file == storage_files_.end()) {
      fail(input_, "storage {} of tensor {} is missing", in_quotes(storage.key), in_quotes(name));
    }
    content_.storages.push_back(file->second);
    return storage_numbers_.emplace(storage.key, content_.storages.size() - 1).first->second;
  }

  void add_tensor(const std::string& name, const StorageRef& storage, Strided view) {
    const size_t number = number_of(storage, name);
    const size_t bytes = content_.storages[number].size(), element_bytes = size_of(storage.element);
    if (storage.elements > bytes / element_bytes) {
      fail(input_, "storage {} of tensor {} should hold {} x {} bytes, its file has {}", in_quotes(storage.key),
           in_quotes(name), storage.elements, element_bytes, bytes);
    }
    if (view.shape.size() != view.strides.size()) {
      fail(input_, "tensor {} has {} sizes and {} strides", in_quotes(name), view.shape.size(), view.strides.size());
    }
    if (!bytes_of(view.shape, size_of(held_as(storage.element)))) {
      fail(input_, "tensor {} of shape {} is too large", in_quotes(name), shape_text(view.shape));
    }
    const std::optional<uint64_t> end = extent(view);
    if (!end || *end > storage.elements) {
      fail(input_, "tensor {} of shape {} reaches beyond the {} elements of its storage", in_quotes(name),
           shape_text(view.shape), storage.elements);
    }
    spend(2 * sizeof(uint64_t) * view.shape.size());
    content_.tensors.push_back({name, number, storage.dtype, storage.element, std::move(view)});
  }

  /// Tensors that share a storage are copied out of it, so all that lies in a small file must not become a large one.
  void check_sharing() const {
    constexpr uint64_t kMostCopies = 4;
    std::vector<uint64_t> copied(content_.storages.size(), 0);
    std::set<std::tuple<size_t, Element, uint64_t, std::vector<uint64_t>, std::vector<uint64_t>>> seen;
    for (const TorchTensor& tensor : content_.tensors) {
      const Strided& view = tensor.view;
      if (!seen.emplace(tensor.storage, tensor.element, view.offset, view.shape, view.strides).second) continue;
      const uint64_t bytes = *bytes_of(without_repeats(view).shape, size_of(tensor.element)),
                     most = content_.storages[tensor.storage].size();
      uint64_t& total = copied[tensor.storage];
      if (bytes > most || bytes > kMostCopies * most - total) {
        fail(input_, "tensor {} and others over its storage hold far more than the {} bytes of it",
             in_quotes(tensor.name), most);
      }
      total += bytes;
    }
  }

  const Input& input_;
  const Pickle& pickle_;
  Storages storage_files_;
  std::map<std::string_view, size_t> storage_numbers_;
  std::set<std::string> names_;
  size_t steps_left_, bytes_left_;
  TorchContent content_;
};

/// The pickle: everything else in the archive is in its folder.
const ZipEntry& find_pickle(const Input& input, const std::vector<ZipEntry>& files) {
  constexpr std::string_view kName = "data.pkl";
  const ZipEntry* found = nullptr;
  for (const ZipEntry& file : files) {
    const bool is_it = file.name == kName ||
                       (file.name.ends_with(kName) && file.name.find('/') == file.name.size() - kName.size() - 1);
    if (is_it && found) fail(input, "has two pickles, {} and {}", in_quotes(found->name), in_quotes(file.name));
    if (is_it) found = &file;
  }
  if (!found) fail(input, "is a zip archive without data.pkl: not written by torch.save");
  return *found;
}

void check_byte_order(const Input& input, const std::vector<ZipEntry>& files, const std::string& folder) {
  const auto order = std::ranges::find(files, folder + "byteorder", &ZipEntry::name);
  if (order == files.end()) return;
  const std::string_view text = as_text(bytes_of_file(input, *order));
  if (text != "little") fail(input, "is in the byte order {}", in_quotes(text));
}

PickleLimits limits_for(const Input& input) { return {.most_objects = (size_t{1} << 20) + input.bytes.size() / 8}; }

/// What PyTorch wrote before 1.6: a pickle each of a magic number, a version, sizes of C types, the objects and a list
/// of storages, then the storages, each behind the count of its elements.
class Legacy {
 public:
  /// 0x1950a86a20f9469cfc6c, pickled by protocol 2.
  static constexpr std::string_view kMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

  explicit Legacy(const Input& input) : input_(input), at_(kMagic.size()) {}

  TorchContent run() {
    const Pickle version = next();
    constexpr int64_t kVersion = 1001;
    if (version[version.root].number != kVersion)
      fail(input_, "is of version {} of the format before PyTorch 1.6; {} is read", version[version.root].number,
           kVersion);
    next();  // sizes of C types
    const Input of_objects{input_.format, input_.name, input_.bytes.subspan(at_)};
    const Pickle objects = next();
    const Pickle keys = next();
    return Walk(of_objects, objects, storages(objects, keys), input_.bytes.size()).run();
  }

 private:
  Pickle next() {
    PickleLimits limits = limits_for(input_);
    limits.may_go_on = true;
    const Input rest{input_.format, input_.name, input_.bytes.subspan(at_)};
    Pickle pickle = parse_pickle(rest, is_accepted, limits);
    at_ += pickle.bytes;
    return pickle;
  }

  /// How many bytes an element of each storage has; the objects say it wherever they refer to one.
  static std::map<std::string_view, size_t> element_bytes(const Pickle& objects) {
    std::map<std::string_view, size_t> found;
    for (const Object& object : objects.objects) {
      if (object.kind != Kind::persistent) continue;
      const Object& tuple = objects[object.items[0]];
      if (tuple.kind != Kind::tuple || tuple.items.size() < 5) continue;
      const Object &type = objects[tuple.items[1]], &key = objects[tuple.items[2]];
      const NamedElement* known = type.kind == Kind::name ? find(kStorages, type.text) : nullptr;
      if (known && key.kind == Kind::text) found.emplace(key.text, size_of(known->element));
    }
    return found;
  }

  Storages storages(const Pickle& objects, const Pickle& keys) {
    if (keys[keys.root].kind != Kind::list) fail(input_, "lacks the list of its storages");
    const std::map<std::string_view, size_t> sizes = element_bytes(objects);
    Storages storages;
    for (const ObjectId id : keys[keys.root].items) {
      const std::string_view key = keys[id].text;
      const auto size = sizes.find(key);
      if (size == sizes.end()) fail(input_, "storage {} belongs to no tensor", in_quotes(key));
      const std::span<const std::byte> rest = input_.bytes.subspan(at_);
      const uint64_t count = rest.size() < 8 ? ~uint64_t{0} : number_at<uint64_t>(rest, 0);
      if (rest.size() < 8 || count > (rest.size() - 8) / size->second)
        fail(input_, "ends inside of storage {}", in_quotes(key));
      storages.emplace(key, rest.subspan(8, count * size->second));
      at_ += 8 + count * size->second;
    }
    if (at_ != input_.bytes.size()) fail(input_, "goes on for {} bytes behind its storages", input_.bytes.size() - at_);
    return storages;
  }

  const Input& input_;
  size_t at_;
};

}  // namespace

Strided without_repeats(Strided view) {
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.strides[i] == 0) view.shape[i] = std::min<uint64_t>(view.shape[i], 1);
  }
  return view;
}

TorchContent parse_torch(const Input& input) {
  if (as_text(input.bytes).starts_with(Legacy::kMagic)) return Legacy(input).run();
  if (!as_text(input.bytes).starts_with("PK")) {
    fail(input, "is no .pt file: neither a zip archive nor what PyTorch wrote before 1.6");
  }
  const std::vector<ZipEntry> files = parse_zip(input);
  const ZipEntry& file = find_pickle(input, files);
  const std::string folder = file.name.substr(0, file.name.rfind('/') + 1);
  check_byte_order(input, files, folder);
  const Input pickle_input{input.format, input.name, bytes_of_file(input, file)};
  if (!file.has_its_name) fail(input, "{} has another name where it lies: the file is damaged", in_quotes(file.name));
  if (file.crc != 0) check_crc(input, file, pickle_input.bytes);  // 0: torch.serialization.set_crc32_options(False)
  const Pickle pickle = parse_pickle(pickle_input, is_accepted, limits_for(input));
  Storages storages;
  for (const ZipEntry& entry : files) {
    const std::string data = folder + "data/";
    if (entry.name.starts_with(data)) storages.emplace(entry.name.substr(data.size()), bytes_of_file(input, entry));
  }
  TorchContent content = Walk(pickle_input, pickle, std::move(storages), input.bytes.size()).run();
  content.pickle = pickle_input.bytes;
  return content;
}

}  // namespace tenon::io
