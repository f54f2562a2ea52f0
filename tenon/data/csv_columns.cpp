#include "tenon/data/csv_columns.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <unordered_set>

namespace tenon::data {
namespace {

constexpr size_t kMostColumns = 1'000'000;  // a column takes some 200 bytes before it has a row

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<int64_t> whole_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_one = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return is_one ? std::optional(number) : std::nullopt;
}

std::optional<double> real_in(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);  // inf or 0
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<bool> boolean_in(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

/// Cuts a text into fields, line by line.
class Scanner {
 public:
  Scanner(const io::Input& input, const CsvOptions& options) : input_(input), options_(options) {
    text_ = io::as_text(input.bytes);
    if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF")) {
      io::fail(input, "is UTF-16: save it as UTF-8");
    }
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  /// Goes to the next line that is not empty; false at the end.
  bool next_line() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) end_line();
    column_ = 0;
    has_more_ = at_ < text_.size();
    return has_more_;
  }
  /// Whether this line has another field.
  bool has_field() const { return has_more_; }
  /// The next field of this line, until the one after it is read.
  std::string_view field() {
    ++column_;
    line_of_field_ = line_;
    const std::string_view found = at_ < text_.size() && text_[at_] == options_.quote ? quoted() : plain();
    has_more_ = at_ < text_.size() && text_[at_] == options_.separator;
    if (has_more_)
      ++at_;
    else if (at_ < text_.size())
      end_line();
    return found;
  }

  /// Of the field that was read last, counted from 1.
  size_t line() const { return line_of_field_; }
  size_t column() const { return column_; }

 private:
  bool ends_field(char c) const { return c == options_.separator || c == '\n' || c == '\r'; }

  std::string_view plain() {
    const size_t first = at_;
    while (at_ < text_.size() && !ends_field(text_[at_])) ++at_;
    return text_.substr(first, at_ - first);
  }

  std::string_view quoted() {
    own_.clear();
    ++at_;
    while (true) {
      const size_t end = text_.find(options_.quote, at_);
      if (end == std::string_view::npos) {
        io::fail(input_, "line {}, column {}: the quote is never closed", line_of_field_, column_);
      }
      const std::string_view part = text_.substr(at_, end - at_);
      line_ += static_cast<size_t>(std::count(part.begin(), part.end(), '\n'));
      own_ += part;
      at_ = end + 1;
      if (at_ == text_.size() || text_[at_] != options_.quote) break;
      own_ += options_.quote;
      ++at_;
    }
    if (at_ < text_.size() && !ends_field(text_[at_])) {
      io::fail(input_, "line {}, column {}: something follows the closing quote: {}", line_, column_,
               io::in_quotes(text_.substr(at_, 20)));
    }
    return own_;
  }

  void end_line() {
    at_ += text_.substr(at_).starts_with("\r\n") ? 2 : 1;
    ++line_;
  }

  const io::Input& input_;
  const CsvOptions& options_;
  std::string_view text_;
  std::string own_;  // a field that stood in quotes
  size_t at_ = 0, line_ = 1, line_of_field_ = 1, column_ = 0;
  bool has_more_ = false;
};

/// What the fields of a column may be, as far as they were seen.
struct Seen {
  bool whole = true, real = true, boolean = true, missing = false, any = false;

  void add(std::string_view text) {
    any = true;
    if (whole) whole = whole_in(text).has_value();
    if (real) real = whole || real_in(text).has_value();
    if (boolean) boolean = boolean_in(text).has_value();
  }
  /// As pandas: of numbers that are not all there, those that are not are NaN.
  ColumnType type() const {
    if (!any) return ColumnType::kReal;
    if (boolean) return missing ? ColumnType::kText : ColumnType::kBoolean;
    if (whole && !missing) return ColumnType::kWhole;
    return real ? ColumnType::kReal : ColumnType::kText;
  }
};

class Reader {
 public:
  Reader(const io::Input& input, const CsvOptions& options) : input_(input), options_(options) {
    const auto bad = [](char c) { return c == '\n' || c == '\r' || c == '\0'; };
    if (bad(options.separator) || bad(options.quote) || options.separator == options.quote) {
      io::fail(input, "the separator and the quote must differ, and be no ends of lines");
    }
  }

  std::vector<CsvColumn> read() {
    Scanner scanner(input_, options_);
    if (!scanner.next_line()) io::fail(input_, "is empty");
    name_columns(scanner);
    find_types();
    fill();
    return std::move(columns_);
  }

