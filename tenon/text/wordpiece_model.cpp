// Checking the files of a WordPiece vocabulary, and writing them.

#include "tenon/text/wordpiece_model.h"

#include <algorithm>
#include <unordered_map>

#include "tenon/io/file.h"
#include "tenon/text/added_tokens.h"
#include "tenon/text/json_value.h"
#include "tenon/text/unicode.h"
#include "tenon/text/utf8.h"

namespace tenon::text {
namespace {

using io::in_quotes;

constexpr std::string_view kUnknownNames[] = {"[UNK]", "<unk>", "<UNK>", "[unk]"};
constexpr std::string_view kSpecialNames[] = {"[PAD]", "[UNK]", "[CLS]",  "[SEP]", "[MASK]", "<pad>",         "<PAD>",
                                              "<unk>", "<UNK>", "<mask>", "<s>",   "</s>",   "<bos>",         "<eos>",
                                              "[BOS]", "[EOS]", "[pad]",  "[unk]", "<cls>",  "<|endoftext|>", "<sep>"};

using Ids = std::unordered_map<std::string_view, int32_t>;

/// Whether a token would be changed by lower case.
bool has_capitals(std::string_view token) {
  while (!token.empty()) {
    const Symbol symbol = first_symbol(token);
    std::u32string lower;
    append_lower(lower, symbol.code);
    if (symbol.is_valid && lower != std::u32string(1, static_cast<char32_t>(symbol.code))) return true;
    token.remove_prefix(symbol.length);
  }
  return false;
}

void add_specials_of(WordPieceModel& model) {
  for (size_t id = 0; id < model.tokens.size(); ++id) {
    if (std::ranges::find(kSpecialNames, model.tokens[id]) != std::end(kSpecialNames))
      model.specials.push_back({model.tokens[id], static_cast<int32_t>(id)});
  }
}

/// Without numbers that stand for nothing, a vocabulary of lines has one for what is unknown.
void find_unknown(WordPieceModel& model) {
  for (const std::string_view name : kUnknownNames) {
    if (const std::optional<int32_t> id = special_named(model.specials, {name})) {
      model.unknown = *id;
      return;
    }
  }
  model.unknown = static_cast<int32_t>(model.tokens.size());
  model.tokens.emplace_back("<unk>");
  model.specials.push_back({"<unk>", model.unknown});
}

BertSpelling spelling_of(const WordPieceModel& model, const io::Input* settings) {
  BertSpelling spelling;
  spelling.lower_case = std::ranges::none_of(model.tokens, [&](const std::string& token) {
    return has_capitals(token) && std::ranges::find(kSpecialNames, token) == std::end(kSpecialNames) &&
           !(token.starts_with('[') && token.ends_with(']'));
  });
  spelling.strip_accents = spelling.lower_case;
  if (!settings) return spelling;
  const Json document = parse_json(*settings);
  const JsonView root(*settings, document);
  spelling.lower_case = root.flag("do_lower_case", spelling.lower_case);
  spelling.strip_accents = root.flag("strip_accents", spelling.lower_case);
  spelling.space_ideographs = root.flag("tokenize_chinese_chars", true);
  return spelling;
}

BertSpelling parse_spelling(const JsonView& root) {
  if (!root.is_set("normalizer")) return {false, false, false, false};
  const JsonView normalizer = root.at("normalizer");
  if (normalizer.at("type").text() != "BertNormalizer") {
    normalizer.refuse(fmt::format("must be of type BertNormalizer with a WordPiece, not {}",
                                  in_quotes(normalizer.at("type").text())));
  }
  BertSpelling spelling;
  spelling.clean_text = normalizer.flag("clean_text", true);
  spelling.space_ideographs = normalizer.flag("handle_chinese_chars", true);
  spelling.lower_case = normalizer.flag("lowercase", true);
  spelling.strip_accents = normalizer.flag("strip_accents", spelling.lower_case);
  return spelling;
}

/// What stands around a text is that of BERT, or nothing.
void check_template(const JsonView& root) {
  if (!root.is_set("post_processor")) return;
  const JsonView after = root.at("post_processor");
  const std::string& type = after.at("type").text();
  if (type == "BertProcessing") return;
  if (type != "TemplateProcessing") {
    after.refuse(
        fmt::format("must be of type TemplateProcessing or BertProcessing with a WordPiece, not {}", in_quotes(type)));
  }
  const JsonView single = after.at("single");
  const bool is_bert = single.list().size() == 3 && single.item(0).has("SpecialToken") &&
                       single.item(1).has("Sequence") && single.item(2).has("SpecialToken");
  if (!is_bert) single.refuse("must be a special token, the text and a special token, as BERT's is");
}

/// Only special tokens are looked for in a text as it is given.
void refuse_normalized(const JsonView& root) {
  if (!root.is_set("added_tokens")) return;
  const JsonView list = root.at("added_tokens");
  for (size_t i = 0; i < list.list().size(); ++i) {
    const JsonView token = list.item(i);
    if (!token.flag("special", false) && token.flag("normalized", true))
      token.refuse("is looked for in the spelled text, which is not supported; set normalized to false");
  }
}

/// All tokens in the places of their numbers, which must be 0 ... n - 1.
std::vector<std::string> numbered(const JsonView& vocabulary, const std::vector<SpecialToken>& added) {
  std::vector<std::pair<std::string_view, int32_t>> all;
  Ids ids;
  for (const auto& [token, value] : vocabulary.object()) {
    const auto* number = std::get_if<int64_t>(&value.value);
    if (!number || *number < 0 || *number > INT32_MAX)
      io::fail(vocabulary.input(), "token {} must have a whole number from 0 to {}", in_quotes(token), INT32_MAX);
    all.emplace_back(token, static_cast<int32_t>(*number));
    ids.emplace(token, static_cast<int32_t>(*number));
  }
  for (const SpecialToken& token : added) {
    const auto [known, is_new] = ids.emplace(token.name, token.id);
    if (is_new) all.emplace_back(token.name, token.id);
    if (known->second != token.id)
      io::fail(vocabulary.input(), "token {} has number {} in the vocabulary and {} in added_tokens",
               in_quotes(token.name), known->second, token.id);
  }
  std::vector<std::string> tokens(all.size());
  std::vector<bool> is_taken(all.size());
  for (const auto& [token, id] : all) {
    const auto place = static_cast<size_t>(id);
    if (place >= all.size())
      io::fail(vocabulary.input(),
               "token {} has number {}, but there are {} tokens: numbers must run from 0 without "
               "a gap",
               in_quotes(token), id, all.size());
    if (is_taken[place]) io::fail(vocabulary.input(), "token {} has number {}, which is taken", in_quotes(token), id);
    is_taken[place] = true;
    tokens[place] = token;
  }
  return tokens;
}

std::string template_json(const WordPieceModel& model) {
  const std::optional<int32_t> first = first_token(model), last = last_token(model);
  if (!first || !last) return "null";
  const auto name = [&](int32_t id) { return json_text(model.tokens[static_cast<size_t>(id)]); };
  const auto special = [&](int32_t id, int type) {
    return fmt::format("{{\"SpecialToken\": {{\"id\": {}, \"type_id\": {}}}}}", name(id), type);
  };
  const auto text = [](const char* which, int type) {
    return fmt::format("{{\"Sequence\": {{\"id\": \"{}\", \"type_id\": {}}}}}", which, type);
  };
  const auto listed = [&](int32_t id) {
    return fmt::format("{0}: {{\"id\": {0}, \"ids\": [{1}], \"tokens\": [{0}]}}", name(id), id);
  };
  const std::string single = fmt::format("{}, {}, {}", special(*first, 0), text("A", 0), special(*last, 0));
  return fmt::format(
      "{{\"type\": \"TemplateProcessing\", \"single\": [{}],\n    \"pair\": [{}, {}, {}],\n    \"special_tokens\": "
      "{{{}, {}}}}}",
      single, single, text("B", 1), special(*last, 1), listed(*first), listed(*last));
}

}  // namespace

std::optional<int32_t> special_named(const std::vector<SpecialToken>& specials,
                                     std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = std::ranges::find(specials, name, &SpecialToken::name);
    if (found != specials.end()) return found->id;
  }
  return std::nullopt;
}

