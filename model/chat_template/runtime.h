// The state of one rendering, and how values are made in it: each is charged to the budget.
#pragma once

#include <algorithm>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/chat_template/budget.h"
#include "model/chat_template/values/value.h"

namespace octlm::model::jinja {

struct Scope;

class Runtime {
 public:
  Runtime(const Limits& limits, std::function<std::tm()> clock)
      : budget(limits), now(std::move(clock)) {}
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Budget budget;
  std::function<std::tm()> now;  // for strftime_now

  // A namespace and a macro's scope can hold themselves: they are kept here and emptied at the end.
  Value new_namespace(std::vector<std::pair<std::string, Value>> members);
  void keep(std::shared_ptr<Scope> scope);
  void at_end(std::function<void()> cleanup);

  Value sequence(SequenceKind kind, std::vector<Value> items, Origin origin = Origin::kUser);
  Value list(std::vector<Value> items, Origin origin = Origin::kUser) {
    return sequence(SequenceKind::kList, std::move(items), origin);
  }
  Value iterator(std::vector<Value> items) {
    return sequence(SequenceKind::kIterator, std::move(items));
  }
  // Later entries replace earlier ones of an equal key, in their place. Keys must be hashable.
  Value dict(std::vector<std::pair<Value, Value>> entries, Origin origin = Origin::kUser);
  Value function(std::string name, std::function<Value(Arguments&)> call, int depth = 0);

 private:
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  std::vector<std::shared_ptr<Scope>> scopes_;
  std::vector<std::function<void()>> cleanups_;
};

// Variables of one block. Blocks see those around them.
struct Scope {
  std::vector<std::pair<std::string, Value>> variables;
  std::shared_ptr<Scope> outer;

  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

// What a short string takes beside its bytes, about.
inline constexpr std::size_t kTextOverhead = 128;

// Joins pieces, each with its origin.
class TextBuilder {
 public:
  explicit TextBuilder(Runtime& runtime) : runtime_(runtime) {
    runtime.budget.bytes(kTextOverhead);
  }

  void append(std::string_view bytes, Origin origin) {
    charge(bytes.size());
    text_.append(bytes, origin);
  }
  void append(const Text& text) {
    charge(text.text().size());
    text_.append(text);
  }
  // Bytes [begin, end) of text.
  void append(const Text& text, std::size_t begin, std::size_t end);

  std::size_t size() const { return text_.text().size(); }
  Text take() { return std::move(text_); }

 private:
  void charge(std::size_t size) {
    runtime_.budget.bytes(size);
    runtime_.budget.string_size(text_.text().size() + size);
  }

  Runtime& runtime_;
  Text text_;
};

Text slice(Runtime& runtime, const Text& text, std::size_t begin, std::size_t end);

// Calls visit(piece, origin) for the runs of bytes [begin, end).
template <typename Visit>
void for_each_run(const Text& text, std::size_t begin, std::size_t end, Visit visit) {
  const auto& runs = text.runs();
  auto run = std::upper_bound(runs.begin(), runs.end(), begin,
                              [](std::size_t at, const Text::Run& r) { return at < r.end; });
  for (; begin < end && run != runs.end(); ++run) {
    const std::size_t stop = std::min(end, run->end);
    visit(std::string_view(text.text()).substr(begin, stop - begin), run->origin);
    begin = stop;
  }
}

}  // namespace octlm::model::jinja
