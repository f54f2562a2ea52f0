#include "tenon/data/prepare.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "tenon/base/error.h"
#include "tenon/data/journal.h"
#include "tenon/data/ordered_pipeline.h"
#include "tenon/data/tokenizer_fingerprint.h"
#include "tenon/data/tokens.h"
#include "tenon/io/file.h"

namespace tenon::data {
namespace {

namespace fs = std::filesystem;

/// Large enough that threads seldom meet, small enough that all of them have work in a file of a few megabytes.
constexpr size_t kUnitBytes = size_t{256} << 10;

struct Unit {
  std::vector<Piece> pieces;
  std::vector<int32_t> tokens;
  int64_t documents = 0;
  int64_t file = 0;  // where the next unit begins
  ReadPosition position;
  int64_t consumed = 0;  // bytes of all files by then
};

/// Makes the units: pieces of one file after the other.
class UnitMaker {
 public:
  UnitMaker(const std::vector<CorpusFile>& files, const std::string& field, const Progress& from)
      : files_(files), field_(field), file_(from.file), position_(from.position) {
    for (int64_t i = 0; i < file_; ++i) finished_bytes_ += files_[static_cast<size_t>(i)].bytes;
  }

  bool operator()(Unit& unit) {
    size_t bytes = 0;
    while (bytes < kUnitBytes && file_ < static_cast<int64_t>(files_.size())) {
      Piece piece;
      if (!reader_) reader_ = open_documents(current(), field_, position_);
      if (reader_->next(piece)) {
        position_ = reader_->position();
        bytes += piece.text.size();
        unit.pieces.push_back(std::move(piece));
      } else {
        finished_bytes_ += current().bytes;
        reader_.reset();
        ++file_;
        position_ = {};
      }
    }
    unit.file = file_;
    unit.position = position_;
    unit.consumed = finished_bytes_ + (reader_ ? reader_->consumed() : 0);
    return !unit.pieces.empty();
  }

 private:
  const CorpusFile& current() const { return files_[static_cast<size_t>(file_)]; }

  const std::vector<CorpusFile>& files_;
  const std::string& field_;
  int64_t file_;
  ReadPosition position_;
  std::unique_ptr<DocumentReader> reader_;
  int64_t finished_bytes_ = 0;
};

/// What stands between documents: the token for it, or an empty line where there is neither that nor one to spell it.
std::vector<int32_t> separator_of(const text::Tokenizer& tokenizer) {
  if (const auto end = tokenizer.end_of_text()) return {*end};
  try {
    return tokenizer.encode("\n\n");
  } catch (const Error&) {  // of single characters, and has none for the end of a line
    return {};
  }
}

class Tokenizing {
 public:
  explicit Tokenizing(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer), separator_(separator_of(tokenizer)) {}

  void operator()(Unit& unit) const {
    for (Piece& piece : unit.pieces) {
      const bool begins = piece.begins_document, ends = piece.ends_document;
      const std::string text = shown_text(std::move(piece));
      if (text.empty() && begins && ends) continue;
      tokenizer_.encode(text, unit.tokens, text::Special::kAsText);
      if (!ends) continue;
      unit.tokens.insert(unit.tokens.end(), separator_.begin(), separator_.end());
      ++unit.documents;
    }
    unit.pieces.clear();
  }

 private:
  const text::Tokenizer& tokenizer_;
  std::vector<int32_t> separator_;
};

/// One run, from the journal of an earlier one or from nothing.
class Run {
 public:
  Run(const text::Tokenizer& tokenizer, const PrepareOptions& options)
      : tokenizer_(tokenizer),
        options_(options),
        files_(list_corpus(options.inputs, options.format)),
        token_options_{tokenizer.vocabulary(), tokenizer_fingerprint(tokenizer), true} {
    for (const CorpusFile& file : files_) total_bytes_ += file.bytes;
    journal_.run = description();
  }

  Prepared operator()() {
    check_options();
    if (was_finished()) return result_;
    begin();
    try {
      if (!journal_.progress.is_cut) {
        write_all();
        if (options_.validation_fraction > 0) cut_validation();
      }
      finish();
    } catch (const Error& error) {
      give_up(error);
    }
    return result_;
  }

