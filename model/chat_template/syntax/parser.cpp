// Statements. What Jinja has and this does not (extends, include, import, block, autoescape,
// recursive loops) is refused by name where it is reached.
#include "model/chat_template/syntax/parser.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "model/chat_template/syntax/expression_parser.h"
#include "model/chat_template/syntax/hidden_names.h"
#include "model/chat_template/syntax/lexer.h"
#include "model/chat_template/syntax/token_stream.h"

namespace octlm::model::jinja {
namespace {

constexpr int kMaxBlocks = 40;  // nested

using StatementPtr = std::unique_ptr<Statement>;

Statement make(StatementKind kind, int line) {
  return Statement{.kind = kind,
                   .line = line,
                   .text = {},
                   .expressions = {},
                   .targets = {},
                   .bodies = {},
                   .macro = {}};
}

StatementPtr done(Statement made) { return std::make_unique<Statement>(std::move(made)); }

// A value for as long as this lives.
class Set {
 public:
  Set(bool& flag, bool value) : flag_(flag), before_(std::exchange(flag, value)) {}
  ~Set() { flag_ = before_; }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

 private:
  bool& flag_;
  bool before_;
};

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokenize(source)), expressions_(tokens_) {}

  Body whole() {
    Body body = statements({});
    if (!tokens_.is(TokenKind::kEnd)) tokens_.refuse("unexpected " + tokens_.found());
    find_hidden_names(body);
    return body;
  }

 private:
  // Up to a tag of one of these names, whose '{%' is consumed and whose name is current; or to the
  // end.
  Body statements(std::initializer_list<std::string_view> ends) {
    Body body;
    while (!tokens_.is(TokenKind::kEnd)) {
      const int line = tokens_.line();
      if (tokens_.is(TokenKind::kData)) {
        Statement data = make(StatementKind::kData, line);
        data.text.append(tokens_.next().text, Origin::kTemplate);
        body.statements.push_back(done(std::move(data)));
      } else if (tokens_.is(TokenKind::kVariableBegin)) {
        tokens_.next();
        Statement output = make(StatementKind::kOutput, line);
        output.expressions.push_back(settled(expressions_.tuple()));
        tokens_.expect(TokenKind::kVariableEnd, "'}}'");
        body.statements.push_back(done(std::move(output)));
      } else {
        tokens_.expect(TokenKind::kBlockBegin, "text or a tag");
        const bool ends_here =
            tokens_.is(TokenKind::kName) &&
            std::ranges::find(ends, std::string_view(tokens_.current().text)) != ends.end();
        if (ends_here) return body;
        body.statements.push_back(statement());
        tokens_.expect(TokenKind::kBlockEnd, "'%}'");
      }
    }
    return body;
  }

  // The body of a block, after its tag's head; leaves the end tag's name current.
  Body body_until(std::initializer_list<std::string_view> ends, std::string_view block, int line) {
    if (++open_blocks_ > kMaxBlocks)
      tokens_.refuse("blocks nested more than " + std::to_string(kMaxBlocks) + " deep");
    tokens_.skip_operator(":");
    tokens_.expect(TokenKind::kBlockEnd, "'%}'");
    Body body = statements(ends);
    if (tokens_.is(TokenKind::kEnd)) {
      throw SyntaxMistake{line, "'" + std::string(block) + "' is never closed"};
    }
    --open_blocks_;
    return body;
  }

  // The same, with one possible end, which is consumed.
  Body whole_body(std::string_view end, std::string_view block, int line) {
    Body body = body_until({end}, block, line);
    tokens_.next();
    return body;
  }

  StatementPtr statement() {
    const int line = tokens_.line();
    const std::string tag = tokens_.expect(TokenKind::kName, "the name of a tag").text;
    if (tag == "if") return if_statement(line);
    if (tag == "for") return for_statement(line);
    if (tag == "set") return set_statement(line);
    if (tag == "macro") return macro_statement(line);
    if (tag == "call") return call_statement(line);
    if (tag == "filter") return filter_statement(line);
    if (tag == "with") return with_statement(line);
    if (tag == "print") return print_statement(line);
    if (tag == "generation") return generation_statement(line);
    if (tag == "break" || tag == "continue") {
      if (open_loops_ == 0) throw SyntaxMistake{line, "'" + tag + "' outside of a loop"};
      return done(make(tag == "break" ? StatementKind::kBreak : StatementKind::kContinue, line));
    }
    static constexpr std::string_view kUnsupported[] = {"block", "extends", "include",
                                                        "from",  "import",  "autoescape"};
    if (std::ranges::find(kUnsupported, tag) != std::end(kUnsupported)) {
      return unsupported_statement(tag, line);
    }
    throw SyntaxMistake{line, "unknown tag '" + tag + "'"};
  }