std::optional<int32_t> first_token(const WordPieceModel& model) {
  return special_named(model.specials, {"[CLS]", "<cls>", "<s>", "<bos>", "[BOS]"});
}
std::optional<int32_t> last_token(const WordPieceModel& model) {
  return special_named(model.specials, {"[SEP]", "<sep>", "</s>", "<eos>", "[EOS]", "<|endoftext|>"});
}

WordPieceModel parse_vocabulary_lines(const io::Input& vocabulary, const io::Input* settings) {
  std::string_view text = io::as_text(vocabulary.bytes);
  WordPieceModel model;
  std::unordered_map<std::string_view, size_t> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t number = model.tokens.size() + 1;
    if (line.empty()) io::fail(vocabulary, "line {} is empty; a vocabulary has one token a line", number);
    if (!io::is_utf8(line)) io::fail(vocabulary, "line {} is no UTF-8", number);
    if (line.find_first_of(" \t") != line.npos)
      io::fail(vocabulary, "line {} ({}) has a blank in it; a vocabulary has one token a line", number,
               in_quotes(line));
    const auto [first, is_new] = lines.emplace(line, number);
    if (!is_new)
      io::fail(vocabulary, "line {} has {} again, which is in line {}", number, in_quotes(line), first->second);
    model.tokens.emplace_back(line);
  }
  if (model.tokens.empty()) io::fail(vocabulary, "is empty");
  model.spelling = spelling_of(model, settings);
  add_specials_of(model);
  find_unknown(model);
  return model;
}

