// config.json, one table row per field. The meaning of the fields, and what Transformers assumes
// for absent ones, were read in Transformers 4.57.6: configuration_utils.py, modeling_rope_utils.py
// and the configuration files of the two model types.
#include "model/config.h"

#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "model/architectures/architecture.h"
#include "model/checkpoint_json.h"
#include "model/config_fields.h"

namespace octlm::model {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 24;

// Fields that mean the same in every architecture.
std::vector<FieldRule> common_fields() {
  using enum FieldRule::Kind;
  std::vector<FieldRule> rules = {
      {"architectures", kHonoured, "", ""},
      {"model_type", kHonoured, "", ""},
      {"hidden_size", kHonoured, "", ""},
      {"num_hidden_layers", kHonoured, "", ""},
      {"num_attention_heads", kHonoured, "", ""},
      {"num_key_value_heads", kHonoured, "", ""},
      {"head_dim", kHonoured, "", ""},
      {"intermediate_size", kHonoured, "", ""},
      {"vocab_size", kHonoured, "", ""},
      {"max_position_embeddings", kHonoured, "", ""},
      {"rms_norm_eps", kHonoured, "", ""},
      {"rope_theta", kHonoured, "", ""},
      {"rope_scaling", kHonoured, "", ""},
      {"rope_parameters", kHonoured, "", ""},
      {"tie_word_embeddings", kHonoured, "", ""},

      // "swish" is another name of the same function in Transformers' ACT2FN.
      {"hidden_act", kOnly, "the MLP is a SwiGLU", R"(["silu", "swish"])"},
      {"attention_bias", kOnly, "biases in attention are not implemented", "[false, null]"},
      {"pretraining_tp", kOnly, "sliced matrix products are not implemented", "[1, null]"},
      {"partial_rotary_factor", kOnly, "RoPE covers the whole head", "[1, null]"},
      {"quantization_config", kOnly, "weights are read as BF16, F16 or F32", "[null]"},
      {"compression_config", kOnly, "weights are read as BF16, F16 or F32", "[null]"},
      {"auto_map", kOnly, "code from a checkpoint is never run", "[null, {}]"},
      {"pruned_heads", kOnly, "pruned heads are not implemented", "[null, {}]"},
      {"is_encoder_decoder", kOnly, "decoders only", "[false, null]"},
      {"tie_encoder_decoder", kOnly, "decoders only", "[false, null]"},
      {"add_cross_attention", kOnly, "decoders only", "[false, null]"},
      {"cross_attention_hidden_size", kOnly, "decoders only", "[null]"},
      // DynamicCache takes it for a window.
      {"attention_chunk_size", kOnly, "attention in chunks is not implemented", "[null]"},
      {"torchscript", kOnly, "Transformers then unties the head and draws it at random",
       "[false, null]"},
      {"transformers_weights", kOnly, "the weights are in model.safetensors or its shards",
       "[null]"},
      {"problem_type", kOnly, "Transformers reads no other",
       R"([null, "regression", "single_label_classification", "multi_label_classification"])"},

      {"attention_dropout", kWithoutEffect, "training only", ""},
      {"attn_pdrop", kWithoutEffect, "training only", ""},
      {"embd_pdrop", kWithoutEffect, "training only", ""},
      {"resid_pdrop", kWithoutEffect, "training only", ""},
      {"hidden_dropout", kWithoutEffect, "training only", ""},
      {"neftune_noise_alpha", kWithoutEffect, "training only", ""},
      {"initializer_range", kWithoutEffect, "training only", ""},
      {"gradient_checkpointing", kWithoutEffect, "training only", ""},
      {"torch_dtype", kWithoutEffect,
       "the stored dtype is in the weights' file, the compute dtype "
       "is the caller's",
       ""},
      {"dtype", kWithoutEffect, "torch_dtype's later name", ""},
      {"use_cache", kWithoutEffect, "the caller decides", ""},
      {"bos_token_id", kWithoutEffect, "text, not logits", ""},
      {"eos_token_id", kWithoutEffect, "text, not logits", ""},
      {"pad_token_id", kWithoutEffect, "stops gradients of that row, nothing else", ""},
      {"chunk_size_feed_forward", kWithoutEffect, "not used by these models", ""},
      {"is_decoder", kWithoutEffect, "not used by these models", ""},
  };
  // What saving adds or a tool signs with; Transformers keeps it as attributes that these models'
  // code never reads.
  for (const std::string_view name : {"transformers_version",
                                      "transformers.js_config",
                                      "_name_or_path",
                                      "name_or_path",
                                      "_commit_hash",
                                      "_attn_implementation",
                                      "_attn_implementation_autoset",
                                      "attn_implementation",
                                      "_flash_attn_2_enabled",
                                      "max_sequence_length",
                                      "output_past",
                                      "xla_device",
                                      "unsloth_version",
                                      "unsloth_fixed",
                                      "output_attentions",
                                      "output_hidden_states",
                                      "return_dict",
                                      "tf_legacy_loss",
                                      "use_bfloat16",
                                      "tokenizer_class",
                                      "prefix",
                                      "sep_token_id",
                                      "decoder_start_token_id",
                                      "finetuning_task",
                                      "task_specific_params",
                                      "id2label",
                                      "label2id",
                                      "num_labels"}) {
    rules.push_back({name, kWithoutEffect, "bookkeeping", ""});
  }
  // Generation settings that older versions saved here (PretrainedConfig's global generation
  // defaults): they choose among logits, they do not change them.
  for (const std::string_view name : {"max_length",
                                      "min_length",
                                      "max_new_tokens",
                                      "min_new_tokens",
                                      "do_sample",
                                      "early_stopping",
                                      "num_beams",
                                      "num_beam_groups",
                                      "diversity_penalty",
                                      "temperature",
                                      "top_k",
                                      "top_p",
                                      "min_p",
                                      "typical_p",
                                      "epsilon_cutoff",
                                      "eta_cutoff",
                                      "penalty_alpha",
                                      "renormalize_logits",
                                      "repetition_penalty",
                                      "length_penalty",
                                      "no_repeat_ngram_size",
                                      "encoder_no_repeat_ngram_size",
                                      "bad_words_ids",
                                      "num_return_sequences",
                                      "output_scores",
                                      "return_dict_in_generate",
                                      "forced_bos_token_id",
                                      "forced_eos_token_id",
                                      "remove_invalid_values",
                                      "exponential_decay_length_penalty",
                                      "suppress_tokens",
                                      "begin_suppress_tokens"}) {
    rules.push_back({name, kWithoutEffect, "generation", ""});
  }
  return rules;
}

const Architecture& find_architecture(const Json& root, const std::string& where) {
  std::string names;
  for (const Architecture& architecture : architectures()) {
    names += (names.empty() ? "" : ", ") + std::string(architecture.name);
  }
  const auto listed = root.find("architectures");
  if (listed == root.end()) {
    refuse(where, "missing field 'architectures'; supported: one of " + names);
  }
  if (listed->is_array() && listed->size() == 1 && listed->front().is_string()) {
    for (const Architecture& architecture : architectures()) {
      // A base model's save names its own class; the head is then the tied embedding, or lacking.
      if (listed->front() != architecture.name && listed->front() != architecture.base_name) {
        continue;
      }
      const auto type = root.find("model_type");
      if (type == root.end() || *type != architecture.model_type) {
        refuse(where, "field 'model_type': found " +
                          (type == root.end() ? "nothing" : as_found(*type)) + ", supported: \"" +
                          architecture.model_type + "\" for " + architecture.name);
      }
      return architecture;
    }
  }
  refuse(where, "field 'architectures': found " + as_found(*listed) +
                    ", supported: a list of one of " + names);
}

// What one of the two RoPE objects says.
struct RopeObject {
  RopeScaling scaling;
  std::optional<double> rope_theta;
  bool says_kind = false;
};

std::vector<FieldRule> rope_fields() {
  using enum FieldRule::Kind;
  return {
      {"rope_type", kHonoured, "", ""},
      {"type", kHonoured, "", ""},  // rope_type's older name
      {"rope_theta", kHonoured, "", ""},
      {"factor", kHonoured, "", ""},
      {"low_freq_factor", kHonoured, "", ""},
      {"high_freq_factor", kHonoured, "", ""},
      {"original_max_position_embeddings", kHonoured, "", ""},
      {"partial_rotary_factor", kOnly, "RoPE covers the whole head", "[1, null]"},
  };
}

std::string rope_kind(const ConfigFields& fields) {
  constexpr std::string_view kSupported = "\"default\", \"llama3\"";
  std::string kind;
  for (const char* name : {"rope_type", "type"}) {
    if (!fields.has(name)) continue;
    const std::string found = fields.text(name);
    if (found != "default" && found != "llama3") fields.refuse_field(name, std::string(kSupported));
    if (!kind.empty() && kind != found) {
      fields.refuse_whole("fields '" + fields.full_name("rope_type") + "' and '" +
                          fields.full_name("type") + "' disagree: " + in_quotes(kind) + " and " +
                          in_quotes(found) + "; remove the wrong one");
    }
    kind = found;
  }
  return kind;
}

// Llama 3's frequency bands. Transformers only warns of values that make no sense; here they are
// refused.
RopeScaling read_llama3(const ConfigFields& fields) {
  RopeScaling scaling;
  scaling.kind = RopeScaling::Kind::kLlama3;
  scaling.factor = fields.positive_number("factor");
  if (scaling.factor < 1.0) fields.refuse_field("factor", "a number >= 1");
  scaling.low_freq_factor = fields.positive_number("low_freq_factor");
  scaling.high_freq_factor = fields.positive_number("high_freq_factor");
  if (!(scaling.high_freq_factor > scaling.low_freq_factor)) {
    fields.refuse_field("high_freq_factor", "a number above low_freq_factor");
  }
  scaling.original_max_position_embeddings =
      fields.integer("original_max_position_embeddings", 1, kMaxPositions);
  return scaling;
}

RopeObject read_rope_object(const Json& object, const std::string& where, const std::string& name) {
  if (object.is_null()) return {};
  if (!object.is_object()) {
    refuse(where,
           "field '" + name + "': found " + as_found(object) + ", supported: null or an object");
  }
  // The kind first: the other kinds' fields are then not called unknown but of an unsupported kind.
  std::vector<FieldRule> kind_rules = rope_fields();
  Json kind_only = Json::object();
  for (const char* key : {"rope_type", "type"}) {
    if (object.contains(key)) kind_only[key] = object[key];
  }
  const std::string kind =
      rope_kind(ConfigFields(kind_only, where, name + ".", std::move(kind_rules)));
  const ConfigFields fields(object, where, name + ".", rope_fields());

  RopeObject result;
  result.says_kind = !kind.empty();
  if (fields.has("rope_theta")) result.rope_theta = fields.positive_number("rope_theta");
  if (kind == "llama3") {
    result.scaling = read_llama3(fields);
    return result;
  }
  for (const char* key :
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    if (fields.has(key)) {
      fields.refuse_field(key, kind.empty() ? "nothing without a rope_type; add the rope_type"
                                            : "nothing for rope_type \"default\"");
    }
  }
  return result;
}

// RoPE's settings have lived in three places: rope_theta at the top with rope_scaling beside it,
// both in rope_parameters (Transformers 5), or a mixture. All are read; where two speak they must
// agree (deepspeedai/DeepSpeed#8345, THUDM/slime#1720).
void read_rope(const Json& root, const ConfigFields& fields, Config& config) {
  std::optional<double> theta;
  const auto agree = [&](double found, const std::string& name) {
    if (theta.has_value() && *theta != found) {
      fields.refuse_whole("field '" + name + "': found " + as_found(Json(found)) +
                          ", but another place says " + as_found(Json(*theta)) +
                          "; remove the wrong one");
    }
    theta = found;
  };
  if (fields.has("rope_theta")) agree(fields.positive_number("rope_theta"), "rope_theta");

  bool kind_said = false;
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    if (!fields.present(name)) continue;
    const RopeObject object = read_rope_object(root[name], fields.where(), name);
    if (object.rope_theta) agree(*object.rope_theta, std::string(name) + ".rope_theta");
    if (!object.says_kind) continue;
    if (kind_said && !(object.scaling == config.rope_scaling)) {
      fields.refuse_whole(
          "fields 'rope_scaling' and 'rope_parameters' disagree; remove the wrong one");
    }
    config.rope_scaling = object.scaling;
    kind_said = true;
  }
  if (!theta) {
    fields.refuse_whole(
        "missing field 'rope_theta' (or 'rope_parameters.rope_theta'); octlm assumes no default "
        "for it");
  }
  config.rope_theta = *theta;
}

