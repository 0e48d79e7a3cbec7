#include "model/chat_template/builtins/globals.h"

#include <array>

#include "model/chat_template/builtins/arguments.h"
#include "model/chat_template/values/comparison.h"
#include "model/chat_template/values/printed.h"

namespace octlm::model::jinja {
namespace {

constexpr std::int64_t kMaxRange = 100'000;  // as Jinja's sandbox

Value range(Runtime& runtime, const Arguments& arguments) {
  const auto bound = bind("range", arguments, {"/start", "/stop", "/step"});
  if (!bound[0]) throw TemplateError("range: needs an argument");
  std::int64_t start = bound[1] ? integer_of("range", *bound[0]) : 0;
  const std::int64_t stop = integer_of("range", bound[1] ? *bound[1] : *bound[0]);
  const std::int64_t step = bound[2] ? integer_of("range", *bound[2]) : 1;
  if (step == 0) throw TemplateError("range: the step must not be zero");
  std::vector<Value> items;
  while (step > 0 ? start < stop : start > stop) {
    if (std::ssize(items) == kMaxRange) {
      throw LimitError("a range of more than " + std::to_string(kMaxRange) + " items");
    }
    items.push_back(Value::integer(start, Origin::kTemplate));
    if (__builtin_add_overflow(start, step, &start)) break;
  }
  return runtime.sequence(SequenceKind::kRange, std::move(items));
}

// dict(mapping, name=value, ...), dict of a list of pairs.
std::vector<std::pair<Value, Value>> entries_of(Runtime& runtime, std::string_view function,
                                                const Arguments& arguments) {
  if (arguments.positional.size() > 1)
    throw TemplateError(std::string(function) + ": takes one positional argument");
  std::vector<std::pair<Value, Value>> entries;
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (from.dict()) {
      entries = from.dict()->entries;
    } else {
      for (const Value& pair : items_of(runtime, from)) {
        const auto both = items_of(runtime, pair);
        if (both.size() != 2) throw TemplateError(std::string(function) + ": needs pairs");
        entries.emplace_back(both[0], both[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named)
    entries.emplace_back(Value::literal(name), value);
  return entries;
}

Value dict(Runtime& runtime, const Arguments& arguments) {
  return runtime.dict(entries_of(runtime, "dict", arguments));
}

Value new_namespace(Runtime& runtime, const Arguments& arguments) {
  const Value made = runtime.dict(entries_of(runtime, "namespace", arguments));
  std::vector<std::pair<std::string, Value>> members;
  for (const auto& [key, value] : made.dict()->entries) {
    if (key.string()) members.emplace_back(key.string()->text(), value);
  }
  return runtime.new_namespace(std::move(members));
}

Value raise_exception(Runtime& runtime, const Arguments& arguments) {
  const auto bound = bind("raise_exception", arguments, {"message"});
  if (!bound[0]) throw TemplateError("raise_exception: needs a message");
  throw TemplateError(str(runtime, *bound[0]).text());
}

// datetime.now().strftime(format). The clock is nobody's text: what it gives is data.
Value strftime_now(Runtime& runtime, const Arguments& arguments) {
  const auto bound = bind("strftime_now", arguments, {"format"});
  if (!bound[0]) throw TemplateError("strftime_now: needs a format");
  const std::string& format = string_of("strftime_now", *bound[0]).text();
  runtime.budget.bytes(64 * format.size());
  std::string known;
  for (std::size_t i = 0; i < format.size(); ++i) {
    known.push_back(format[i]);
    if (format[i] != '%') continue;
    if (++i == format.size()) throw UnsupportedError("strftime: a format that ends in '%'");
    if (format[i] == '-' && i + 1 < format.size()) known.push_back(format[i++]);
    static constexpr std::string_view kCodes = "aAbBdeHIjmMpSuUwWyYcxXDFTRGV%n";
    if (kCodes.find(format[i]) == std::string_view::npos) {
      throw UnsupportedError(std::string("strftime: '%") + format[i] + "'");
    }
    known.push_back(format[i]);
  }
  if (known.empty()) return Value::literal("");
  const std::tm now = runtime.now();
  std::vector<char> buffer(64 * known.size() + 1);
  const std::size_t size = std::strftime(buffer.data(), buffer.size(), known.c_str(), &now);
  TextBuilder out(runtime);
  out.append(std::string_view(buffer.data(), size), Origin::kUser);
  return Value::string(out.take());
}

}  // namespace

std::optional<Value> global(Runtime& runtime, std::string_view name) {
  using Function = Value (*)(Runtime&, const Arguments&);
  struct Entry {
    std::string_view name;
    Function function;  // nullptr: Jinja has it, this does not
  };
  static constexpr std::array<Entry, 8> kGlobals = {{{"range", range},
                                                     {"dict", dict},
                                                     {"namespace", new_namespace},
                                                     {"raise_exception", raise_exception},
                                                     {"strftime_now", strftime_now},
                                                     {"lipsum", nullptr},
                                                     {"cycler", nullptr},
                                                     {"joiner", nullptr}}};
  for (const Entry& entry : kGlobals) {
    if (entry.name != name) continue;
    if (!entry.function) throw UnsupportedError("'" + std::string(name) + "'");
    return runtime.function(std::string(name),
                            [&runtime, function = entry.function](Arguments& arguments) {
                              return function(runtime, arguments);
                            });
  }
  return std::nullopt;
}

}  // namespace octlm::model::jinja