WordPieceModel parse_hugging_face_wordpiece(const JsonView& root) {
  const JsonView parts = root.at("model");
  WordPieceModel model;
  model.spelling = parse_spelling(root);
  const JsonView before = root.at("pre_tokenizer");
  if (before.is_null() || before.at("type").text() != "BertPreTokenizer")
    before.refuse("must be of type BertPreTokenizer with a WordPiece; others are not supported");
  check_template(root);
  if (root.is_set("decoder")) {
    const JsonView decoder = root.at("decoder");
    if (decoder.at("type").text() != "WordPiece") decoder.refuse("must be of type WordPiece");
    model.cleans_up = decoder.flag("cleanup", true);
  }
  if (parts.is_set("continuing_subword_prefix")) model.prefix = parts.at("continuing_subword_prefix").text();
  if (parts.is_set("max_input_chars_per_word")) model.longest_word = parts.at("max_input_chars_per_word").whole();
  refuse_normalized(root);
  model.specials = parse_added_tokens(root);
  model.tokens = numbered(parts.at("vocab"), model.specials);
  const std::string unknown = parts.is_set("unk_token") ? parts.at("unk_token").text() : "[UNK]";
  const auto found = std::ranges::find(model.tokens, unknown);
  if (found == model.tokens.end())
    parts.refuse(fmt::format("has no token {} for words that are unknown", in_quotes(unknown)));
  model.unknown = static_cast<int32_t>(found - model.tokens.begin());
  return model;
}

void save_vocabulary_lines(const WordPieceModel& model, const std::filesystem::path& folder) {
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  io::ReplacingFile lines(kFormat, folder / "vocab.txt"), settings(kFormat, folder / "tokenizer_config.json");
  for (const std::string& token : model.tokens) lines.write(token + "\n");
  settings.write(fmt::format(
      "{{\n  \"tokenizer_class\": \"BertTokenizer\",\n  \"do_lower_case\": {},\n  \"strip_accents\": {},\n"
      "  \"tokenize_chinese_chars\": {}\n}}\n",
      flag(model.spelling.lower_case), flag(model.spelling.strip_accents), flag(model.spelling.space_ideographs)));
  lines.commit();
  settings.commit();
}

std::string hugging_face_json(const WordPieceModel& model) {
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  std::string json = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": ";
  json += added_tokens_json(model.specials);
  const BertSpelling& spelling = model.spelling;
  json += fmt::format(
      ",\n  \"normalizer\": {{\"type\": \"BertNormalizer\", \"clean_text\": {}, \"handle_chinese_chars\": {}, "
      "\"strip_accents\": {}, \"lowercase\": {}}},\n",
      flag(spelling.clean_text), flag(spelling.space_ideographs), flag(spelling.strip_accents),
      flag(spelling.lower_case));
  json += fmt::format(
      "  \"pre_tokenizer\": {{\"type\": \"BertPreTokenizer\"}},\n  \"post_processor\": {},\n"
      "  \"decoder\": {{\"type\": \"WordPiece\", \"prefix\": {}, \"cleanup\": {}}},\n",
      template_json(model), json_text(model.prefix), flag(model.cleans_up));
  json += fmt::format(
      "  \"model\": {{\n    \"type\": \"WordPiece\", \"unk_token\": {}, \"continuing_subword_prefix\": {}, "
      "\"max_input_chars_per_word\": {},\n    \"vocab\": {{",
      json_text(model.tokens[static_cast<size_t>(model.unknown)]), json_text(model.prefix), model.longest_word);
  for (size_t id = 0; id < model.tokens.size(); ++id) {
    json += fmt::format("{}\n      {}: {}", id == 0 ? "" : ",", json_text(model.tokens[id]), id);
  }
  return json + "\n    }\n  }\n}\n";
}

}  // namespace tenon::text
