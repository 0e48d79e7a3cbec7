#include "experiments/kinds/spec_parts.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace octlm::experiments {
namespace {

using formats::ObjectReader;
using formats::Reader;

bool is_hex(const std::string& text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string read_sha256(const Reader& reader) {
  const std::string text = reader.string();
  const std::string prefix = "sha256:";
  if (!text.starts_with(prefix) || !is_hex(text.substr(prefix.size()), 64)) {
    reader.fail("expected \"sha256:\" and 64 lower-case hex digits");
  }
  return text.substr(prefix.size());
}

// A file in the checkpoint's folder, or below it.
bool stays_inside(const std::string& name) {
  const std::filesystem::path path = name;
  const bool printable =
      std::ranges::none_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  return printable && !name.empty() && path.is_relative() && path.has_filename() &&
         name.find('\\') == std::string::npos &&
         std::ranges::none_of(path, [](const auto& part) { return part == ".." || part == "."; });
}

void read_pinned(const Reader& files, std::map<std::string, std::string>& pinned) {
  files.object([&](ObjectReader& names) {
    for (const auto& [name, hash] : names.all()) {
      if (!stays_inside(name)) {
        hash.fail("not the name of a file in the checkpoint's folder: no \"..\", no absolute path");
      }
      pinned[name] = read_sha256(hash);
    }
  });
}

const std::vector<std::string> kDtypes = {"float32", "float64"};
const std::vector<std::string> kDevices = {"cpu", "cuda"};

void refuse_repetition(const Reader& reader, const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) reader.fail("\"" + name + "\" is listed twice");
  }
}

std::vector<std::string> read_names(const Reader& reader, const std::vector<std::string>& known) {
  std::vector<std::string> names;
  for (const Reader& item : reader.non_empty_array()) names.push_back(item.one_of(known));
  refuse_repetition(reader, names);
  return names;
}

std::vector<reference::Split> read_paths(const Reader& reader) {
  std::vector<reference::Split> paths;
  std::vector<std::string> texts;
  for (const Reader& item : reader.non_empty_array()) {
    paths.push_back(read_path(item));
    texts.push_back(paths.back().text());
  }
  refuse_repetition(reader, texts);
  return paths;
}

std::string one_chat(const Reader& name, const PromptFile& file,
                     const std::optional<bool>& thinking) {
  auto chats = read_chats(file.path);
  if (chats.size() != 1)
    name.fail("holds " + std::to_string(chats.size()) + " chats, and a case here is one sequence");
  if (thinking) return with_thinking(chats[0], *thinking, file.path.string());
  return std::move(chats[0]);
}

void read_chat(const Reader& name, ObjectReader& members, Prompts prompts, TokenCase& token_case) {
  token_case.file = read_prompt_file(name);
  std::optional<bool> thinking;
  if (const auto given = members.optional("thinking")) thinking = given->boolean();
  if (prompts == Prompts::kRead) token_case.chat = one_chat(name, *token_case.file, thinking);
}

TokenCase read_token_case(ObjectReader& members, Prompts prompts) {
  TokenCase token_case;
  token_case.name = members.required("name").non_empty_string();
  const auto chat = members.optional("chat");
  if (chat) read_chat(*chat, members, prompts, token_case);
  if (const auto text = members.optional("text")) {
    token_case.text = chat ? text->non_empty_string() : text->string();
  }
  if (const auto ids = members.optional("token_ids")) {
    token_case.token_ids = read_token_ids(*ids);
  } else if (!chat && token_case.text.empty()) {
    members.required("token_ids");
  }
  if (chat) return token_case;  // a chat is always native
  if (const auto mode = members.optional("mode")) {
    token_case.mode = mode->one_of({"literal", "native"});
    if (token_case.text.empty())
      mode->fail("says how \"text\" was tokenised, and there is no text");
  }
  return token_case;
}

}  // namespace