void check_heads(const ConfigFields& fields, const Config& config) {
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    fields.refuse_field(
        "num_key_value_heads",
        "a divisor of num_attention_heads (" + std::to_string(config.num_attention_heads) + ")");
  }
  if (config.head_dim % 2 != 0) {
    fields.refuse_field("head_dim", "an even number, since RoPE rotates pairs");
  }
  if (config.attention_width() > kMaxWidth) {
    fields.refuse_field("num_attention_heads",
                        "num_attention_heads x head_dim up to " + std::to_string(kMaxWidth));
  }
}

}  // namespace

std::int64_t derived_head_dim(const ConfigFields& fields, const Config& config) {
  if (config.hidden_size % (2 * config.num_attention_heads) != 0) {
    fields.refuse_field("hidden_size",
                        "without head_dim, an even multiple of num_attention_heads (" +
                            std::to_string(config.num_attention_heads) + ")");
  }
  return config.hidden_size / config.num_attention_heads;
}

void check_full_attention_layers(const ConfigFields& fields, const Config& config) {
  if (!fields.has("layer_types")) return;
  const Json& types = fields.value("layer_types");
  if (!types.is_array() || types.size() != static_cast<std::size_t>(config.num_hidden_layers)) {
    fields.refuse_field("layer_types",
                        "null, or a list of num_hidden_layers entries, each \"full_attention\"");
  }
  for (const Json& type : types) {
    if (type != "full_attention") {
      fields.refuse_field("layer_types", "\"full_attention\" in every layer");
    }
  }
}

