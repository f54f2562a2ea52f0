// Checking the files of a BPE against each other, and writing them.
//
// Files refer to tokens by their letters (byte_letters.h). Everything is turned into numbers here, once, so that
// nothing after this has to doubt them: numbers run from 0 without a gap, every byte has a token, and every merge has
// its parts and its result.

#include "tenon/text/bpe_model.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tenon/text/added_tokens.h"
#include "tenon/text/byte_letters.h"
#include "tenon/text/json_value.h"
#include "tenon/text/utf8.h"

namespace tenon::text {
namespace {

using io::in_quotes;

/// Token numbers by the letters of the token. The letters live in the document.
using Letters = std::unordered_map<std::string_view, int32_t>;

/// Puts the text of every token into its place. Numbers must be 0 ... n - 1, each once.
class Numbering {
 public:
  Numbering(const io::Input& input, size_t tokens) : input_(input), texts_(tokens), is_taken_(tokens) {}

  void put(int32_t id, std::string bytes, std::string_view shown) {
    const size_t place = static_cast<size_t>(id);
    if (place >= texts_.size()) {
      io::fail(input_, "token {} has number {}, but there are {} tokens: numbers must run from 0 without a gap",
               in_quotes(shown), id, texts_.size());
    }
    if (is_taken_[place]) io::fail(input_, "token {} has number {}, which is taken", in_quotes(shown), id);
    is_taken_[place] = true;
    texts_[place] = std::move(bytes);
  }
  /// After as many tokens as were announced, none is missing.
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  const io::Input& input_;
  std::vector<std::string> texts_;
  std::vector<bool> is_taken_;
};

std::string bytes_of(const io::Input& input, std::string_view letters) {
  std::optional<std::string> bytes = from_letters(letters);
  if (!bytes) io::fail(input, "token {} has a letter that stands for no byte", in_quotes(letters));
  if (bytes->empty()) io::fail(input, "there is a token without letters");
  return std::move(*bytes);
}

int32_t id_of(const JsonView& vocabulary, const std::string& letters, const Json& value) {
  const auto* number = std::get_if<int64_t>(&value.value);
  if (!number || *number < 0 || *number > INT32_MAX) {
    io::fail(vocabulary.input(), "token {} must have a whole number from 0 to {}", in_quotes(letters), INT32_MAX);
  }
  return static_cast<int32_t>(*number);
}

std::array<int32_t, 256> byte_ids_of(const io::Input& input, const Letters& letters) {
  std::array<int32_t, 256> ids{};
  for (size_t byte = 0; byte < 256; ++byte) {
    const std::string letter = to_letters(std::string(1, static_cast<char>(byte)));
    const auto found = letters.find(letter);
    if (found == letters.end()) {
      io::fail(input, "byte 0x{:02x} has no token ({}): a text with it could not be encoded", byte, in_quotes(letter));
    }
    ids[byte] = found->second;
  }
  return ids;
}

/// Takes merges one at a time and refuses those that do not fit the vocabulary or came before.
class MergeReader {
 public:
  MergeReader(const io::Input& input, const Letters& letters, std::span<const std::string> tokens)
      : input_(input), letters_(letters), tokens_(tokens) {}

  void add(std::string_view left, std::string_view right) {
    if (left.empty() || right.empty()) io::fail(input_, "merge {} has an empty part", number());
    const std::string result = std::string(left) + std::string(right);
    const BpeMerge merge{id_of(left), id_of(right), id_of(result)};
    // Letters that fit while bytes do not: a part is an added token, which stands for itself and not for bytes.
    if (bytes_of(merge.left) + bytes_of(merge.right) != bytes_of(merge.result) || result.find(' ') != result.npos) {
      io::fail(input_, "merge {} ({} {}) has an added token in it", number(), in_quotes(left), in_quotes(right));
    }
    const uint64_t pair = static_cast<uint64_t>(merge.left) << 32 | static_cast<uint32_t>(merge.right);
    if (!seen_.insert(pair).second) {
      io::fail(input_, "merge {} ({} {}) occurs twice", number(), in_quotes(left), in_quotes(right));
    }
    merges_.push_back(merge);
  }
  size_t number() const { return merges_.size() + 1; }
  std::vector<BpeMerge> take() { return std::move(merges_); }

 private:
  const std::string& bytes_of(int32_t id) const { return tokens_[static_cast<size_t>(id)]; }
  int32_t id_of(std::string_view letters) const {
    const auto found = letters_.find(letters);
    if (found == letters_.end()) {
      io::fail(input_, "merge {}: {} is not in the vocabulary; do these files belong together?", number(),
               in_quotes(letters));
    }
    return found->second;
  }