 private:
  void check_options() const {
    if (options_.validation_fraction > 0 && options_.validation_out.empty()) {
      base::fail("prepare", "a validation fraction needs a file for it: give --validation-out");
    }
    if (options_.validation_fraction == 0 && !options_.validation_out.empty()) {
      base::fail("prepare", "a file for validation needs to know how much: give --validation-fraction");
    }
    tokens_before_validation(0, options_.validation_fraction);  // refuses what is no fraction
    check_places();
  }

  /// What is read, and what is written under one name, is not written under another.
  void check_places() const {
    const fs::path &out = options_.out, &validation = options_.validation_out;
    std::vector<fs::path> read = options_.inputs;
    for (const CorpusFile& file : files_) read.push_back(file.path);
    read.insert(read.end(), options_.also_read.begin(), options_.also_read.end());
    for (const fs::path& named : {out, validation}) {
      if (!named.empty()) io::require_apart("prepare", named, read);
    }
    std::error_code ignored;
    const auto place = [&](const fs::path& path) { return fs::weakly_canonical(fs::absolute(path), ignored); };
    if (!validation.empty() && place(out) == place(validation))
      base::fail("prepare", "{}: is named for both parts; name two files", out.string());
    std::vector<fs::path> helpers = {TokenFileWriter::partial_path(out), journal_path(out)};
    if (!validation.empty()) helpers.push_back(TokenFileWriter::partial_path(validation));
    for (const fs::path& helper : helpers) {
      const bool is_read = std::ranges::any_of(read, [&](const fs::path& path) {
        return fs::equivalent(helper, path, ignored) || place(helper) == place(path);
      });
      const bool is_named = place(helper) == place(out) || (!validation.empty() && place(helper) == place(validation));
      if (is_read || is_named)
        base::fail("prepare", "{}: is needed meanwhile, but is what is {}; write to another file", helper.string(),
                   is_read ? "read" : "written");
    }
  }

  /// A kill may come when the file has its name and the journal is still there: then all that is left to do is to
  /// remove it.
  bool was_finished() {
    if (options_.unfinished == Unfinished::kBeginAnew) return false;
    std::error_code ignored;
    if (fs::exists(TokenFileWriter::partial_path(options_.out), ignored) || !fs::is_regular_file(options_.out, ignored))
      return false;
    const auto earlier = read_journal(options_.out);
    if (!earlier || earlier->run != journal_.run) return false;
    const Written& written = earlier->progress.written;
    try {
      const TokenFileHeader header = TokenFile::open(options_.out)->header();
      if (header.tokens != written.tokens || header.checksum != written.checksum) return false;
    } catch (const Error&) {  // an older file of another kind
      return false;
    }
    journal_ = *earlier;
    result_.continued_tokens = written.tokens;
    count_result();
    io::remove_stale("prepare", journal_path(options_.out));
    return true;
  }

