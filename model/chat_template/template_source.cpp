#include "model/chat_template/template_source.h"

#include <algorithm>

#include "model/checkpoint_json.h"
#include "model/tokenizer/tokenizer_config.h"

namespace octlm::model {
namespace {

constexpr std::size_t kMaxTemplateBytes = 4u << 20;
constexpr std::size_t kMaxConfigBytes = 64u << 20;

void add_files(const std::filesystem::path& folder, std::vector<NamedTemplate>& templates) {
  const auto main_file = folder / "chat_template.jinja";
  if (std::filesystem::exists(main_file)) {
    templates.push_back(
        {"default", formats::read_file(main_file, kMaxTemplateBytes), main_file.string()});
  }
  const auto more = folder / "additional_chat_templates";
  if (!std::filesystem::is_directory(more)) return;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(more)) {
    if (entry.path().extension() == ".jinja") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    templates.push_back(
        {file.stem().string(), formats::read_file(file, kMaxTemplateBytes), file.string()});
  }
}

void add_from_config(const Json& config, const std::string& where,
                     std::vector<NamedTemplate>& templates) {
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return;
  const std::string place = where + ": chat_template";
  if (found->is_string()) {
    templates.push_back({"default", found->get<std::string>(), place});
    return;
  }
  if (!found->is_array())
    refuse(where, "chat_template must be a string or a list of {name, template}");
  for (const Json& one : *found) {
    const bool fits = one.is_object() && one.contains("name") && one["name"].is_string() &&
                      one.contains("template") && one["template"].is_string();
    if (!fits) refuse(where, "chat_template must be a string or a list of {name, template}");
    const auto name = one["name"].get<std::string>();
    // A later one of the same name replaces the earlier, as in the dict that Transformers makes.
    std::erase_if(templates, [&](const NamedTemplate& known) { return known.name == name; });
    templates.push_back({name, one["template"].get<std::string>(), place + " '" + name + "'"});
  }
}

Json read_object(const std::filesystem::path& file) {
  Json parsed = parse_checkpoint_json(formats::read_file(file, kMaxConfigBytes), file.string());
  if (!parsed.is_object()) refuse(file.string(), "expected an object");
  return parsed;
}

}  // namespace

TemplateSource find_template(const std::filesystem::path& folder) {
  TemplateSource source{{}, OrderedJson::object()};
  add_files(folder, source.templates);
  const auto config_file = folder / "tokenizer_config.json";
  if (source.templates.empty() && std::filesystem::exists(config_file)) {
    add_from_config(read_object(config_file), config_file.string(), source.templates);
  }
  if (const auto config = read_tokenizer_config(folder)) {
    for (const NamedSpecialToken& named : config->special_tokens) {
      OrderedJson contents = OrderedJson::array();
      for (const StatedToken& token : named.tokens) contents.push_back(token.content);
      if (named.is_list) {
        source.special_tokens[named.name] = std::move(contents);
      } else if (!named.tokens.front().content.empty()) {
        source.special_tokens[named.name] = std::move(contents[0]);
      }
    }
  }
  if (source.templates.empty()) {
    const bool has_json = std::filesystem::exists(folder / "chat_template.json");
    refuse(folder.string(),
           std::string("no chat template in chat_template.jinja or tokenizer_config.json") +
               (has_json ? " (chat_template.json is a processor's, not a tokenizer's)" : ""));
  }
  return source;
}

}  // namespace octlm::model
