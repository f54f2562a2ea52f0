#include "tenon/data/journal.h"

#include <limits>

#include "tenon/base/error.h"
#include "tenon/io/file.h"
#include "tenon/io/json.h"

namespace tenon::data {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kStart = "{\n \"about\": \"journal of an unfinished tenon data prepare\"";

Json json_of(const Written& written) {
  return {{"tokens", written.tokens}, {"documents", written.documents}, {"checksum", written.checksum}};
}

/// Reads fields and remembers whether any was missing or wrong.
class Fields {
 public:
  explicit Fields(Json json) : json_(std::move(json)) {}

  int64_t count(const char* key) {
    const uint64_t value = number(key);
    is_whole_ = is_whole_ && value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return static_cast<int64_t>(value);
  }
  uint64_t number(const char* key) {
    const bool is_there = json_.is_object() && json_.contains(key) && json_[key].is_number_unsigned();
    is_whole_ = is_whole_ && is_there;
    return is_there ? json_[key].get<uint64_t>() : 0;
  }
  bool flag(const char* key) {
    const bool is_there = json_.is_object() && json_.contains(key) && json_[key].is_boolean();
    is_whole_ = is_whole_ && is_there;
    return is_there && json_[key].get<bool>();
  }
  std::string text(const char* key) {
    const bool is_there = json_.is_object() && json_.contains(key) && json_[key].is_string();
    is_whole_ = is_whole_ && is_there;
    return is_there ? json_[key].get<std::string>() : std::string();
  }
  Written written(const char* key) {
    Fields part(json_.is_object() && json_.contains(key) ? json_[key] : Json());
    const Written written{part.count("tokens"), part.count("documents"), part.number("checksum")};
    is_whole_ = is_whole_ && part.is_whole_ && written.tokens < std::numeric_limits<int64_t>::max() / 8;
    return written;
  }
  bool is_whole() const { return is_whole_; }

 private:
  Json json_;
  bool is_whole_ = true;
};

}  // namespace

std::string to_json(const Journal& journal) {
  const Progress& progress = journal.progress;
  return Json{{"about", "journal of an unfinished tenon data prepare"},  // stands first: keys are sorted
              {"version", 1},
              {"run", journal.run},
              {"file", progress.file},
              {"offset", progress.position.offset},
              {"line", progress.position.line},
              {"inside_document", progress.position.inside_document},
              {"written", json_of(progress.written)},
              {"is_cut", progress.is_cut},
              {"uncut", json_of(progress.uncut)}}
      .dump(1);
}

Journal journal_from_json(std::string_view text, const std::string& name) {
  const io::Input input{"prepare", name, std::as_bytes(std::span(text))};
  try {
    io::check_json(input);
  } catch (const Error& error) {
    throw Error(
        fmt::format("{}; this journal of an unfinished run is damaged; begin anew with --restart", error.what()));
  }
  Fields fields(io::parse_json<Json>(input));
  const uint64_t version = fields.number("version");
  Journal journal;
  journal.run = fields.text("run");
  journal.progress = {fields.count("file"),
                      {fields.count("offset"), fields.count("line"), fields.flag("inside_document")},
                      fields.written("written"),
                      fields.flag("is_cut"),
                      fields.written("uncut")};
  if (!fields.is_whole() || version != 1) {
    base::fail("prepare", "{}: this journal of an unfinished run is damaged; begin anew with --restart", name);
  }
  return journal;
}

fs::path journal_path(const fs::path& out) {
  fs::path path = TokenFileWriter::partial_path(out);
  return path.replace_extension(".journal");
}

namespace {

std::shared_ptr<const io::MappedFile> open_own_journal(const fs::path& path) {
  auto file = io::MappedFile::open("prepare", path);
  if (!io::as_text(file->bytes()).starts_with(kStart))
    base::fail("prepare",
               "{}: is no journal of tenon, which needs this name meanwhile; move it away or name another file",
               path.string());
  return file;
}

}  // namespace

std::optional<Journal> read_journal(const fs::path& out) {
  const fs::path path = journal_path(out);
  if (!fs::exists(path)) return std::nullopt;
  return journal_from_json(io::as_text(open_own_journal(path)->bytes()), path.string());
}

void remove_journal(const fs::path& out) {
  const fs::path path = journal_path(out);
  if (!fs::exists(path)) return;
  open_own_journal(path);
  io::remove_stale("prepare", path);
}

void write_journal(const fs::path& out, const Journal& journal) {
  io::ReplacingFile file("prepare", journal_path(out));
  file.write(to_json(journal));
  file.commit();
}

}  // namespace tenon::data
