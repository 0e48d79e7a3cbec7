// A template as a tree.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/chat_template/builtins/filters.h"
#include "model/chat_template/builtins/tests.h"
#include "model/chat_template/operators.h"
#include "model/chat_template/values/value.h"

namespace octlm::model::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

enum class ExpressionKind {
  kConstant,     // constant
  kName,         // name
  kTuple,        // operands
  kList,         // operands
  kDict,         // operands: key, value, key, value, ...
  kAttribute,    // operands[0].name
  kItem,         // operands[0][operands[1]]
  kSlice,        // operands[0][operands[1]:operands[2]:operands[3]], nullptr where left out
  kCall,         // operands[0](operands[1..], named)
  kFilter,       // operands[0] | filter(operands[1..], named)
  kTest,         // operands[0] is test(operands[1..], named)
  kCaptured,     // the text that a block just made, for its filters
  kNot,          // operands[0]
  kNegative,     // operands[0]
  kPositive,     // operands[0]
  kArithmetic,   // operands[0] arithmetic operands[1]
  kConcat,       // all operands, as text
  kCompare,      // operands[0] comparisons[0] operands[1] comparisons[1] ...
  kAnd,          // operands[0], operands[1]
  kOr,           // operands[0], operands[1]
  kConditional,  // operands[1] if operands[0] else operands[2], nullptr without else
  kUnsupported,  // refused when it is reached: name says what it is
};

enum class Comparison { kEqual, kUnequal, kLess, kAtMost, kGreater, kAtLeast, kIn, kNotIn };

struct Expression {
  ExpressionKind kind;
  int line;
  std::string name;
  Value constant;
  std::vector<ExpressionPtr> operands;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  std::vector<Comparison> comparisons;
  Arithmetic arithmetic = Arithmetic::kAdd;
  // Of a filter or test; nullptr: refused when it is reached, by its name.
  const FilterEntry* filter = nullptr;
  Test test = nullptr;
  int height = 1;  // bounded by the parser, so that walking and destroying it are
};

// Where an assignment goes: a name, a member of a namespace, or several of them.
struct Target {
  int line = 0;
  std::string name;
  std::string member;         // of the namespace `name`, when not empty
  std::vector<Target> parts;  // of a tuple, when is_tuple
  bool is_tuple = false;
};

struct Statement;

struct Body {
  std::vector<std::unique_ptr<Statement>> statements;
  std::vector<std::string> hidden;  // undefined at the start, whatever was given (hidden_names.h)
};

enum class StatementKind {
  kData,         // text
  kOutput,       // expressions, each printed
  kIf,           // expressions[i] guards bodies[i]; one body more is the else
  kFor,          // target in expressions[0] (if expressions[1]): bodies[0], else bodies[1]
  kSet,          // target = expressions[0]
  kSetBlock,     // target = bodies[0] as text, through expressions[0] if there
  kMacro,        // macro
  kCallBlock,    // expressions[0], a call, with macro as its caller
  kFilterBlock,  // bodies[0] through expressions[0]
  kWith,         // targets = expressions, for bodies[0]
  kGeneration,   // bodies[0]: what an assistant wrote, for training; here only a scope
  kBreak,
  kContinue,
  kUnsupported,  // refused when it is reached: text names the construct
};

struct Macro {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> defaults;  // of the last parameters
  Body body;
  bool uses_caller = false;
  bool uses_kwargs = false;
  bool uses_varargs = false;
};

struct Statement {
  StatementKind kind;
  int line;
  Text text;
  std::vector<ExpressionPtr> expressions;
  std::vector<Target> targets;
  std::vector<Body> bodies;
  std::unique_ptr<Macro> macro;
};

}  // namespace octlm::model::jinja