std::int64_t Config::cache_bytes_per_token(DType dtype) const {
  return num_hidden_layers * 2 * key_value_width() * static_cast<std::int64_t>(dtype_bytes(dtype));
}

Config parse_config(const std::string& json, const std::string& where) {
  const Json root = parse_checkpoint_json(json, where);
  if (!root.is_object()) refuse(where, "expected a JSON object, found " + as_found(root));
  const Architecture& architecture = find_architecture(root, where);

  std::vector<FieldRule> rules = common_fields();
  const std::vector<FieldRule> own_rules = architecture.fields();
  rules.insert(rules.end(), own_rules.begin(), own_rules.end());
  const ConfigFields fields(root, where, "", std::move(rules));

  Config config;
  config.architecture = architecture.name;
  config.model_type = architecture.model_type;
  config.qk_norm = architecture.qk_norm;
  config.hidden_size = fields.integer("hidden_size", 1, kMaxWidth);
  config.num_hidden_layers = fields.integer("num_hidden_layers", 1, kMaxLayers);
  config.num_attention_heads = fields.integer("num_attention_heads", 1, kMaxWidth);
  config.intermediate_size = fields.integer("intermediate_size", 1, kMaxIntermediate);
  config.vocab_size = fields.integer("vocab_size", 1, kMaxVocab);
  config.max_position_embeddings = fields.integer("max_position_embeddings", 1, kMaxPositions);
  config.rms_norm_eps = fields.positive_number("rms_norm_eps");
  if (config.rms_norm_eps >= 1.0) fields.refuse_field("rms_norm_eps", "a number below 1");
  config.tie_word_embeddings = fields.boolean("tie_word_embeddings");
  fields.value("hidden_act");  // required: the value itself is checked by the table
  read_rope(root, fields, config);
  architecture.read(fields, config);
  check_heads(fields, config);
  return config;
}

Config read_config(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  return parse_config(formats::read_file(path, kMaxConfigBytes), path.string());
}

}  // namespace octlm::model