  const io::Input& input_;
  const Letters& letters_;
  std::span<const std::string> tokens_;
  std::unordered_set<uint64_t> seen_;
  std::vector<BpeMerge> merges_;
};

/// Two letters' texts apart by one blank. A letter is never a blank itself.
std::pair<std::string_view, std::string_view> parts_of(const io::Input& input, std::string_view line, size_t number) {
  const size_t blank = line.find(' ');
  if (blank == line.npos || line.find(' ', blank + 1) != line.npos) {
    io::fail(input, "merge {} must be two tokens with one blank between, not {}", number, in_quotes(line));
  }
  return {line.substr(0, blank), line.substr(blank + 1)};
}

std::vector<BpeMerge> parse_merge_lines(const io::Input& input, const Letters& letters,
                                        std::span<const std::string> tokens) {
  std::string_view text = io::as_text(input.bytes);
  if (text.empty()) io::fail(input, "is empty");
  MergeReader reader(input, letters, tokens);
  for (bool is_first = true; !text.empty(); is_first = false) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (is_first && line.starts_with("#version")) continue;
    const auto [left, right] = parts_of(input, line, reader.number());
    reader.add(left, right);
  }
  return reader.take();
}

bool looks_special(std::string_view token) {
  return token.size() > 2 &&
         ((token.starts_with('<') && token.ends_with('>')) || (token.starts_with('[') && token.ends_with(']')));
}

/// The tokens that are neither a byte nor made by a merge.
std::vector<SpecialToken> unmade_tokens(const io::Input& merges, const BpeModel& model, const Letters& letters) {
  std::vector<bool> is_made(model.tokens.size());
  for (const int32_t id : model.byte_ids) is_made[static_cast<size_t>(id)] = true;
  for (const BpeMerge& merge : model.merges) is_made[static_cast<size_t>(merge.result)] = true;
  std::vector<SpecialToken> unmade;
  for (size_t id = 0; id < is_made.size(); ++id) {
    if (is_made[id]) continue;
    if (!looks_special(model.tokens[id])) {
      io::fail(merges, "no merge makes token {} ({}): is the file cut off?", id, in_quotes(model.tokens[id]));
    }
    // Its name must be text, and not the letters of another token, or it could not be written into a tokenizer.json.
    const auto other = letters.find(model.tokens[id]);
    if (!io::is_utf8(model.tokens[id]) || (other != letters.end() && other->second != static_cast<int32_t>(id))) {
      io::fail(merges, "special token {} ({}) has no name of its own", id, in_quotes(model.tokens[id]));
    }
    unmade.push_back({model.tokens[id], static_cast<int32_t>(id)});
  }
  return unmade;
}

/// Fails where something in tokenizer.json would change the tokens in a way that is not done here.
void refuse_unsupported(const JsonView& root) {
  if (root.is_set("normalizer")) root.at("normalizer").refuse("is not supported: texts are encoded as they are");
  const JsonView model = root.at("model");
  for (const std::string_view name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (model.is_set(name) && !model.at(name).text().empty()) model.at(name).refuse("is not supported");
  }
  for (const std::string_view name : {"byte_fallback", "ignore_merges", "fuse_unk"}) {
    if (model.flag(name, false)) model.at(name).refuse("is not supported: only a plain byte-level BPE is");
  }
  if (model.is_set("dropout") && model.at("dropout").number() != 0) model.at("dropout").refuse("is not supported");
  const JsonView before = root.at("pre_tokenizer");
  if (before.is_null() || before.at("type").text() != "ByteLevel") {
    before.refuse("must be of type ByteLevel, as GPT-2's is; others are not supported");
  }
  if (!before.flag("use_regex", true)) before.at("use_regex").refuse("must be true");
}

std::vector<BpeMerge> parse_merge_list(const JsonView& merges, const Letters& letters,
                                       std::span<const std::string> tokens) {
  MergeReader reader(merges.input(), letters, tokens);
  for (size_t i = 0; i < merges.list().size(); ++i) {
    const JsonView merge = merges.item(i);
    if (merge.is_text()) {
      const auto [left, right] = parts_of(merges.input(), merge.text(), reader.number());
      reader.add(left, right);
    } else {
      if (merge.list().size() != 2) merge.refuse("must be two tokens");
      reader.add(merge.item(0).text(), merge.item(1).text());
    }
  }
  return reader.take();
}

}  // namespace

BpeModel parse_bpe_files(const io::Input& vocabulary, const io::Input& merges) {
  const Json document = parse_json(vocabulary);
  const JsonView view(vocabulary, document);
  const JsonObject& entries = view.object();
  Letters letters;
  Numbering numbering(vocabulary, entries.size());
  for (const auto& [token, value] : entries) {
    const int32_t id = id_of(view, token, value);
    numbering.put(id, bytes_of(vocabulary, token), token);
    letters.emplace(token, id);
  }
  BpeModel model;
  model.tokens = numbering.take();
  model.byte_ids = byte_ids_of(vocabulary, letters);
  model.merges = parse_merge_lines(merges, letters, model.tokens);
  model.specials = unmade_tokens(merges, model, letters);
  return model;
}