  /// Everything that decides the result. Threads do not.
  std::string description() const {
    nlohmann::json inputs = nlohmann::json::array();
    for (const CorpusFile& file : files_) {
      inputs.push_back({fs::absolute(file.path).string(), name(file.format), file.bytes, file.modified});
    }
    return nlohmann::json{{"inputs", inputs},
                          {"field", options_.field},
                          {"tokenizer", token_options_.tokenizer},
                          {"vocabulary", token_options_.vocabulary},
                          {"validation", options_.validation_fraction}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  void begin() {
    if (options_.unfinished == Unfinished::kBeginAnew) remove_journal(options_.out);
    const auto earlier = read_journal(options_.out);
    if (!earlier) {
      if (options_.unfinished == Unfinished::kMustContinue) {
        base::fail("prepare", "{}: there is no unfinished run to continue; leave out --resume", options_.out.string());
      }
      writer_ = std::make_unique<TokenFileWriter>(options_.out, token_options_);
      return;
    }
    const Progress& progress = earlier->progress;
    if (earlier->run != journal_.run || progress.file > static_cast<int64_t>(files_.size())) {
      base::fail("prepare",
                 "{}: an unfinished run had other inputs, options or another tokenizer; begin anew with --restart",
                 options_.out.string());
    }
    writer_ = std::make_unique<TokenFileWriter>(options_.out, token_options_, progress.written);
    journal_ = *earlier;
    result_.continued_tokens = progress.written.tokens;
    has_journal_ = true;
  }

  void write_all() {
    UnitMaker maker(files_, options_.field, journal_.progress);
    const Tokenizing work(tokenizer_);
    const int machine = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    OrderedPipeline<Unit> pipeline([&](Unit& unit) { return maker(unit); }, [&](Unit& unit) { work(unit); },
                                   options_.threads > 0 ? options_.threads : machine);
    Progress& progress = journal_.progress;
    int64_t checkpoint_at = 0;
    while (const auto unit = pipeline.next()) {
      writer_->append(unit->tokens);
      for (int64_t i = 0; i < unit->documents; ++i) writer_->end_document();
      progress.file = unit->file;
      progress.position = unit->position;
      const bool checkpoint = unit->consumed - checkpoint_at >= options_.checkpoint_bytes;
      if (checkpoint) {
        write_checkpoint();
        checkpoint_at = unit->consumed;
      }
      report(unit->consumed, checkpoint);
    }
    progress.file = static_cast<int64_t>(files_.size());
    progress.position = {};
    if (writer_->tokens() == 0) base::fail("prepare", "the inputs hold no text; nothing was written");
    progress.written = writer_->sync();
  }

  void report(int64_t consumed, bool checkpoint) const {
    if (!options_.progress) return;
    options_.progress({consumed, total_bytes_, writer_->documents(), writer_->tokens(), checkpoint});
  }

  /// First the tokens are on disk, then the journal says so.
  void write_checkpoint() {
    journal_.progress.written = writer_->sync();
    write_journal(options_.out, journal_);
    has_journal_ = true;
  }

  /// Copies the last part into its own file, and only then takes it off this one.
  void cut_validation() {
    const Written all = journal_.progress.written;
    const int64_t train = tokens_before_validation(all.tokens, options_.validation_fraction);
    if (train == 0 || train == all.tokens) {
      base::fail("prepare", "{} tokens are too few to keep {} of them for validation", all.tokens,
                 options_.validation_fraction);
    }
    write_checkpoint();
    TokenFileOptions options = token_options_;
    options.keep_unfinished = false;
    TokenFileWriter validation(options_.validation_out, options);
    const int64_t documents = copy_tail(train, all.tokens, validation);
    validation.commit();

    Progress& progress = journal_.progress;
    progress.uncut = all;
    progress.is_cut = true;
    progress.written = {train, tokenizer_.end_of_text() ? all.documents - documents : 0,
                        writer_->checksum_of_first(train)};
    write_journal(options_.out, journal_);
    writer_->cut(progress.written);
  }

  /// Returns the documents that end in the part; nobody can tell where a tokenizer has no end of text.
  int64_t copy_tail(int64_t from, int64_t end, TokenFileWriter& into) {
    std::vector<int32_t> tokens(size_t{1} << 16);
    int64_t documents = 0;
    for (int64_t at = from; at < end;) {
      const auto step = std::span(tokens).first(static_cast<size_t>(std::min<int64_t>(end - at, 1 << 16)));
      writer_->copy(at, step);
      into.append(step);
      for (const int32_t token : step) {
        if (token != tokenizer_.end_of_text()) continue;
        into.end_document();
        ++documents;
      }
      at += static_cast<int64_t>(step.size());
    }
    return documents;
  }

  void count_result() {
    const Progress& progress = journal_.progress;
    result_.tokens = progress.written.tokens;
    result_.documents = progress.is_cut ? progress.uncut.documents : progress.written.documents;
    result_.validation_tokens = progress.is_cut ? progress.uncut.tokens - progress.written.tokens : 0;
    result_.bytes = total_bytes_;
  }

  /// Where there is a journal, it says what the finished file holds before that gets its name: see was_finished.
  void finish() {
    count_result();
    if (has_journal_) write_journal(options_.out, journal_);
    writer_->commit();
    io::remove_stale("prepare", journal_path(options_.out));
  }

  [[noreturn]] void give_up(const Error& error) {
    writer_.reset();
    if (has_journal_) {
      throw Error(
          fmt::format("{} (what was done until the last checkpoint is kept: continue with --resume)", error.what()));
    }
    io::remove_stale("prepare", TokenFileWriter::partial_path(options_.out));
    throw Error(error);
  }

  const text::Tokenizer& tokenizer_;
  const PrepareOptions& options_;
  std::vector<CorpusFile> files_;
  TokenFileOptions token_options_;
  int64_t total_bytes_ = 0;
  Journal journal_;
  bool has_journal_ = false;
  std::unique_ptr<TokenFileWriter> writer_;
  Prepared result_;
};

}  // namespace

Prepared prepare(const text::Tokenizer& tokenizer, const PrepareOptions& options) { return Run(tokenizer, options)(); }

}  // namespace tenon::data