 private:
  bool is_missing(std::string_view text) const {
    return std::find(options_.missing.begin(), options_.missing.end(), text) != options_.missing.end();
  }

  void name_columns(Scanner& scanner) {
    std::vector<std::string> names;
    while (scanner.has_field()) {
      names.emplace_back(trimmed(scanner.field()));
      if (names.size() > kMostColumns)
        io::fail(input_, "line {} has more than {} fields: is {} the separator?", scanner.line(), kMostColumns,
                 io::in_quotes(std::string_view(&options_.separator, 1)));
    }
    for (size_t i = 0; i < names.size(); ++i) {
      if (!options_.header || names[i].empty()) names[i] = fmt::format("column {}", i + 1);
    }
    if (!options_.names.empty()) {
      if (options_.names.size() != names.size()) {
        io::fail(input_, "line {} has {} fields, {} names are given", scanner.line(), names.size(),
                 options_.names.size());
      }
      names = options_.names;
    }
    std::unordered_set<std::string> known;
    for (const std::string& name : names) {
      if (!known.insert(name).second) io::fail(input_, "two columns are called {}", io::in_quotes(name));
      columns_.push_back({name, {}, {}, {}, {}, {}});
    }
    for (const auto& [name, type] : options_.types) {
      if (!known.contains(name))
        io::fail(input_, "a type is given for {}, and there is no such column", io::in_quotes(name));
    }
  }

  /// Calls f(column, text) for every field behind the header.
  template <typename F>
  void for_each_field(F&& f) {
    Scanner scanner(input_, options_);
    bool is_header = options_.header;
    while (scanner.next_line()) {
      size_t column = 0;
      while (scanner.has_field()) {
        const std::string_view text = scanner.field();
        if (column < columns_.size() && !is_header) f(scanner, column, text);
        ++column;
      }
      if (column != columns_.size()) {
        io::fail(input_, "line {} has {} field{}, the first has {}", scanner.line(), column, column == 1 ? "" : "s",
                 columns_.size());
      }
      is_header = false;
    }
  }

  void find_types() {
    std::vector<Seen> seen(columns_.size());
    for_each_field([&](const Scanner&, size_t column, std::string_view text) {
      const std::string_view value = trimmed(text);
      if (is_missing(value))
        seen[column].missing = true;
      else
        seen[column].add(value);
    });
    for (size_t i = 0; i < columns_.size(); ++i) {
      const auto given = options_.types.find(columns_[i].name);
      columns_[i].type = given == options_.types.end() ? options_.type_of_all.value_or(seen[i].type()) : given->second;
    }
  }

  void fill() {
    for_each_field([&](const Scanner& scanner, size_t place, std::string_view text) {
      CsvColumn& column = columns_[place];
      const std::string_view value = trimmed(text);
      const bool missing = is_missing(value);
      column.missing.push_back(missing);
      const auto refuse = [&] {
        io::fail(input_, "line {}, column {} ({}): {} is not what the column holds: {}", scanner.line(),
                 scanner.column(), io::in_quotes(column.name), missing ? "no value" : io::in_quotes(value),
                 name(column.type));
      };
      switch (column.type) {
        case ColumnType::kText: column.text.emplace_back(missing ? std::string_view() : text); break;
        case ColumnType::kReal: {
          const std::optional<double> number = missing ? std::numeric_limits<double>::quiet_NaN() : real_in(value);
          if (!number) refuse();
          column.real.push_back(*number);
          break;
        }
        case ColumnType::kWhole: {
          const std::optional<int64_t> number = missing ? std::nullopt : whole_in(value);
          if (!number) refuse();
          column.whole.push_back(*number);
          break;
        }
        case ColumnType::kBoolean: {
          const std::optional<bool> is_true = missing ? std::nullopt : boolean_in(value);
          if (!is_true) refuse();
          column.whole.push_back(*is_true);
          break;
        }
      }
    });
  }

  const io::Input& input_;
  const CsvOptions& options_;
  std::vector<CsvColumn> columns_;
};

}  // namespace

std::string_view name(ColumnType type) {
  switch (type) {
    case ColumnType::kWhole: return "whole numbers";
    case ColumnType::kReal: return "numbers";
    case ColumnType::kBoolean: return "true or false";
    default: return "text";
  }
}

std::vector<CsvColumn> parse_csv(const io::Input& input, const CsvOptions& options) {
  return Reader(input, options).read();
}

}  // namespace tenon::data
