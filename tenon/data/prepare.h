// prepare: a corpus of any size becomes a token file.
//
//   auto tokenizer = text::load_tokenizer("gpt2/");
//   data::prepare(*tokenizer, {.inputs = {"articles.xml.bz2"}, .out = "articles.tokens"});
//
// Documents stream through reading, tokenizing on several threads and writing, in constant memory and in order: the
// result is the same bytes whatever the number of threads. Now and then what is written is synced, and then a journal
// says how far the work is; a run that is killed continues from there, and ends with the same bytes too.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tenon/data/corpus.h"
#include "tenon/text/tokenizer.h"

namespace tenon::data {

/// What to do about the journal of a run that did not finish.
enum class Unfinished { kContinue, kMustContinue, kBeginAnew };

/// How far prepare() is.
struct PrepareProgress {
  int64_t bytes = 0, total_bytes = 0;  // of the files as they lie on disk
  int64_t documents = 0, tokens = 0;   // written so far
  bool checkpoint = false;             // the journal was just written
};

/// What prepare() reads and writes.
struct PrepareOptions {
  std::vector<std::filesystem::path> inputs;             // files, and folders of files
  std::filesystem::path out;                             // the token file
  Format format = Format::kAuto;                         // of the inputs
  std::string field = "text";                            // of JSON Lines
  double validation_fraction = 0;                        // the last part of the tokens goes to
  std::filesystem::path validation_out;                  // this file
  std::vector<std::filesystem::path> also_read = {};     // what else no output may replace: files of the tokenizer
  int threads = 0;                                       // that tokenize; 0: as many as the machine has
  Unfinished unfinished = Unfinished::kContinue;         // what to do about a run that did not finish
  int64_t checkpoint_bytes = int64_t{64} << 20;          // of the inputs between two checkpoints
  std::function<void(const PrepareProgress&)> progress;  // called after every unit of work, on the caller's thread
};

/// What prepare() has written.
struct Prepared {
  int64_t tokens = 0, documents = 0, validation_tokens = 0;  // in out, documents in all, tokens in validation_out
  int64_t bytes = 0;                                         // of the inputs
  int64_t continued_tokens = 0;                              // that an earlier run had written
};

/// Each document is followed by the tokenizer's end_of_text, or by an empty line where it has none. Fails with one
/// line; what was done by then is kept for the next run where there is a journal, and nothing where there is none.
Prepared prepare(const text::Tokenizer& tokenizer, const PrepareOptions& options);

}  // namespace tenon::data
