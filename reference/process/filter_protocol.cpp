#include "reference/process/filter_protocol.h"

#include <nlohmann/json.hpp>

#include "reference/process/program_text.h"
#include "reference/strict_json.h"

namespace octlm::reference {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 100;

std::vector<std::string> read_list(const json& object, const char* key, const std::string& where) {
  std::vector<std::string> names;
  if (object.at(key).is_array()) {
    for (const json& name : object.at(key)) {
      if (name.is_string()) names.push_back(name.get<std::string>());
    }
  }
  if (names.empty() || names.size() != object.at(key).size()) {
    throw std::runtime_error(where + ": \"" + key + "\" is not a list of names");
  }
  return names;
}

std::string read_name(const json& object, const char* key, const std::string& where) {
  const std::string name = string_at(object, key, where);
  if (name.empty() || name.size() > kLongestName) {
    throw std::runtime_error(where + ": \"" + key + "\" has " + std::to_string(name.size()) +
                             " bytes, expected 1 to " + std::to_string(kLongestName));
  }
  return name;
}

bool read_flag(const json& object, const char* key, const std::string& where) {
  if (!object.at(key).is_boolean()) {
    throw std::runtime_error(where + ": \"" + key + "\" is not true or false");
  }
  return object.at(key).get<bool>();
}

// Calls must cover what was asked for in order. On the path `full` a program may take a long prompt
// in pieces, as long as it says so; on the others the split is what is asked for.
std::vector<ForwardCall> read_calls(const json& value, const Asked& asked,
                                    const std::string& where) {
  std::vector<ForwardCall> calls;
  std::int64_t next = asked.first_position;
  const std::int64_t end = asked.first_position + asked.positions;
  bool good = value.is_array();
  for (const json& call : good ? value : json::array()) {
    good = good && call.is_array() && call.size() == 2;
    if (!good) break;
    calls.push_back({to_count(call[0], where), to_count(call[1], where)});
    good = calls.back().first_position == next && calls.back().positions >= 1 &&
           calls.back().positions <= end - next;
    if (!good) break;
    next += calls.back().positions;
  }
  good = good && next == end && (!asked.calls || calls == *asked.calls);
  if (!good) {
    throw std::runtime_error(where + ": its \"calls\" are not those of " + asked.how + " for " +
                             std::to_string(asked.positions) + " positions");
  }
  return calls;
}

}  // namespace

Greeting read_greeting(const std::string& line) {
  const std::string where = "its first line " + excerpt(line) + ", where its capabilities belong";
  const json object = parse_object(line, where);
  if (object.contains("session")) {
    check_keys(object, {"name", "version", "dtypes", "devices", "paths", "session"}, where);
  } else {
    check_keys(object, {"name", "version", "dtypes", "devices", "paths"}, where);
  }
  Greeting greeting;
  greeting.line = line;
  greeting.name = read_name(object, "name", where);
  greeting.version = read_name(object, "version", where);
  greeting.capabilities.dtypes = read_list(object, "dtypes", where);
  greeting.capabilities.devices = read_list(object, "devices", where);
  greeting.capabilities.paths = read_list(object, "paths", where);
  greeting.session = object.contains("session") && read_flag(object, "session", where);
  for (const std::string& path : greeting.capabilities.paths) {
    if (path != "full" && path != "cached:half" && path != "cached:every" && path != "chunked") {
      throw std::runtime_error(where + ": the path " + excerpt(path) +
                               " is not one of full, cached:half, cached:every, chunked");
    }
  }
  // Without a cached path there is nothing to append to.
  greeting.capabilities.append =
      greeting.session && greeting.capabilities.paths != std::vector<std::string>{"full"};
  return greeting;
}

void check_greeting(const std::string& line, const Greeting& asked_first) {
  if (line == asked_first.line) return;
  throw std::runtime_error("its first line is " + excerpt(line) + ", and was " +
                           excerpt(asked_first.line) + " when it was first asked");
}

void check_ready(const std::string& line) {
  const std::string where =
      "its second line " + excerpt(line) + ", where {\"ready\": true} belongs";
  const json object = parse_object(line, where);
  check_keys(object, {"ready"}, where);
  if (object.at("ready") != true) throw std::runtime_error(where);
}

Answer read_answer(const std::string& line, const Asked& asked) {
  const std::string where = "its answer " + excerpt(line);
  const json object = parse_object(line, where);
  if (object.contains("error") && object.at("error").is_string()) {
    throw RefusedError("it refuses the request: " +
                       printable(object.at("error").get<std::string>()));
  }
  if (object.contains("calls")) {
    check_keys(object, {"name", "shape", "calls"}, where);
  } else {
    check_keys(object, {"name", "shape"}, where);
  }
  if (object.at("name") != "logits.0")
    throw std::runtime_error(where + ": expected the name \"logits.0\"");
  const json& shape = object.at("shape");
  const bool two = shape.is_array() && shape.size() == 2;
  const std::int64_t width = two ? to_count(shape[1], where) : 0;
  if (!two || to_count(shape[0], where) != asked.rows || width < 1 ||
      (asked.vocab > 0 && width != asked.vocab)) {
    throw std::runtime_error(where + ": expected the shape [" + std::to_string(asked.rows) + ", " +
                             (asked.vocab > 0 ? std::to_string(asked.vocab) : "vocab") + "]");
  }
  return {width, object.contains("calls") ? read_calls(object.at("calls"), asked, where)
                                          : std::vector<ForwardCall>{}};
}

}  // namespace octlm::reference
