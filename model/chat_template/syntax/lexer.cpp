// The idea: the source is cut at {{, {% and {#. Between tags it is data, whose ends the signs - and
// + and the two settings shorten; inside a tag it is names, numbers, strings and operators until
// the tag's end, which counts only outside brackets.
#include "model/chat_template/syntax/lexer.h"

#include <algorithm>
#include <array>

#include "model/chat_template/syntax/string_literal.h"
#include "model/chat_template/values/unicode.h"

namespace octlm::model::jinja {
namespace {

// \r\n and \r become \n; one line end at the very end goes.
std::string normalized(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text.push_back(source[i]);
      continue;
    }
    text.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalized(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag();
      if (tag == std::string::npos) {
        add_data(at_, source_.size());
        at_ = source_.size();
        break;
      }
      read_tag(tag);
    }
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what, bool unsupported = false) const {
    throw SyntaxMistake{line_of(at_), what, unsupported};
  }

  int line_of(std::size_t at) const {
    while (line_end_ < at) line_ += source_[line_end_++] == '\n' ? 1 : 0;
    return line_;
  }

  void add(TokenKind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), line_of(at_)});
  }

  bool has(std::string_view text) const { return source_.compare(at_, text.size(), text) == 0; }

  std::size_t next_tag() const {
    for (std::size_t at = source_.find('{', at_); at != std::string::npos;
         at = source_.find('{', at + 1)) {
      if (at + 1 < source_.size() &&
          std::string_view("{%#").find(source_[at + 1]) != std::string_view::npos)
        return at;
    }
    return std::string::npos;
  }

  void skip_space() {
    while (at_ < source_.size() && is_space(code_point_at(source_, at_)))
      at_ += length_at(source_, at_);
  }

  // Data of [begin, end), without the white space that the sign of the tag after it takes.
  void add_data_before(std::size_t begin, std::size_t end, char sign, bool is_variable) {
    if (sign == '-') {
      while (end > begin) {
        std::size_t last = end - 1;
        while (last > begin && (static_cast<unsigned char>(source_[last]) & 0xC0u) == 0x80u) --last;
        if (!is_space(code_point_at(source_, last))) break;
        end = last;
      }
    } else if (sign != '+' && !is_variable) {
      const std::size_t found = end > begin ? source_.rfind('\n', end - 1) : std::string::npos;
      const bool has_line = found != std::string::npos && found >= begin;
      const std::size_t line = has_line ? found + 1 : begin;
      if ((has_line || line_starting_) && only_space(line, end)) end = line;
    }
    add_data(begin, end);
  }

  bool only_space(std::size_t begin, std::size_t end) const {
    for (; begin < end; begin += length_at(source_, begin)) {
      if (!is_space(code_point_at(source_, begin))) return false;
    }
    return true;
  }

  void add_data(std::size_t begin, std::size_t end) {
    if (begin < end)
      tokens_.push_back({TokenKind::kData, source_.substr(begin, end - begin), line_of(at_)});
  }

  char sign() {
    if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) return source_[at_++];
    return ' ';
  }

  void read_tag(std::size_t tag) {
    const std::size_t begin = at_;
    const char kind = source_[tag + 1];
    at_ = tag + 2;
    const char strips = sign();
    if (kind == '%') {
      const std::size_t after_sign = at_;
      if (const std::size_t body = raw_body()) {
        at_ = begin;
        add_data_before(begin, tag, strips, false);
        at_ = body;
        return read_raw(body);
      }
      at_ = after_sign;
    }
    const std::size_t inside = at_;
    at_ = begin;
    add_data_before(begin, tag, strips, kind == '{');
    at_ = inside;
    line_starting_ = false;
    if (kind == '#') return read_comment();
    const bool is_block = kind == '%';
    add(is_block ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, "");
    read_inside(is_block);
  }

  // Past "raw %}" when that follows, else 0.
  std::size_t raw_body() {
    skip_space();
    if (!has("raw")) return 0;
    at_ += 3;
    skip_space();
    if (has("%}")) return at_ + 2;
    if (!has("-%}")) return 0;
    at_ += 3;
    skip_space();
    return at_;
  }

  void read_raw(std::size_t body) {
    line_starting_ = body > 0 && source_[body - 1] == '\n';
    for (std::size_t tag = source_.find("{%", body); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      at_ = tag + 2;
      const char strips = sign();
      skip_space();
      if (!has("endraw")) continue;
      at_ += 6;
      skip_space();
      if (!end_block()) continue;
      const std::size_t after = at_;
      at_ = body;
      add_data_before(body, tag, strips, false);
      at_ = after;
      line_starting_ = source_[after - 1] == '\n';
      return;
    }
    at_ = body;
    if (body < source_.size()) refuse("'raw' is never closed");  // at the very end Jinja takes it
  }

  void read_comment() {
    if (at_ == source_.size()) return;  // "{#" at the very end: Jinja takes it
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) refuse("a comment is never closed");
    const char strips = end > at_ ? source_[end - 1] : ' ';
    at_ = end + 2;
    if (strips == '-') {
      skip_space();
    } else if (strips != '+' && at_ < source_.size() && source_[at_] == '\n') {
      ++at_;
    }
    line_starting_ = source_[at_ - 1] == '\n';
  }

  // Steps over a block tag's end, if it is here.
  bool end_block() {
    if (has("%}")) {
      at_ += 2;
      if (at_ < source_.size() && source_[at_] == '\n') ++at_;
      return true;
    }
    if (!has("-%}") && !has("+%}")) return false;
    const bool strips = source_[at_] == '-';
    at_ += 3;
    if (strips) skip_space();
    return true;
  }

  bool end_variable() {
    if (has("}}")) {
      at_ += 2;
      return true;
    }
    if (!has("-}}")) return false;
    at_ += 3;
    skip_space();
    return true;
  }

  void read_inside(bool is_block) {
    std::string open;  // brackets that wait for their partners
    while (at_ < source_.size()) {
      const std::size_t here = at_;
      if (open.empty() && (is_block ? end_block() : end_variable())) {
        line_starting_ = source_[at_ - 1] == '\n';
        tokens_.push_back(
            {is_block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, "", line_of(here)});
        return;
      }
      if (is_space(code_point_at(source_, at_))) {
        skip_space();
      } else {
        read_token(open);
      }
    }
    if (!open.empty()) refuse(std::string("'") + open.back() + "' is never closed");
    refuse(is_block ? "a block tag is never closed" : "'{{' is never closed");
  }

  void read_token(std::string& open) {
    const char c = source_[at_];
    if (is_digit(c)) return read_number();
    if (is_name_start(c)) {
      std::size_t end = at_;
      while (end < source_.size() && is_name_part(source_[end])) ++end;
      if (end < source_.size() && static_cast<unsigned char>(source_[end]) >= 0x80)
        refuse("a name beyond ASCII", true);
      add(TokenKind::kName, source_.substr(at_, end - at_));
      at_ = end;
      return;
    }
    if (c == '"' || c == '\'') return read_string(c);
    if (static_cast<unsigned char>(c) >= 0x80) refuse("a name beyond ASCII", true);
    read_operator(open);
  }

  std::size_t digits_end(std::size_t at) const {
    while (at < source_.size() &&
           (is_digit(source_[at]) ||
            (source_[at] == '_' && at + 1 < source_.size() && is_digit(source_[at + 1])))) {
      ++at;
    }
    return at;
  }

  void read_number() {
    std::size_t end = digits_end(at_);
    bool is_float = false;
    const auto digit_at = [&](std::size_t at) {
      return at < source_.size() && is_digit(source_[at]);
    };
    if (!(at_ > 0 && source_[at_ - 1] == '.')) {  // a.0.1 has two integers
      if (end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
        is_float = true;
        end = digits_end(end + 1);
      }
      if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
        const std::size_t power =
            end + 1 +
            (end + 1 < source_.size() && (source_[end + 1] == '+' || source_[end + 1] == '-') ? 1
                                                                                              : 0);
        if (digit_at(power)) {
          is_float = true;
          end = digits_end(power);
        }
      }
    }
    std::string text = source_.substr(at_, end - at_);
    std::erase(text, '_');
    if (!is_float && text.size() > 1 && text.find_first_not_of('0') != std::string::npos &&
        text[0] == '0') {
      refuse("a number that starts with 0");
    }
    if (!is_float && end < source_.size() && text == "0" &&
        std::string_view("xXoObB").find(source_[end]) != std::string_view::npos) {
      refuse("a number in another base than ten", true);
    }
    add(is_float ? TokenKind::kFloat : TokenKind::kInteger, std::move(text));
    at_ = end;
  }

  void read_string(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) refuse("a string is never closed");
    StringLiteral literal =
        resolve_escapes(std::string_view(source_).substr(at_ + 1, end - at_ - 1));
    if (!literal.mistake.empty()) refuse(literal.mistake, literal.unsupported);
    add(TokenKind::kString, std::move(literal.text));
    at_ = end + 1;
  }

  void read_operator(std::string& open) {
    static constexpr std::array<std::string_view, 27> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]",
        "(",  ")",  "{",  "}",  ">",  "<",  "=", ".", ":", "|", ",", ";", "!"};
    const auto* found =
        std::ranges::find_if(kOperators, [&](std::string_view text) { return has(text); });
    if (found == kOperators.end() || *found == "!")
      refuse(std::string("unexpected character '") + source_[at_] + "'");
    const char c = (*found)[0];
    if (c == '(' || c == '[' || c == '{') open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) refuse(std::string("unexpected '") + c + "'");
      open.pop_back();
    }
    add(TokenKind::kOperator, std::string(*found));
    at_ += found->size();
  }

  std::string source_;
  std::size_t at_ = 0;
  bool line_starting_ = true;  // did what was read last end a line?
  std::vector<Token> tokens_;
  mutable int line_ = 1;  // of line_end_: lines are counted once, forwards
  mutable std::size_t line_end_ = 0;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace octlm::model::jinja
