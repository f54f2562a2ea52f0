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
  io::fail(file.input(), "is no tokenizer: neither a JSON object nor a .bin file of llama2.c");
}

std::unique_ptr<Tokenizer> load_file(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const BpeNames& names : kBpeNames) {
    if (name == names.vocabulary || name == names.merges)
      return load_pair(io::OpenFolder(kFormat, path.parent_path()), names);
  }
  return parsed(TextFile(path));
}

}  // namespace

std::unique_ptr<Tokenizer> parse_tokenizer_json(const io::Input& input) {
  const Json document = parse_json(input);
  const JsonView root(input, document);
  if (!root.has("tenon_tokenizer")) {
    if (!root.has("model")) root.refuse("is no tokenizer.json: it has neither \"model\" nor \"tenon_tokenizer\"");
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
  const std::vector<std::string> files = llama2c_files(folder);
  if (files.size() == 1) return parsed(TextFile(folder, files[0]));
  if (files.size() > 1) {
    base::fail(kFormat, "{}: holds several tokenizers ({}, {} ...); name one of the files", folder.path().string(),
               io::as_one_line(files[0]), io::as_one_line(files[1]));
  }
  base::fail(kFormat,
             "{}: holds no tokenizer (looked for tokenizer.json, vocab.json with merges.txt, encoder.json with "
             "vocab.bpe, tok*.bin)",
             folder.path().string());
}

}  // namespace tenon::text
