#include "experiments/commands/repeat_command.h"

#include <filesystem>
#include <vector>

#include "experiments/commands/run_arguments.h"
#include "experiments/engines/local_environment.h"
#include "formats/shell_words.h"
#include "verify/lenient_json.h"

namespace octlm::experiments {
namespace {

using Json = nlohmann::json;

std::vector<std::string> texts(const Json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return texts;
  for (const Json& one : list) {
    if (one.is_string()) texts.push_back(verify::string_of(one));
  }
  return texts;
}

// NAME='DIR WITH SPACES'
std::string model_text(const std::string& model) {
  const std::size_t at = model.find('=');
  if (at == std::string::npos) return formats::shell_quoted(model);
  return formats::shell_quoted(model.substr(0, at)) + "=" +
         formats::shell_quoted(model.substr(at + 1));
}

bool is_registered(const verify::Repeat& what) {
  return what.spec_file.empty() || what.spec_file.starts_with("experiments/registered/");
}

std::string selection(const verify::Repeat& what) {
  if (what.experiment.empty()) {
    std::string text;
    for (const std::string& one : texts(verify::member(what.request, "selection"))) {
      text += " " + formats::shell_file(one);
    }
    return text;
  }
  if (is_registered(what)) return " " + formats::shell_quoted(what.experiment);
  // Relative to the checkout, in which the command may not be typed.
  const std::filesystem::path file = checkout_root() / what.spec_file;
  return " " + formats::shell_file(file.string());
}

}  // namespace

std::string repeat_text(const verify::Repeat& what) {
  const Json& request = what.request;
  if (!request.is_object()) return "";
  const RunArguments plain;  // what is so by itself is left out
  const auto text = [&](const char* name) {
    return verify::string_of(verify::member(request, name));
  };
  std::string command = "./octlm run" + selection(what);
  for (const std::string& model : texts(verify::member(request, "models"))) {
    command += " --model " + model_text(model);
  }
  std::vector<std::string> devices = texts(verify::member(request, "devices"));
  if (!what.device.empty()) devices = {what.device};
  for (const std::string& device : devices) command += " --device " + formats::shell_quoted(device);
  const std::string subject = text("subject"), reference = text("reference");
  const bool foreign = !subject.empty() && subject != plain.subject;
  if (foreign) command += " --subject " + formats::shell_quoted(subject);
  const auto timeout = verify::number_of(verify::member(request, "subject_timeout_s"));
  if (foreign && timeout && *timeout != plain.subject_timeout_s) {
    command += " --subject-timeout " + Json(*timeout).dump();
  }
  if (!reference.empty() && reference != plain.reference) {
    command += " --reference " + formats::shell_quoted(reference);
  }
  if (what.experiment.empty()) {
    std::string absent;
    for (const std::string& one : texts(verify::member(request, "require"))) {
      absent += (absent.empty() ? "" : ",") + one;
    }
    if (!absent.empty()) command += " --require " + formats::shell_quoted(absent);
  }
  const std::string directory = text("directory");
  if (foreign && !directory.empty() && directory != checkout_root().string()) {
    const std::string launcher = (checkout_root() / "octlm").string();
    return "cd " + formats::shell_file(directory) + " && " + formats::shell_quoted(launcher) +
           command.substr(std::string("./octlm").size());
  }
  return command;
}

}  // namespace octlm::experiments
