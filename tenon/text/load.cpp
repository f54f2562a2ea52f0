// Finding out what kind of tokenizer a path holds.

#include "tenon/text/load.h"

#include <algorithm>

#include "tenon/text/bpe.h"
#include "tenon/text/byte_tokenizer.h"
#include "tenon/text/char_tokenizer.h"
#include "tenon/text/file.h"
#include "tenon/text/json_value.h"
#include "tenon/text/llama2c_tokenizer.h"
#include "tenon/text/word_tokenizer.h"
#include "tenon/text/wordpiece.h"

namespace tenon::text {
namespace fs = std::filesystem;
namespace {

/// Files of a BPE that belong together.
struct BpeNames {
  const char *vocabulary, *merges;
};
constexpr const char* kTokenizerJson = "tokenizer.json";
constexpr BpeNames kBpeNames[] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};

std::unique_ptr<Tokenizer> load_pair(const io::OpenFolder& folder, const BpeNames& names) {
  return std::make_unique<Bpe>(load_bpe(folder, names.vocabulary, names.merges));
}

/// A list of tokens, and beside it what transformers says of how texts are spelled.
constexpr const char* kLines = "vocab.txt";
constexpr const char* kSettings = "tokenizer_config.json";

std::unique_ptr<Tokenizer> lines_of(const TextFile& lines) {
  return std::make_unique<WordPiece>(parse_vocabulary_lines(lines.input()));
}

std::unique_ptr<Tokenizer> load_lines(const io::OpenFolder& folder) {
  const TextFile lines(folder, kLines);
  if (!folder.has(kSettings)) return lines_of(lines);
  const TextFile settings(folder, kSettings);
  return std::make_unique<WordPiece>(parse_vocabulary_lines(lines.input(), &settings.input()));
}

/// llama2.c's tokenizers are called tokenizer.bin or, for their sizes, tok512.bin; models lie beside them.
std::vector<std::string> llama2c_files(const io::OpenFolder& folder) {
  std::vector<std::string> files = folder.names();
  std::erase_if(files, [](const std::string& name) { return !name.starts_with("tok") || !name.ends_with(".bin"); });
  return files;
}

std::unique_ptr<Tokenizer> parsed(const TextFile& file) {
  const std::string_view text = io::as_text(file.input().bytes);
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (file.input().name.ends_with(".bin")) return std::make_unique<Llama2cBpe>(file.input());
  if (first == text.npos || text[first] == '{') return parse_tokenizer_json(file.input());
  io::fail(file.input(),
           "is no tokenizer: neither a JSON object, a .txt file with one token a line nor a .bin file of llama2.c");
}

std::unique_ptr<Tokenizer> load_file(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const BpeNames& names : kBpeNames) {
    if (name == names.vocabulary || name == names.merges)
      return load_pair(io::OpenFolder(kFormat, path.parent_path()), names);
  }
  if (name == kLines) return load_lines(io::OpenFolder(kFormat, path.has_parent_path() ? path.parent_path() : "."));
  if (name.ends_with(".txt")) return lines_of(TextFile(path));
  return parsed(TextFile(path));
}

/// Files from before 2021 do not name the type of their model; a list of merges tells a BPE.
bool is_wordpiece(const JsonView& root) {
  const JsonView model = root.at("model");
  return model.is_set("type") ? model.at("type").text() == "WordPiece" : model.has("max_input_chars_per_word");
}

}  // namespace

std::unique_ptr<Tokenizer> parse_tokenizer_json(const io::Input& input) {
  const Json document = parse_json(input);
  const JsonView root(input, document);
  if (!root.has("tenon_tokenizer")) {
    if (!root.has("model")) root.refuse("is no tokenizer.json: it has neither \"model\" nor \"tenon_tokenizer\"");
    if (is_wordpiece(root)) return std::make_unique<WordPiece>(parse_hugging_face_wordpiece(root));
    return std::make_unique<Bpe>(parse_hugging_face_bpe(root));
  }
  const std::string& kind = root.at("tenon_tokenizer").text();
  if (kind == "byte") return std::make_unique<ByteTokenizer>(root);
  if (kind == "char") return std::make_unique<CharTokenizer>(root);
  if (kind == "word") return std::make_unique<WordTokenizer>(root);
  if (kind == "llama2c") return std::make_unique<Llama2cBpe>(root);
  root.at("tenon_tokenizer").refuse(fmt::format("is {}, not one of byte, char, word, llama2c", io::in_quotes(kind)));
}

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& path) {
  if (io::type_of(kFormat, path) != fs::file_type::directory) return load_file(path);
  return load_tokenizer(io::OpenFolder(kFormat, path));
}

std::unique_ptr<Tokenizer> load_tokenizer(const io::OpenFolder& folder) {
  if (folder.has(kTokenizerJson)) return parsed(TextFile(folder, kTokenizerJson));
  for (const BpeNames& names : kBpeNames) {
    if (folder.has(names.vocabulary)) return load_pair(folder, names);
  }
  if (folder.has(kLines)) return load_lines(folder);
  const std::vector<std::string> files = llama2c_files(folder);
  if (files.size() == 1) return parsed(TextFile(folder, files[0]));
  if (files.size() > 1) {
    base::fail(kFormat, "{}: holds several tokenizers ({}, {} ...); name one of the files", folder.path().string(),
               io::as_one_line(files[0]), io::as_one_line(files[1]));
  }
  base::fail(kFormat,
             "{}: holds no tokenizer (looked for tokenizer.json, vocab.json with merges.txt, encoder.json with "
             "vocab.bpe, vocab.txt, tok*.bin)",
             folder.path().string());
}

}  // namespace tenon::text
