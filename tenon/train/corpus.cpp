// Text is held in memory once, as documents, because a tokenizer that is learned needs it twice. What does not fit is
// prepared beforehand: `tenon data prepare`.

#include "tenon/train/corpus.h"

#include <array>
#include <cstring>
#include <fstream>

#include "tenon/base/error.h"
#include "tenon/data/byte_stream.h"
#include "tenon/data/compressed.h"
#include "tenon/data/corpus.h"
#include "tenon/data/stories.h"
#include "tenon/data/token_file.h"
#include "tenon/data/tokenizer_fingerprint.h"
#include "tenon/io/open_folder.h"
#include "tenon/text/bpe.h"
#include "tenon/text/bpe_trainer.h"
#include "tenon/text/byte_tokenizer.h"
#include "tenon/text/char_tokenizer.h"
#include "tenon/text/word_tokenizer.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;
using base::fail;
using text::Tokenizer;

using Documents = std::vector<std::string>;

Documents story_documents(const Config& config) {
  Documents documents;
  data::StoryTeller teller(static_cast<uint64_t>(config.data.story_seed));
  for (int64_t bytes = 0; bytes < config.data.story_megabytes * 1'000'000;) {
    documents.push_back(teller.next());
    bytes += std::ssize(documents.back());
  }
  return documents;
}

Documents file_documents(const std::string& path, const std::string& field) {
  const fs::path inputs[] = {path};
  Documents documents;
  for (const data::CorpusFile& file : data::list_corpus(inputs)) {
    const auto reader = data::open_documents(file, field);
    bool goes_on = false;
    for (data::Piece piece; reader->next(piece);) {
      const bool ends = piece.ends_document;
      std::string text = data::shown_text(std::move(piece));
      if (goes_on)
        documents.back() += text;
      else
        documents.push_back(std::move(text));
      goes_on = !ends;
    }
  }
  std::erase_if(documents, [](const std::string& document) { return document.empty(); });
  if (documents.empty()) fail("train", "{}: holds no text", path);
  return documents;
}

// Whether documents are kept apart by a token of their own: a single text, as one of characters is, needs none.
std::unique_ptr<Tokenizer> learned(const Config& config, const Documents& documents) {
  const std::string& kind = config.tokenizer.kind;
  const bool several = documents.size() > 1;
  if (kind == "byte") return std::make_unique<text::ByteTokenizer>(several);
  if (kind == "char") {
    text::CharCounter counter;
    for (const std::string& document : documents) counter.add(document);
    return std::make_unique<text::CharTokenizer>(counter.model(false, several));
  }
  if (kind == "word") {
    text::WordCounter counter;
    for (const std::string& document : documents) counter.add(document);
    return std::make_unique<text::WordTokenizer>(
        counter.model({.vocabulary = config.tokenizer.vocabulary, .has_end_of_text = several}));
  }
  text::BpeTrainer trainer({.vocabulary = config.tokenizer.vocabulary});
  for (const std::string& document : documents) trainer.add(document);
  return std::make_unique<text::Bpe>(trainer.train());
}

data::Tokens tokens_of(const Documents& documents, const Tokenizer& tokenizer) {
  std::vector<int32_t> ids;
  const std::optional<int32_t> end = tokenizer.end_of_text();
  for (const std::string& document : documents) {
    const std::vector<int32_t> own = text::encode_parallel(tokenizer, document);
    ids.insert(ids.end(), own.begin(), own.end());
    if (end && documents.size() > 1) ids.push_back(*end);
  }
  return data::Tokens(std::move(ids));
}

data::Tokens open_tokens(const fs::path& path, const Tokenizer& tokenizer) {
  // Checked to the last token, at several GB/s: a damaged one would train on noise, or ask for a row that is not there.
  const auto file = data::TokenFile::open(path);
  if (file->header().tokenizer != 0 && file->header().tokenizer != data::tokenizer_fingerprint(tokenizer))
    fail("train",
         "{}: was made with another tokenizer than the config's; prepare it again, or name its tokenizer in "
         "tokenizer.path",
         path.string());
  if (file->vocabulary() > tokenizer.vocabulary())
    fail("train", "{}: has tokens up to {}, the tokenizer knows {}; name the one it was made with in tokenizer.path",
         path.string(), file->vocabulary() - 1, tokenizer.vocabulary());
  return data::Tokens(file);
}

uint64_t checksum_of(const data::Tokens& tokens) {
  constexpr int64_t kStep = int64_t{1} << 16;
  data::Checksum checksum;
  std::vector<int32_t> part;
  for (int64_t at = 0; at < tokens.size(); at += kStep) {
    part.resize(static_cast<size_t>(std::min(kStep, tokens.size() - at)));
    tokens.copy(at, part);
    checksum.add(std::as_bytes(std::span(part)));
  }
  return checksum.value();
}

void require_window(const data::Tokens& tokens, const Config& config, const std::string& what) {
  const int64_t needed = config.sequence_length() + 1;
  if (tokens.size() < needed)
    fail("train", "{} has {} tokens, a sequence of {} needs {}; lower training.sequence_length or bring more text",
         what, tokens.size(), config.sequence_length(), needed);
}

}  // namespace

