// The second pass: {{templates}}, {| tables |} and [[links]], which nest in each other.
//
// One walk over the text with a stack of what is open. Text goes to the result as it comes; when a bracket closes, the
// end of the result since it opened is replaced by what the reader sees. So nothing is read twice but what stands in
// links, and that at most kDeepest times.

#include <algorithm>
#include <array>
#include <vector>

#include "tenon/data/wiki_markup.h"

namespace tenon::data::wiki {
namespace {

constexpr size_t kDeepest = 100;

/// Namespaces whose links show no text here, in the larger Wikipedias' languages.
constexpr std::array<std::string_view, 26> kUnseen = {
    "file",    "image",   "media",     "category", "datei",     "bild",     "kategorie",   "fichier",    "catégorie",
    "archivo", "imagen",  "categoría", "ficheiro", "categoria", "immagine", "bestand",     "afbeelding", "categorie",
    "plik",    "grafika", "kategoria", "fil",      "kategori",  "файл",     "изображение", "категория"};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

bool is_unseen(std::string_view space) {
  const std::string_view name = trimmed(space);
  return std::any_of(kUnseen.begin(), kUnseen.end(), [&](std::string_view known) {
    if (known[0] >= 'a' && known[0] <= 'z') return name.size() == known.size() && begins(name, known);
    return name.size() == known.size() && name.substr(2) == known.substr(2);  // the first Cyrillic letter in any case
  });
}

/// "de", "fr", "simple": links to the same article elsewhere.
bool is_language(std::string_view space) {
  const bool is_code = space.size() == 2 || space.size() == 3 || space == "simple";
  return is_code && std::all_of(space.begin(), space.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// What a reader sees of [[content]].
std::string shown_by_link(std::string_view content) {
  const size_t bar = content.find('|');
  std::string_view target = trimmed(content.substr(0, bar));
  const bool is_plain = target.starts_with(':');  // [[:Category:Tea]] is a link like any other
  if (is_plain) target.remove_prefix(1);
  const size_t colon = target.find(':');
  if (!is_plain && colon != target.npos) {
    const std::string_view space = target.substr(0, colon);
    if (is_unseen(space) || (bar == content.npos && is_language(space))) return {};
  }
  if (bar == content.npos) return std::string(target);
  const std::string_view label = trimmed(content.substr(bar + 1));
  return std::string(label.empty() ? target : label);
}

/// The unnamed arguments of a template, its name first.
std::vector<std::string_view> arguments_of(std::string_view content) {
  std::vector<std::string_view> arguments;
  while (arguments.size() < 6) {
    const size_t bar = content.find('|');
    const std::string_view argument = trimmed(content.substr(0, bar));
    if (arguments.empty() || argument.find('=') == argument.npos) arguments.push_back(argument);
    if (bar == content.npos) break;
    content.remove_prefix(bar + 1);
  }
  return arguments;
}

/// Templates that stand inside sentences and would leave holes in them.
std::string shown_by_template(std::string_view content) {
  if (content.size() > 500) return {};
  const auto arguments = arguments_of(content);
  const std::string_view name = arguments[0];
  const auto is = [&](std::string_view known) { return name.size() == known.size() && begins(name, known); };
  if (arguments.size() >= 3 && (is("convert") || is("cvt"))) {
    return std::string(arguments[1]) + " " + std::string(arguments[2]);
  }
  if (arguments.size() >= 3 && (is("lang") || is("transl"))) return std::string(arguments.back());
  if (arguments.size() >= 2 && (is("nowrap") || is("nobr") || is("em") || is("abbr"))) return std::string(arguments[1]);
  return {};
}

class Brackets {
 public:
  explicit Brackets(std::string_view markup) : markup_(markup) {}

  std::string without() {
    static constexpr CharSet kSpecial("{}[]|");
    while (at_ < markup_.size()) {
      kSpecial.copy_others(markup_, at_, out_);
      if (at_ == markup_.size()) break;
      if (open() || close()) continue;
      out_ += markup_[at_++];
    }
    return std::move(out_);
  }

 private:
  enum Kind { kTemplate, kTable, kLink, kKinds };
  struct Frame {
    Kind kind;
    size_t begin;    // of the opening bracket in the result
    size_t letters;  // of it
  };

  std::string_view rest() const { return markup_.substr(at_); }

  bool begins_line() const {
    size_t at = at_;
    while (at > 0 && (markup_[at - 1] == ' ' || markup_[at - 1] == ':' || markup_[at - 1] == '\t')) --at;
    return at == 0 || markup_[at - 1] == '\n';
  }

  bool open() {
    if (rest().starts_with("{{{") && !rest().starts_with("{{{{")) return push(kTemplate, 3);
    if (rest().starts_with("{{")) return push(kTemplate, 2);
    if (rest().starts_with("[[")) return push(kLink, 2);
    if (rest().starts_with("{|") && begins_line()) return push(kTable, 2);
    return false;
  }

  bool push(Kind kind, size_t letters) {
    if (open_.size() == kDeepest) return false;
    open_.push_back({kind, out_.size(), letters});
    ++count_[kind];
    out_.append(rest().substr(0, letters));
    at_ += letters;
    return true;
  }

  bool close() {
    if (rest().starts_with("}}") && count_[kTemplate] > 0) return close_template();
    if (rest().starts_with("]]") && !open_.empty() && open_.back().kind == kLink) return close_link();
    const bool ends_table = rest().starts_with("|}") && !rest().starts_with("|}}") && begins_line();
    if (ends_table && count_[kTable] > 0) {
      out_.resize(pop_to(kTable).begin);
      at_ += 2;
      return true;
    }
    return false;
  }

  bool close_template() {
    const Frame frame = pop_to(kTemplate);
    const std::string shown = shown_by_template(std::string_view(out_).substr(frame.begin + frame.letters));
    out_.resize(frame.begin);
    out_ += shown;
    at_ += frame.letters == 3 && rest().starts_with("}}}") ? 3 : 2;
    return true;
  }

  bool close_link() {
    const Frame frame = pop_to(kLink);
    const std::string shown = shown_by_link(std::string_view(out_).substr(frame.begin + frame.letters));
    out_.resize(frame.begin);
    out_ += shown;
    at_ += 2;
    return true;
  }

  /// The innermost of this kind; what was left open inside it is text.
  Frame pop_to(Kind kind) {
    while (true) {
      const Frame frame = open_.back();
      open_.pop_back();
      --count_[frame.kind];
      if (frame.kind == kind) return frame;
    }
  }

  std::string_view markup_;
  size_t at_ = 0;
  std::string out_;
  std::vector<Frame> open_;
  std::array<int64_t, kKinds> count_{};
};

}  // namespace

std::string without_brackets(std::string_view markup) { return Brackets(markup).without(); }

}  // namespace tenon::data::wiki