  // An expression of the statement at hand, its unknown names refused or left for later.
  ExpressionPtr settled(ExpressionPtr expression) {
    expressions_.settle_names(soft_);
    return expression;
  }

  StatementPtr unsupported(std::string_view construct, int line) {
    Statement made = make(StatementKind::kUnsupported, line);
    made.text.append(construct, Origin::kTemplate);
    return done(std::move(made));
  }

  // Leaves the '%}' of its last tag, as each statement does.
  StatementPtr unsupported_statement(const std::string& tag, int line) {
    const auto skip_head = [this] {
      while (!tokens_.is(TokenKind::kBlockEnd) && !tokens_.is(TokenKind::kEnd)) tokens_.next();
    };
    skip_head();
    if (tag == "block" || tag == "autoescape") {
      const Set hard(soft_, false);
      whole_body("end" + tag, tag, line);
      skip_head();
    }
    return unsupported("tag '" + tag + "'", line);
  }

  StatementPtr if_statement(int line) {
    const Set soft(soft_, true);
    Statement made = make(StatementKind::kIf, line);
    while (true) {
      made.expressions.push_back(settled(expressions_.tuple(false)));
      made.bodies.push_back(body_until({"elif", "else", "endif"}, "if", line));
      const std::string tag = tokens_.next().text;
      if (tag == "elif") continue;
      if (tag == "else") made.bodies.push_back(whole_body("endif", "if", line));
      return done(std::move(made));
    }
  }

  StatementPtr for_statement(int line) {
    Statement made = make(StatementKind::kFor, line);
    ++loops_around_;
    made.targets.push_back(target("in", false));
    tokens_.expect_name("in");
    made.expressions.push_back(settled(expressions_.tuple(false, "recursive")));
    const Set hard(soft_, false);
    if (tokens_.skip_name("if")) made.expressions.push_back(settled(expressions_.expression()));
    const bool is_recursive = tokens_.skip_name("recursive");
    ++open_loops_;
    made.bodies.push_back(body_until({"endfor", "else"}, "for", line));
    --open_loops_;
    if (tokens_.next().text == "else") made.bodies.push_back(whole_body("endfor", "for", line));
    --loops_around_;
    return is_recursive ? unsupported("a recursive loop", line) : done(std::move(made));
  }

  StatementPtr set_statement(int line) {
    Statement made = make(StatementKind::kSet, line);
    made.targets.push_back(target("", true));
    if (tokens_.skip_operator("=")) {
      made.expressions.push_back(settled(expressions_.tuple()));
      return done(std::move(made));
    }
    made.kind = StatementKind::kSetBlock;
    const Set hard(soft_, false);
    if (tokens_.is_operator("|")) {
      made.expressions.push_back(settled(expressions_.filters_of_block(false)));
    }
    made.bodies.push_back(whole_body("endset", "set", line));
    return done(std::move(made));
  }

  // name, name.member (for set), or several with commas between.
  Target target(std::string_view end_name, bool with_member) {
    const int line = tokens_.line();
    std::vector<Target> parts;
    bool is_tuple = false;
    while (true) {
      parts.push_back(one_target(with_member));
      if (!tokens_.skip_operator(",")) break;
      is_tuple = true;
      const bool at_end = tokens_.is(TokenKind::kBlockEnd) || tokens_.is_operator("=") ||
                          tokens_.is_operator(")") ||
                          (!end_name.empty() && tokens_.is_name(end_name));
      if (at_end) break;
    }
    if (!is_tuple) return std::move(parts[0]);
    return Target{line, "", "", std::move(parts), true};
  }

  Target one_target(bool with_member) {
    const int line = tokens_.line();
    if (tokens_.skip_operator("(")) {
      if (++open_brackets_ > kMaxBlocks)
        tokens_.refuse("targets nested more than " + std::to_string(kMaxBlocks) + " deep");
      Target inside = target("", false);
      tokens_.expect_operator(")");
      --open_brackets_;
      return inside;
    }
    const Token token = tokens_.expect(TokenKind::kName, "a name to assign to");
    const std::string_view name = token.text;
    static constexpr std::string_view kConstants[] = {"true", "false", "none",
                                                      "True", "False", "None"};
    const bool is_loop = name == "loop" && loops_around_ > 0;
    if (is_loop || std::ranges::find(kConstants, name) != std::end(kConstants)) {
      throw SyntaxMistake{line, "'" + std::string(name) + "' cannot be assigned"};
    }
    Target made{line, token.text, "", {}, false};
    if (with_member && tokens_.skip_operator(".")) {
      made.member = tokens_.expect(TokenKind::kName, "a name after '.'").text;
    }
    return made;
  }