ModelReference read_model(const Reader& reader) {
  ModelReference model;
  reader.object([&](ObjectReader& members) {
    members.required("id", [&](const Reader& id) { model.id = id.non_empty_string(); });
    members.optional("revision", [&](const Reader& revision) {
      model.revision = revision.string();
      if (!is_hex(model.revision, 40))
        revision.fail("expected a full commit: 40 lower-case hex digits");
    });
    members.optional("files", [&](const Reader& files) { read_pinned(files, model.files); });
    if (!reader.raw().contains("revision") && model.id.find('/') != std::string::npos) {
      members.fail("\"" + model.id +
                   "\" is a hub id and needs its \"revision\": another day, other weights");
    }
  });
  return model;
}

std::vector<std::string> read_devices(const Reader& reader) { return read_names(reader, kDevices); }

reference::Split read_path(const Reader& reader) {
  try {
    return reference::Split::parse(reader.string());
  } catch (const std::invalid_argument& error) {
    reader.fail(error.what());
  }
}

SubjectPart read_subject(const Reader& reader, const std::vector<std::string>& engines) {
  SubjectPart subject;
  reader.object([&](ObjectReader& members) {
    members.required("engine", [&](const Reader& name) { subject.engine = name.one_of(engines); });
    members.required("dtype", [&](const Reader& name) { subject.dtype = name.one_of(kDtypes); });
    members.required("devices", [&](const Reader& list) { subject.devices = read_devices(list); });
    members.required("paths", [&](const Reader& list) { subject.paths = read_paths(list); });
  });
  return subject;
}

ReferencePart read_reference(const Reader& reader, const std::vector<std::string>& engines) {
  ReferencePart reference;
  reader.object([&](ObjectReader& members) {
    members.required("engine",
                     [&](const Reader& name) { reference.engine = name.one_of(engines); });
    members.required("attention", [&](const Reader& name) {
      reference.attention = name.one_of({"eager", "sdpa"});
    });
    members.required("dtype",
                     [&](const Reader& name) { reference.dtype = name.one_of({"float32"}); });
    members.required("tf32", [&](const Reader& on) { reference.tf32 = on.boolean(); });
  });
  return reference;
}

std::vector<std::int32_t> read_token_ids(const Reader& reader) {
  std::vector<std::int32_t> ids;
  for (const Reader& item : reader.non_empty_array()) {
    ids.push_back(
        static_cast<std::int32_t>(item.integer(0, std::numeric_limits<std::int32_t>::max())));
  }
  return ids;
}

std::vector<TokenCase> read_token_cases(const Reader& reader, Prompts prompts) {
  std::vector<TokenCase> cases;
  std::set<std::string> names;
  reader.each_of_non_empty([&](const Reader& item) {
    item.object([&](ObjectReader& members) {
      TokenCase token_case = read_token_case(members, prompts);
      if (!names.insert(token_case.name).second)
        members.required("name").fail("another case has this name");
      cases.push_back(std::move(token_case));
    });
  });
  return cases;
}

std::map<std::string, std::filesystem::path> files_of_token_cases(const verify::Spec& spec) {
  return files_of(read_token_cases(spec.part("cases"), Prompts::kNamed));
}

const std::vector<std::string>& fault_names() {
  static const std::vector<std::string> names = {"swap_k_v_proj",
                                                 "swap_gate_up_proj",
                                                 "swap_q_k_norm",
                                                 "swap_layer_norms",
                                                 "rope_interleaved",
                                                 "rope_sign",
                                                 "rope_theta_10000",
                                                 "rope_phase_bfloat16",
                                                 "rope_inverse_frequency_bfloat16",
                                                 "decode_position_plus_one",
                                                 "skip_q_norm",
                                                 "skip_k_norm",
                                                 "norm_after_rope",
                                                 "norm_weight_plus_one",
                                                 "norm_eps_1e-5",
                                                 "norm_eps_1e-6",
                                                 "attention_scale_hidden",
                                                 "kv_heads_tiled",
                                                 "mask_shifted",
                                                 "mask_absent",
                                                 "stale_kv_slot",
                                                 "shifted_kv_slot",
                                                 "cache_float16",
                                                 "cache_bfloat16",
                                                 "drop_layer",
                                                 "drop_residual",
                                                 "activation_gelu",
                                                 "untied_head",
                                                 "weight_tile_ulps",
                                                 "accumulate_bfloat16"};
  return names;
}

}  // namespace octlm::experiments
