// What a config trains on: tokens for training and validation, and the tokenizer they were made with.

#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tenon/data/tokens.h"
#include "tenon/text/tokenizer.h"
#include "tenon/train/config.h"

namespace tenon::io {
class OpenFolder;
}

namespace tenon::train {

struct Corpus {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  data::Tokens train, validation;  // the second is empty where nothing is held back
  std::string description;         // one line
  std::string fingerprint;         // of all tokens: a run goes on with those it began with
};

/// Reads token files, or tokenizes text files, JSON lines, dumps and the built-in stories in memory. The tokenizer is
/// kept as tokenizer.json in `folder`; a run that goes on takes one that was learned from there, so that it has the
/// tokens it began with. Of the folder of model.init_from, where that is open, the tokenizer is read from the
/// same folder as the model. Fails with one line where the data do not fit the config.
Corpus load_corpus(const Config& config, const std::filesystem::path& folder, bool goes_on = false,
                   const io::OpenFolder* initial = nullptr);

/// The documents of a text file, JSON lines or a dump as one stretch of tokens, each ended by the tokenizer's token for
/// that where there are several: as a run would be trained on them.
struct EncodedText {
  data::Tokens tokens;
  int64_t bytes = 0;  // of the documents
};
EncodedText encode_documents(const std::filesystem::path& path, const text::Tokenizer& tokenizer);

/// Whether a path is a token file. Fails with one line where it is neither a file nor a folder: a pipe would never end.
bool is_token_file(const std::filesystem::path& path);
/// Fails with one line where a file that is taken for text is some program's numbers.
void require_text(const std::filesystem::path& path);

/// The tokenizer that the config names, of the folder of model.init_from where it lies there; none where the config
/// names none.
std::unique_ptr<text::Tokenizer> given_tokenizer(const Config& config, const io::OpenFolder* initial);
/// The tokenizer alone; fails where it would have to be learned and is not in the folder.
std::shared_ptr<const text::Tokenizer> load_run_tokenizer(const Config& config, const std::filesystem::path& folder);

}  // namespace tenon::train