  void signature(Macro& macro) {
    tokens_.expect_operator("(");
    while (!tokens_.is_operator(")")) {
      macro.parameters.push_back(tokens_.expect(TokenKind::kName, "a parameter").text);
      if (tokens_.skip_operator("=")) {
        macro.defaults.push_back(settled(expressions_.expression()));
      } else if (!macro.defaults.empty()) {
        tokens_.refuse("a parameter without default after one with");
      }
      if (!tokens_.skip_operator(",")) break;
    }
    tokens_.expect_operator(")");
  }

  // A macro's body runs on its own: the loops around it are not its own.
  void macro_body(Macro& macro, std::string_view end, std::string_view block, int line) {
    const int loops_around = std::exchange(open_loops_, 0);
    const std::size_t first_name = expressions_.names_read().size();
    macro.body = whole_body(end, block, line);
    open_loops_ = loops_around;
    const auto reads = [&](std::string_view name) {
      const auto& names = expressions_.names_read();
      const auto first = names.begin() + static_cast<std::ptrdiff_t>(first_name);
      const bool is_parameter = std::ranges::find(macro.parameters, name) != macro.parameters.end();
      return !is_parameter && std::find(first, names.end(), name) != names.end();
    };
    macro.uses_caller = reads("caller");
    macro.uses_kwargs = reads("kwargs");
    macro.uses_varargs = reads("varargs");
  }

  StatementPtr macro_statement(int line) {
    const Set hard(soft_, false);
    Statement made = make(StatementKind::kMacro, line);
    auto macro = std::make_unique<Macro>();
    macro->name = tokens_.expect(TokenKind::kName, "the macro's name").text;
    signature(*macro);
    if (std::ranges::find(macro->parameters, "caller") != macro->parameters.end()) {
      throw SyntaxMistake{line, "a parameter named 'caller' is not supported", true};
    }
    macro_body(*macro, "endmacro", "macro", line);
    made.macro = std::move(macro);
    return done(std::move(made));
  }

  StatementPtr call_statement(int line) {
    Statement made = make(StatementKind::kCallBlock, line);
    auto caller = std::make_unique<Macro>();
    caller->name = "caller";
    if (tokens_.is_operator("(")) {
      const Set hard(soft_, false);
      signature(*caller);
    }
    made.expressions.push_back(settled(expressions_.expression()));
    const Set hard(soft_, false);
    if (made.expressions[0]->kind != ExpressionKind::kCall)
      throw SyntaxMistake{line, "'call' needs a call"};
    macro_body(*caller, "endcall", "call", line);
    made.macro = std::move(caller);
    return done(std::move(made));
  }

  StatementPtr filter_statement(int line) {
    const Set hard(soft_, false);
    Statement made = make(StatementKind::kFilterBlock, line);
    made.expressions.push_back(settled(expressions_.filters_of_block(true)));
    made.bodies.push_back(whole_body("endfilter", "filter", line));
    return done(std::move(made));
  }

  StatementPtr with_statement(int line) {
    Statement made = make(StatementKind::kWith, line);
    while (!tokens_.is(TokenKind::kBlockEnd)) {
      if (!made.targets.empty()) tokens_.expect_operator(",");
      const int around = std::exchange(loops_around_, 0);  // `loop` is a name like others here
      made.targets.push_back(one_target(false));
      loops_around_ = around;
      tokens_.expect_operator("=");
      made.expressions.push_back(settled(expressions_.expression()));
    }
    const Set hard(soft_, false);
    made.bodies.push_back(whole_body("endwith", "with", line));
    return done(std::move(made));
  }

  StatementPtr print_statement(int line) {
    Statement made = make(StatementKind::kOutput, line);
    while (!tokens_.is(TokenKind::kBlockEnd)) {
      if (!made.expressions.empty()) tokens_.expect_operator(",");
      made.expressions.push_back(settled(expressions_.expression()));
    }
    return done(std::move(made));
  }

  StatementPtr generation_statement(int line) {
    const Set hard(soft_, false);
    Statement made = make(StatementKind::kGeneration, line);
    const int loops_around = std::exchange(open_loops_, 0);
    made.bodies.push_back(whole_body("endgeneration", "generation", line));
    open_loops_ = loops_around;
    return done(std::move(made));
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int open_blocks_ = 0;
  int open_brackets_ = 0;  // of a target
  int open_loops_ = 0;     // that a break here would leave
  int loops_around_ = 0;   // whose `loop` would be hidden
  bool soft_ = false;      // unknown filters and tests wait (ExpressionParser::settle_names)
};

}  // namespace

Body parse(std::string_view source) { return Parser(source).whole(); }

}  // namespace octlm::model::jinja
