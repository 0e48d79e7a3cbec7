// Follows jinja2/idtracking.py, whose order of visits decides.
#include "model/chat_template/syntax/hidden_names.h"

#include <set>
#include <string>

namespace octlm::model::jinja {
namespace {

// The names of one block, as they are met.
struct Block {
  const Block* around = nullptr;
  std::set<std::string> known;
  std::set<std::string> stored;
  std::set<std::string> hidden;

  bool knows(const std::string& name) const {
    return known.contains(name) || (around && around->knows(name));
  }
  void load(const std::string& name) {
    if (!knows(name)) known.insert(name);
  }
  void store(const std::string& name) {
    stored.insert(name);
    if (known.contains(name)) return;
    if (!knows(name)) hidden.insert(name);
    known.insert(name);
  }
  void parameter(const std::string& name) {
    stored.insert(name);
    known.insert(name);
    hidden.erase(name);
  }
};

void read(const Expression& expression, Block& block) {
  if (expression.kind == ExpressionKind::kName) block.load(expression.name);
  for (const auto& operand : expression.operands) {
    if (operand) read(*operand, block);
  }
  for (const auto& argument : expression.named) read(*argument.second, block);
}

void assign(const Target& target, Block& block, bool as_parameter) {
  for (const Target& part : target.parts) assign(part, block, as_parameter);
  if (target.is_tuple) return;
  if (!target.member.empty()) {
    block.load(target.name);
  } else if (as_parameter) {
    block.parameter(target.name);
  } else {
    block.store(target.name);
  }
}

void visit(const Body& body, Block& block);

// What runs in the block itself, whose blocks inside are left for later.
void visit(const Statement& statement, Block& block) {
  switch (statement.kind) {
    case StatementKind::kIf: {
      // Each branch starts from here; what only a branch assigns is looked up as usual.
      std::set<std::string> known = block.known;
      for (std::size_t i = 0; i < statement.bodies.size(); ++i) {
        if (i == 0) read(*statement.expressions[0], block);
        Block branch = block;
        if (i > 0 && i < statement.expressions.size()) read(*statement.expressions[i], branch);
        visit(statement.bodies[i], branch);
        known.insert(branch.known.begin(), branch.known.end());
        block.stored.insert(branch.stored.begin(), branch.stored.end());
      }
      block.known.insert(known.begin(), known.end());
      break;
    }
    case StatementKind::kSet:
      read(*statement.expressions[0], block);
      assign(statement.targets[0], block, false);
      break;
    case StatementKind::kSetBlock:
      assign(statement.targets[0], block, false);
      break;
    case StatementKind::kFor:
      read(*statement.expressions[0], block);
      break;
    case StatementKind::kMacro:
      block.store(statement.macro->name);
      break;
    default:  // output, call, filter and with: what they read
      for (const auto& expression : statement.expressions) read(*expression, block);
      break;
  }
}

void visit(const Body& body, Block& block) {
  for (const auto& statement : body.statements) visit(*statement, block);
}

void finish(Body& body, Block& block);

void finish_inside(Body& body, const Block& around, const std::vector<Target>& parameters = {}) {
  Block block{&around, {}, {}, {}};
  for (const Target& target : parameters) assign(target, block, true);
  finish(body, block);
}

void finish_macro(Macro& macro, const Block& around) {
  Block block{&around, {}, {}, {}};
  for (const std::string& name : macro.parameters) block.parameter(name);
  if (macro.uses_caller) block.parameter("caller");
  if (macro.uses_kwargs) block.parameter("kwargs");
  if (macro.uses_varargs) block.parameter("varargs");
  for (const auto& value : macro.defaults) read(*value, block);
  finish(macro.body, block);
}

// The blocks inside, once all of this one's names are known.
void finish_blocks(Body& body, const Block& block) {
  for (auto& statement : body.statements) {
    if (statement->macro) finish_macro(*statement->macro, block);
    if (statement->kind == StatementKind::kIf) {
      for (Body& branch : statement->bodies) finish_blocks(branch, block);
    } else if (statement->kind == StatementKind::kFor) {
      std::vector<Target> parameters = {statement->targets[0]};
      parameters.push_back(Target{statement->line, "loop", "", {}, false});
      finish_inside(statement->bodies[0], block, parameters);
      if (statement->bodies.size() > 1) finish_inside(statement->bodies[1], block);
    } else {
      const bool is_with = statement->kind == StatementKind::kWith;
      for (Body& inside : statement->bodies) {
        finish_inside(inside, block, is_with ? statement->targets : std::vector<Target>());
      }
    }
  }
}

void finish(Body& body, Block& block) {
  visit(body, block);
  body.hidden.assign(block.hidden.begin(), block.hidden.end());
  finish_blocks(body, block);
}

}  // namespace

void find_hidden_names(Body& whole) {
  Block root;
  finish(whole, root);
}

}  // namespace octlm::model::jinja
