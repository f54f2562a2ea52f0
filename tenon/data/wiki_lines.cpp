// The third pass: lines are headings, list entries, rules or paragraphs; inside them stand quotes, external links, tags
// and entities. What the first two passes took out leaves holes, which are closed here.

#include <array>
#include <vector>

#include "tenon/data/entities.h"
#include "tenon/data/wiki_markup.h"

namespace tenon::data::wiki {
namespace {

constexpr size_t kNone = std::string_view::npos;

bool is_space(char c) { return c == ' ' || c == '\t'; }

void trim(std::string& line) {
  while (!line.empty() && is_space(line.back())) line.pop_back();
  line.erase(0, line.find_first_not_of(" \t"));
}

/// Where a run of apostrophes says italic or bold, how many of them do.
size_t quotes_of(size_t run) { return run < 2 ? 0 : run == 4 ? 3 : std::min<size_t>(run, 5); }

class Inline {
 public:
  explicit Inline(std::string_view line) : line_(line) {}

  std::string without() {
    static constexpr CharSet kSpecial("'[]<&_{}");
    while (at_ < line_.size()) {
      kSpecial.copy_others(line_, at_, out_);
      if (at_ == line_.size()) break;
      if (quotes() || external_link() || tag() || entity() || magic_word() || stray_bracket()) continue;
      out_ += line_[at_++];
    }
    return std::move(out_);
  }

 private:
  std::string_view rest() const { return line_.substr(at_); }

  bool quotes() {
    const size_t run = std::min(rest().find_first_not_of('\''), rest().size());
    const size_t dropped = quotes_of(run);
    if (dropped == 0) return false;
    out_.append(run - dropped, '\'');
    at_ += run;
    return true;
  }

  /// [https://example.org the label] shows its label.
  bool external_link() {
    if (line_[at_] != '[' || bracket_is_missing_) return false;
    static constexpr std::array<std::string_view, 5> kSchemes = {"http://", "https://", "ftp://", "mailto:", "//"};
    bool is_link = false;
    for (const std::string_view scheme : kSchemes) is_link = is_link || begins(rest().substr(1), scheme);
    if (!is_link) return false;
    const size_t end = rest().find(']');
    bracket_is_missing_ = end == kNone;
    if (bracket_is_missing_) return false;
    const std::string_view content = rest().substr(1, end - 1);
    const size_t space = content.find(' ');
    if (space != kNone) out_ += Inline(content.substr(space + 1)).without();
    at_ += end + 1;
    return true;
  }

  bool tag() {
    if (line_[at_] != '<') return false;
    const size_t length = tag_length(rest());
    if (length == 0) return false;
    if (begins(rest(), "<br")) out_ += ' ';
    at_ += length;
    return true;
  }

  bool entity() {
    const size_t length = append_entity(rest(), Entities::kHtml, out_);
    at_ += length;
    return length > 0;
  }

  /// __NOTOC__ and its kind.
  bool magic_word() {
    if (!rest().starts_with("__")) return false;
    size_t end = 2;
    while (end < rest().size() && rest()[end] >= 'A' && rest()[end] <= 'Z') ++end;
    if (end == 2 || !rest().substr(end).starts_with("__")) return false;
    at_ += end + 2;
    return true;
  }

  bool stray_bracket() {
    for (const std::string_view bracket : {"{{", "}}", "[[", "]]"}) {
      if (!rest().starts_with(bracket)) continue;
      at_ += 2;
      return true;
    }
    return false;
  }

  std::string_view line_;
  size_t at_ = 0;
  std::string out_;
  bool bracket_is_missing_ = false;
};

/// Closes the holes: "tea ( ; 1825 ) , which" is "tea (1825), which", and "( )" is nothing.
std::string without_holes(std::string_view line) {
  static constexpr CharSet kSpecial(" \t,;)");
  std::string out;
  for (size_t at = 0; at < line.size(); ++at) {
    kSpecial.copy_others(line, at, out);
    if (at == line.size()) break;
    const char c = line[at];
    const bool after_paren = !out.empty() && out.back() == '(';
    if (is_space(c) && (out.empty() || is_space(out.back()) || after_paren)) continue;
    if ((c == ',' || c == ';') && after_paren) continue;
    if ((c == ',' || c == ')') && !out.empty() && is_space(out.back())) out.pop_back();
    if (c == ')' && !out.empty() && out.back() == '(') {
      out.pop_back();
      if (!out.empty() && is_space(out.back())) out.pop_back();
      continue;
    }
    out += is_space(c) ? ' ' : c;
  }
  return out;
}

/// The level of a heading, 0 where the line is none; takes the signs off.
size_t heading_level(std::string_view& line) {
  size_t level = 0;
  while (level < 6 && line.size() > 2 * (level + 1) && line[level] == '=' && line[line.size() - 1 - level] == '=')
    ++level;
  line = line.substr(level, line.size() - 2 * level);
  return level;
}

/// Whether the line says nothing: a rule, or the rest of a table that never closed.
bool is_layout(std::string_view line) {
  return line.starts_with("----") || line.starts_with("|") || line.starts_with("{|");
}

class Lines {
 public:
  std::string without(std::string_view markup) {
    while (!markup.empty()) {
      const size_t end = std::min(markup.find('\n'), markup.size());
      add(markup.substr(0, end));
      markup.remove_prefix(std::min(end + 1, markup.size()));
    }
    return std::move(out_);
  }

 private:
  struct Heading {
    size_t level;
    std::string text;
  };

  void add(std::string_view raw) {
    while (!raw.empty() && is_space(raw.back())) raw.remove_suffix(1);
    if (is_layout(raw)) return;
    const size_t level = heading_level(raw);
    while (level == 0 && !raw.empty() && std::string_view("*#:; \t").find(raw.front()) != kNone) raw.remove_prefix(1);
    std::string line = without_holes(Inline(raw).without());
    trim(line);
    if (line.find_first_not_of(" .,;:()") == std::string::npos) {
      paragraph_ended_ = true;
    } else if (level > 0) {
      add_heading(level, std::move(line));
    } else {
      add_text(line);
    }
  }

  /// A heading waits for text below it: "References" has none once the references are gone.
  void add_heading(size_t level, std::string line) {
    while (!waiting_.empty() && waiting_.back().level >= level) waiting_.pop_back();
    waiting_.push_back({level, std::move(line)});
  }

  void add_text(const std::string& line) {
    for (const Heading& heading : waiting_) put(heading.text, true);
    put(line, paragraph_ended_ || !waiting_.empty());
    waiting_.clear();
    paragraph_ended_ = false;
  }

  void put(const std::string& line, bool is_paragraph) {
    if (!out_.empty()) out_ += is_paragraph ? "\n\n" : "\n";
    out_ += line;
  }

  std::string out_;
  std::vector<Heading> waiting_;
  bool paragraph_ended_ = false;
};

}  // namespace

std::string without_inline_markup(std::string_view markup) {
  std::string text = Lines().without(markup);
  for (char& c : text) {
    const auto special = static_cast<size_t>(c - kFirstProtected);
    if (c >= kFirstProtected && special < kProtected.size()) c = kProtected[special];
  }
  return text;
}

}  // namespace tenon::data::wiki

namespace tenon::data {

std::string plain_text(std::string_view markup) {
  if (wiki::begins(markup.substr(std::min(markup.find_first_not_of(" \n"), markup.size())), "#redirect")) return {};
  return wiki::without_inline_markup(wiki::without_brackets(wiki::without_raw_tags(markup)));
}

}  // namespace tenon::data