BpeModel parse_hugging_face_bpe(const JsonView& root) {
  const io::Input& input = root.input();
  const JsonView parts = root.at("model");
  // Files from before 2021 do not name the type; a list of merges tells it.
  if (parts.is_set("type") ? parts.at("type").text() != "BPE" : !parts.has("merges")) {
    parts.refuse(fmt::format("must be of type BPE, not {}",
                             parts.is_set("type") ? in_quotes(parts.at("type").text()) : "one without merges"));
  }
  refuse_unsupported(root);

  BpeModel model;
  model.specials = parse_added_tokens(root);
  model.add_prefix_space = root.at("pre_tokenizer").flag("add_prefix_space", false);
  const JsonView vocabulary = parts.at("vocab");
  Letters letters;
  std::unordered_map<std::string_view, int32_t> added;
  for (const SpecialToken& token : model.specials) added.emplace(token.name, token.id);
  size_t only_added = added.size();
  for (const auto& [token, value] : vocabulary.object()) only_added -= added.count(token);

  Numbering numbering(input, vocabulary.object().size() + only_added);
  for (const auto& [token, value] : vocabulary.object()) {
    const int32_t id = id_of(vocabulary, token, value);
    const auto special = added.find(token);
    if (special != added.end() && special->second != id) {
      io::fail(input, "token {} has number {} in the vocabulary and {} in added_tokens", in_quotes(token), id,
               special->second);
    }
    // Added tokens stand in the vocabulary as they are, others in letters; for most names that is the same.
    numbering.put(id, special == added.end() ? bytes_of(input, token) : token, token);
    letters.emplace(token, id);
  }
  for (const SpecialToken& token : model.specials) {
    if (!letters.contains(token.name)) numbering.put(token.id, token.name, token.name);
  }
  model.tokens = numbering.take();
  model.byte_ids = byte_ids_of(input, letters);
  model.merges = parse_merge_list(parts.at("merges"), letters, model.tokens);
  return model;
}

void add_specials(BpeModel& model, std::span<const std::string> names) {
  std::unordered_set<std::string> taken;
  for (const SpecialToken& token : model.specials) taken.insert(token.name);
  for (const std::string& token : model.tokens) taken.insert(to_letters(token));
  for (const std::string& name : names) {
    if (name.empty() || !io::is_utf8(name)) base::fail("tokenizer", "a special token must be UTF-8 and not empty");
    if (!taken.insert(name).second) {
      base::fail("tokenizer", "special token {} is already a token; choose another name", in_quotes(name));
    }
    model.specials.push_back({name, static_cast<int32_t>(model.tokens.size())});
    model.tokens.push_back(name);
  }
}

std::string hugging_face_json(const BpeModel& model) {
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  std::vector<std::string> letters;
  for (const std::string& token : model.tokens) letters.push_back(to_letters(token));
  for (const SpecialToken& token : model.specials) letters[static_cast<size_t>(token.id)] = token.name;

  std::string json = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": ";
  json += added_tokens_json(model.specials);
  json += fmt::format(
      ",\n  \"normalizer\": null,\n"
      "  \"pre_tokenizer\": {{\"type\": \"ByteLevel\", \"add_prefix_space\": {}, \"trim_offsets\": true, "
      "\"use_regex\": "
      "true}},\n  \"post_processor\": null,\n"
      "  \"decoder\": {{\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true, \"use_regex\": "
      "true}},\n",
      flag(model.add_prefix_space));
  json +=
      "  \"model\": {\n    \"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, \"continuing_subword_prefix\": "
      "null,\n"
      "    \"end_of_word_suffix\": null, \"fuse_unk\": false, \"byte_fallback\": false, \"ignore_merges\": false,\n"
      "    \"vocab\": {";
  for (size_t id = 0; id < letters.size(); ++id) {
    json += fmt::format("{}\n      {}: {}", id == 0 ? "" : ",", json_text(letters[id]), id);
  }
  json += "\n    },\n    \"merges\": [";
  for (size_t i = 0; i < model.merges.size(); ++i) {
    const auto& [left, right, result] = model.merges[i];
    json += fmt::format("{}\n      {}", i == 0 ? "" : ",",
                        json_text(letters[static_cast<size_t>(left)] + " " + letters[static_cast<size_t>(right)]));
  }
  return json + "\n    ]\n  }\n}\n";
}

}  // namespace tenon::text