// Usually it lies with the model that is tuned: then both are of the folder that was opened, whatever its name leads to
// by now.
std::unique_ptr<Tokenizer> given_tokenizer(const Config& config, const io::OpenFolder* initial) {
  if (config.tokenizer.kind != "file") return nullptr;
  const fs::path path = config.tokenizer_path();
  const fs::path folder = path.filename() == "tokenizer.json" ? path.parent_path() : path;
  if (initial && folder.lexically_normal() / "" == initial->path().lexically_normal() / "")
    return text::load_tokenizer(*initial);
  return text::load_tokenizer(path);
}

EncodedText encode_documents(const fs::path& path, const Tokenizer& tokenizer) {
  const Documents documents = file_documents(path.string(), "text");
  int64_t bytes = 0;
  for (const std::string& document : documents) bytes += std::ssize(document);
  return {tokens_of(documents, tokenizer), bytes};
}

bool is_token_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return false;
  if (!fs::is_regular_file(status))
    fail("data", "{}: is a pipe or a device, which cannot be read twice; write it to a file first", path.string());
  char magic[8] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(magic, sizeof magic) && std::string_view(magic, sizeof magic) == "TENONTOK";
}

void require_text(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return;
  const auto packed = data::decompressed(data::open_file(path));
  std::array<char, 1 << 12> start;
  const std::string_view seen(start.data(), packed->read(start));
  constexpr uint32_t kLlmC = 20240520;  // the magic of llm.c's token files
  const bool is_llm_c = seen.size() >= 4 && std::memcmp(seen.data(), &kLlmC, 4) == 0;
  if (is_llm_c || seen.starts_with("\x93NUMPY") || seen.find('\0') != seen.npos)
    fail("data",
         "{}: is no text but numbers, perhaps a token file of another program; make one of the text with `tenon data "
         "prepare`",
         path.string());
}

std::shared_ptr<const Tokenizer> load_run_tokenizer(const Config& config, const fs::path& folder) {
  if (std::shared_ptr<const Tokenizer> given = given_tokenizer(config, nullptr)) return given;
  return text::load_tokenizer(folder / "tokenizer.json");
}

Corpus load_corpus(const Config& config, const fs::path& folder, bool goes_on, const io::OpenFolder* initial) {
  const bool is_stories = config.data.train == "stories";
  if (!is_stories && !fs::exists(config.data.train))
    fail("train", "data.train {}: there is no such file; name a text or token file, or stories for the built-in corpus",
         config.data.train);
  Corpus corpus;
  corpus.tokenizer = given_tokenizer(config, initial);
  const fs::path kept = folder / "tokenizer.json";
  if (!corpus.tokenizer && goes_on && fs::exists(kept)) corpus.tokenizer = text::load_tokenizer(kept);

  data::Tokens all;
  if (!is_stories && is_token_file(config.data.train)) {
    if (!corpus.tokenizer)
      fail("train",
           "{}: is a token file; set tokenizer.kind to file and tokenizer.path to the tokenizer it was made with",
           config.data.train);
    all = open_tokens(config.data.train, *corpus.tokenizer);
  } else {
    if (!is_stories && config.tokenizer.kind != "byte") require_text(config.data.train);
    const Documents documents =
        is_stories ? story_documents(config) : file_documents(config.data.train, config.data.field);
    if (!corpus.tokenizer) corpus.tokenizer = learned(config, documents);
    all = tokens_of(documents, *corpus.tokenizer);
  }
  if (!goes_on || !fs::exists(kept)) corpus.tokenizer->save(folder);

  if (!config.data.validation.empty()) {
    if (!fs::exists(config.data.validation))
      fail("train", "data.validation {}: there is no such file; name a text or token file, or leave it empty",
           config.data.validation);
    corpus.train = all;
    corpus.validation = is_token_file(config.data.validation)
                            ? open_tokens(config.data.validation, *corpus.tokenizer)
                            : tokens_of(file_documents(config.data.validation, config.data.field), *corpus.tokenizer);
  } else if (config.data.validation_fraction > 0) {
    const data::Split parts = data::split(all, config.data.validation_fraction);
    corpus.train = parts.train;
    corpus.validation = parts.validation;
  } else {
    corpus.train = all;
  }
  corpus.fingerprint = fmt::format("{:016x}-{:016x}", checksum_of(corpus.train), checksum_of(corpus.validation));
  require_window(corpus.train, config, "the training set (" + config.data.train + ")");
  if (config.has_validation() && config.training.eval_every > 0)
    require_window(corpus.validation, config, "the validation set");
  corpus.description = fmt::format("{}: {} tokens to train on, {} to validate on, {} tokenizer of {}",
                                   config.data.train, corpus.train.size(), corpus.validation.size(),
                                   corpus.tokenizer->kind(), corpus.tokenizer->vocabulary());
  return corpus;
}

}  // namespace tenon::train
