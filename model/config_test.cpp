// config.json: a field is honoured, known to be without effect, or refused by name
// (known-fault kind 1: a config field ignored or silently defaulted).
#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "model/architectures/architecture.h"
#include "model/testing/tiny_checkpoint.h"

namespace octlm::model {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Qwen/Qwen3-0.6B's config.json, and SmolLM2-135M-Instruct's.
json qwen3_config() {
  return json::parse(R"({
    "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu",
    "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 3072,
    "max_position_embeddings": 40960, "max_window_layers": 28, "model_type": "qwen3",
    "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8,
    "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null,
    "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.51.0",
    "use_cache": true, "use_sliding_window": false, "vocab_size": 151936})");
}
json llama_config() {
  return json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 576,
    "initializer_range": 0.041666666666666664, "intermediate_size": 1536, "is_llama_config": true,
    "max_position_embeddings": 8192, "mlp_bias": false, "model_type": "llama",
    "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "pad_token_id": 2,
    "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_interleaved": false, "rope_scaling": null,
    "rope_theta": 100000, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
    "transformers_version": "4.42.3",
    "transformers.js_config": {"kv_cache_dtype": {"fp16": "float16"}},
    "use_cache": true, "vocab_size": 49152})");
}

Config parse(const json& config) { return parse_config(config.dump(), "config.json"); }

// What the error says; "" when the config was accepted.
std::string refusal_of_text(const std::string& text) {
  try {
    parse_config(text, "config.json");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}
std::string refusal(const json& config) { return refusal_of_text(config.dump()); }

// The base with one field set.
json with(json config, const std::string& field, const json& value) {
  config[field] = value;
  return config;
}
json without(json config, const std::string& field) {
  config.erase(field);
  return config;
}

TEST(Config, ReadsQwen3) {
  const Config config = parse(qwen3_config());
  EXPECT_EQ(config.architecture, "Qwen3ForCausalLM");
  EXPECT_EQ(config.model_type, "qwen3");
  EXPECT_EQ(config.hidden_size, 1024);
  EXPECT_EQ(config.num_hidden_layers, 28);
  EXPECT_EQ(config.num_attention_heads, 16);
  EXPECT_EQ(config.num_key_value_heads, 8);
  EXPECT_EQ(config.head_dim, 128);
  EXPECT_EQ(config.intermediate_size, 3072);
  EXPECT_EQ(config.vocab_size, 151936);
  EXPECT_EQ(config.max_position_embeddings, 40960);
  EXPECT_EQ(config.rms_norm_eps, 1e-6);
  EXPECT_EQ(config.rope_theta, 1e6);
  EXPECT_EQ(config.rope_scaling.kind, RopeScaling::Kind::kDefault);
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_TRUE(config.qk_norm);
}

TEST(Config, ReadsLlamaAndDerivesHeadDim) {
  const Config config = parse(llama_config());
  EXPECT_EQ(config.architecture, "LlamaForCausalLM");
  EXPECT_EQ(config.head_dim, 64);  // 576 / 9
  EXPECT_EQ(config.num_key_value_heads, 3);
  EXPECT_EQ(config.rms_norm_eps, 1e-5);
  EXPECT_EQ(config.rope_theta, 1e5);
  EXPECT_FALSE(config.qk_norm);
}

// NVIDIA/TensorRT-LLM#5912: attention's width is heads x head_dim, not hidden_size.
TEST(Config, ExplicitHeadDimWins) {
  const Config config = parse(qwen3_config());
  EXPECT_EQ(config.attention_width(), 2048);
  EXPECT_EQ(config.key_value_width(), 1024);
  json llama = with(llama_config(), "head_dim", 80);
  EXPECT_EQ(parse(llama).head_dim, 80);
  EXPECT_EQ(parse(with(llama, "head_dim", nullptr)).head_dim, 64);
  EXPECT_EQ(parse(with(qwen3_config(), "head_dim", nullptr)).head_dim, 64);
  // Absent, Qwen3Config would assume 128, whatever the sizes.
  EXPECT_THAT(refusal(without(qwen3_config(), "head_dim")), HasSubstr("missing field 'head_dim'"));
}

// LMCache/LMCache#688: cache bytes from the wrong head size.
TEST(Config, CacheBytesPerToken) {
  const Config config = parse(qwen3_config());
  EXPECT_EQ(config.cache_bytes_per_token(DType::kBFloat16), 114'688);
  EXPECT_EQ(config.cache_bytes_per_token(DType::kFloat16), 114'688);
  EXPECT_EQ(config.cache_bytes_per_token(DType::kFloat32), 229'376);
  EXPECT_EQ(config.cache_bytes_per_token(DType::kBFloat16) * 40960, 4'697'620'480);  // 4.375 GiB
  json qwen3_4b = qwen3_config();
  qwen3_4b.update({{"hidden_size", 2560}, {"num_hidden_layers", 36}, {"num_attention_heads", 32}});
  EXPECT_EQ(parse(qwen3_4b).cache_bytes_per_token(DType::kBFloat16), 147'456);
}

// NVIDIA/cutlass#1112, OpenNMT/CTranslate2#1357: eps is the config's.
TEST(Config, EpsIsReadNeverAssumed) {
  EXPECT_EQ(parse(with(qwen3_config(), "rms_norm_eps", 1e-5)).rms_norm_eps, 1e-5);
  EXPECT_THAT(refusal(without(llama_config(), "rms_norm_eps")), HasSubstr("'rms_norm_eps'"));
  for (const json& bad : {json(0), json(-1e-6), json(1), json("1e-6"), json(nullptr), json(true)}) {
    EXPECT_THAT(refusal(with(llama_config(), "rms_norm_eps", bad)), HasSubstr("'rms_norm_eps'"));
  }
}

TEST(Config, EveryFieldThatChangesTheFunctionIsRequired) {
  for (const char* field : {"architectures", "model_type", "hidden_size", "num_hidden_layers",
                            "num_attention_heads", "num_key_value_heads", "head_dim",
                            "intermediate_size", "vocab_size", "max_position_embeddings",
                            "rms_norm_eps", "rope_theta", "tie_word_embeddings", "hidden_act"}) {
    EXPECT_THAT(refusal(without(qwen3_config(), field)),
                AllOf(StartsWith("config.json:"), HasSubstr(std::string("'") + field + "'")))
        << field;
  }
}

// LlamaConfig's rule, written there as "for backward compatibility".
TEST(Config, LlamaWithoutKeyValueHeadsHasOnePerQueryHead) {
  EXPECT_EQ(parse(without(llama_config(), "num_key_value_heads")).num_key_value_heads, 9);
  EXPECT_EQ(parse(with(llama_config(), "num_key_value_heads", nullptr)).num_key_value_heads, 9);
}

TEST(Config, SizesAreCheckedAgainstEachOther) {
  EXPECT_THAT(refusal(with(qwen3_config(), "num_key_value_heads", 3)),
              HasSubstr("field 'num_key_value_heads': found 3, supported: a divisor of"));
  EXPECT_THAT(refusal(with(qwen3_config(), "num_key_value_heads", 32)),
              HasSubstr("'num_key_value_heads': found 32"));
  EXPECT_THAT(refusal(with(qwen3_config(), "head_dim", 127)), HasSubstr("an even number"));
  EXPECT_THAT(refusal(with(llama_config(), "hidden_size", 577)), HasSubstr("'hidden_size'"));
  EXPECT_THAT(refusal(with(llama_config(), "hidden_size", 9 * 63)), HasSubstr("'hidden_size'"));
}

TEST(Config, SizesArePositiveIntegersWithinLimits) {
  for (const char* field :
       {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
        "head_dim", "intermediate_size", "vocab_size", "max_position_embeddings"}) {
    for (const json& bad :
         {json(0), json(-1), json(2.0), json("2"), json(true), json::array({2}), json(INT64_MAX),
          json(UINT64_MAX), json(1e300), json(std::int64_t{1} << 32)}) {
      EXPECT_THAT(refusal(with(qwen3_config(), field, bad)),
                  HasSubstr("field '" + std::string(field) + "': found " + bad.dump()))
          << field << " " << bad;
    }
  }
  // Each within its own limit, the width beyond.
  json wide = qwen3_config();
  wide.update({{"num_attention_heads", 1 << 12}, {"head_dim", 1 << 10}});
  EXPECT_THAT(refusal(wide), HasSubstr("num_attention_heads x head_dim"));
}

// The largest config that is accepted still multiplies without overflow.
TEST(Config, LargestSizesDoNotOverflow) {
  json config = qwen3_config();
  config.update({{"num_hidden_layers", 1 << 10},
                 {"num_attention_heads", 1 << 10},
                 {"num_key_value_heads", 1 << 10},
                 {"head_dim", 1 << 10},
                 {"hidden_size", 1 << 20},
                 {"vocab_size", 1 << 27},
                 {"intermediate_size", 1 << 24},
                 {"max_position_embeddings", 1 << 28}});
  const Config largest = parse(config);
  std::int64_t bytes = 0;
  EXPECT_FALSE(__builtin_mul_overflow(largest.cache_bytes_per_token(DType::kFloat64),
                                      largest.max_position_embeddings, &bytes));
  std::int64_t parameters = 0;
  for (const ExpectedTensor& tensor : expected_tensors(largest)) {
    EXPECT_FALSE(__builtin_add_overflow(parameters, tensor.shape.elements(), &parameters));
  }
  EXPECT_FALSE(__builtin_mul_overflow(parameters, 8, &bytes));
}

// ggml-org/llama.cpp#2793, ml-explore/mlx-lm#1889: "no scaling" has several spellings, one meaning.
TEST(RopeScaling, NullAbsentEmptyAndDefaultAreTheSame) {
  const Config base = parse(without(llama_config(), "rope_scaling"));
  EXPECT_EQ(base.rope_scaling, RopeScaling());
  for (const json& same :
       {json(nullptr), json::object(), json{{"rope_type", "default"}}, json{{"type", "default"}},
        json{{"rope_type", nullptr}}, json{{"rope_type", "default"}, {"type", "default"}}}) {
    const Config config = parse(with(llama_config(), "rope_scaling", same));
    EXPECT_EQ(config.rope_scaling, base.rope_scaling) << same;
    EXPECT_EQ(config.rope_theta, base.rope_theta) << same;
  }
}

TEST(RopeScaling, OtherKindsAreRefusedByName) {
  // huggingface/transformers#46624: dynamic NTK depends on what ran before; the rest are not ours
  // yet.
  for (const char* kind : {"banana", "dynamic", "yarn", "longrope", "linear", "su", "mrope"}) {
    for (const char* key : {"rope_type", "type"}) {
      for (const char* place : {"rope_scaling", "rope_parameters"}) {
        const json scaling = {{key, kind}, {"factor", 4.0}, {"beta_fast", 32}};
        EXPECT_EQ(refusal(with(llama_config(), place, scaling)),
                  "config.json: field '" + std::string(place) + "." + key + "': found \"" + kind +
                      "\", supported: \"default\", \"llama3\"");
      }
    }
  }
  EXPECT_THAT(refusal(with(llama_config(), "rope_scaling", "yarn")),
              HasSubstr("field 'rope_scaling': found \"yarn\""));
  EXPECT_THAT(refusal(with(llama_config(), "rope_scaling", json{{"rope_type", 3}})),
              HasSubstr("'rope_scaling.rope_type': found 3"));
}

TEST(RopeScaling, KindsThatDisagreeAreRefused) {
  json scaling = {{"rope_type", "llama3"},   {"type", "default"},
                  {"factor", 8.0},           {"low_freq_factor", 1.0},
                  {"high_freq_factor", 4.0}, {"original_max_position_embeddings", 8192}};
  EXPECT_THAT(refusal(with(llama_config(), "rope_scaling", scaling)), HasSubstr("disagree"));
  scaling["type"] = "llama3";
  json two_places = with(llama_config(), "rope_scaling", scaling);
  two_places["rope_parameters"] = {{"rope_type", "default"}};
  EXPECT_THAT(refusal(two_places), HasSubstr("'rope_scaling' and 'rope_parameters' disagree"));
  two_places["rope_parameters"] = scaling;
  EXPECT_EQ(refusal(two_places), "");
}

// Parameters without a kind, or with one that does not use them, are not silently dropped.
TEST(RopeScaling, ParametersWithoutTheirKindAreRefused) {
  EXPECT_THAT(
      refusal(with(llama_config(), "rope_scaling", json{{"factor", 8.0}})),
      HasSubstr("'rope_scaling.factor': found 8.0, supported: nothing without a rope_type"));
  EXPECT_THAT(refusal(with(llama_config(), "rope_scaling",
                           json{{"rope_type", "default"}, {"factor", 8.0}})),
              HasSubstr("'rope_scaling.factor'"));
  EXPECT_THAT(
      refusal(with(llama_config(), "rope_parameters", json{{"partial_rotary_factor", 0.5}})),
      HasSubstr("'rope_parameters.partial_rotary_factor': found 0.5"));
}

json llama3_scaling(const char* type_key) {
  return {{type_key, "llama3"},
          {"factor", 32.0},
          {"low_freq_factor", 1.0},
          {"high_freq_factor", 4.0},
          {"original_max_position_embeddings", 8192}};
}

// ggml-org/llama.cpp#8676, unslothai/unsloth#6197: llama3 parsed but unused, or looked up as `type`
// only.
TEST(RopeScaling, Llama3IsReadUnderBothNamesInBothPlaces) {
  for (const char* key : {"rope_type", "type"}) {
    for (const char* place : {"rope_scaling", "rope_parameters"}) {
      const Config config = parse(with(llama_config(), place, llama3_scaling(key)));
      EXPECT_EQ(config.rope_scaling.kind, RopeScaling::Kind::kLlama3) << key << " " << place;
      EXPECT_EQ(config.rope_scaling.factor, 32.0);
      EXPECT_EQ(config.rope_scaling.low_freq_factor, 1.0);
      EXPECT_EQ(config.rope_scaling.high_freq_factor, 4.0);
      EXPECT_EQ(config.rope_scaling.original_max_position_embeddings, 8192);
    }
  }
}

TEST(RopeScaling, Llama3ParametersAreChecked) {
  const std::vector<std::pair<const char*, std::vector<json>>> bad = {
      {"factor", {0.5, 0, -1, "8", nullptr, true}},
      {"low_freq_factor", {0, -1, nullptr, "1"}},
      {"high_freq_factor", {1.0, 0.5, 0, nullptr}},  // not above low_freq_factor
      {"original_max_position_embeddings", {0, -1, 8192.0, nullptr, UINT64_MAX}}};
  for (const auto& [field, values] : bad) {
    const std::string name = std::string("'rope_scaling.") + field + "'";
    json scaling = llama3_scaling("rope_type");
    for (const json& value : values) {
      scaling[field] = value;
      EXPECT_THAT(refusal(with(llama_config(), "rope_scaling", scaling)), HasSubstr(name)) << value;
    }
    scaling.erase(field);
    EXPECT_THAT(refusal(with(llama_config(), "rope_scaling", scaling)), HasSubstr(name));
  }
  json scaling = llama3_scaling("rope_type");
  scaling["attention_factor"] = 1.0;
  EXPECT_THAT(refusal(with(llama_config(), "rope_scaling", scaling)),
              HasSubstr("unknown field 'rope_scaling.attention_factor'"));
}

// deepspeedai/DeepSpeed#8345, THUDM/slime#1720, vllm-project/vllm#9503: rope_theta has moved.
TEST(RopeTheta, ReadInBothPlacesNeverAssumed) {
  const json base = without(llama_config(), "rope_theta");
  EXPECT_EQ(parse(with(base, "rope_theta", 1e6)).rope_theta, 1e6);
  EXPECT_EQ(parse(with(base, "rope_parameters", json{{"rope_theta", 1e6}})).rope_theta, 1e6);
  const json nested = {{"rope_theta", 1e6}, {"rope_type", "default"}};
  EXPECT_EQ(parse(with(base, "rope_parameters", nested)).rope_theta, 1e6);
  EXPECT_EQ(parse(with(with(base, "rope_theta", 1000000), "rope_parameters", nested)).rope_theta,
            1e6);
  EXPECT_THAT(refusal(with(with(base, "rope_theta", 1e5), "rope_parameters", nested)),
              AllOf(HasSubstr("'rope_parameters.rope_theta'"), HasSubstr("another place says")));
  EXPECT_THAT(refusal(base), HasSubstr("missing field 'rope_theta'"));
  for (const json& bad : {json(0), json(-1), json("1e6"), json(false)}) {
    EXPECT_THAT(refusal(with(base, "rope_theta", bad)), HasSubstr("'rope_theta'")) << bad;
  }
}

// huggingface/transformers#38002, InternLM/lmdeploy#3614: a window that is not used changes
// nothing.
TEST(SlidingWindow, NotInUseIsAccepted) {
  json config = with(qwen3_config(), "sliding_window", 4);
  EXPECT_EQ(refusal(config), "");
  config["use_sliding_window"] = true;  // no layer at or above max_window_layers
  EXPECT_EQ(refusal(config), "");
  config["max_window_layers"] = 0;
  config["sliding_window"] = nullptr;
  EXPECT_EQ(refusal(config), "");
  config["sliding_window"] = 4;
  config["layer_types"] = std::vector<std::string>(28, "full_attention");
  EXPECT_EQ(refusal(config), "");
}

TEST(SlidingWindow, InUseIsRefused) {
  json config = with(qwen3_config(), "sliding_window", 4);
  config["use_sliding_window"] = true;
  config["max_window_layers"] = 27;
  EXPECT_THAT(refusal(config),
              AllOf(HasSubstr("'use_sliding_window': found true"), HasSubstr("layers 27 to 27")));
  // Absent, the window is 4096 and max_window_layers 28.
  EXPECT_THAT(refusal(without(config, "sliding_window")), HasSubstr("'use_sliding_window'"));
  config["num_hidden_layers"] = 29;
  EXPECT_THAT(refusal(without(config, "max_window_layers")), HasSubstr("layers 28 to 28"));

  json types = qwen3_config();
  types["layer_types"] = std::vector<std::string>(28, "full_attention");
  types["layer_types"][5] = "sliding_attention";
  EXPECT_THAT(refusal(types), HasSubstr("'layer_types'"));
  types["layer_types"] = std::vector<std::string>(27, "full_attention");
  EXPECT_THAT(refusal(types), HasSubstr("num_hidden_layers entries"));
  types["layer_types"] = 3;
  EXPECT_THAT(refusal(types), HasSubstr("'layer_types'"));
  EXPECT_THAT(refusal(with(llama_config(), "sliding_window", 4)), HasSubstr("'sliding_window'"));
}

// EricLBuehler/candle-vllm#167, mlc-ai/mlc-llm#3494: biases dropped.
TEST(Config, UnsupportedValuesAreRefusedByName) {
  const std::vector<std::pair<const char*, json>> refused = {
      {"attention_bias", true},
      {"mlp_bias", true},
      {"hidden_act", "gelu"},
      {"hidden_act", nullptr},
      {"hidden_act", "SiLU"},
      {"pretraining_tp", 2},
      {"rope_interleaved", true},
      {"partial_rotary_factor", 0.5},
      {"quantization_config", json{{"quant_method", "fp8"}}},
      {"auto_map", json{{"AutoModelForCausalLM", "modeling_x.X"}}},
      {"pruned_heads", json{{"0", json::array({1})}}},
      {"is_encoder_decoder", true},
      {"tie_word_embeddings", nullptr},
      {"tie_word_embeddings", 1},
      {"model_type", "qwen2"},
      {"architectures", json::array({"Qwen2ForCausalLM"})},
      {"architectures", json::array({"LlamaForSequenceClassification"})},
      {"architectures", json::array()},
      {"architectures", json::array({"LlamaForCausalLM", "Qwen3ForCausalLM"})},
      {"architectures", "LlamaForCausalLM"},
      {"architectures", nullptr}};
  for (const json& base : {qwen3_config(), llama_config()}) {
    for (const auto& [field, value] : refused) {
      EXPECT_THAT(refusal(with(base, field, value)),
                  AllOf(StartsWith("config.json: field '" + std::string(field) + "': found " +
                                   value.dump() + ", supported: "),
                        Not(HasSubstr("\n"))))
          << field << " " << value;
    }
  }
  EXPECT_THAT(refusal(with(llama_config(), "model_type", "qwen3")), HasSubstr("'model_type'"));
  EXPECT_EQ(refusal(with(llama_config(), "hidden_act", "swish")), "");
}

TEST(Config, FieldsWithoutEffectAreAccepted) {
  const Config plain = parse(llama_config());
  json config = llama_config();
  config.update({{"attention_dropout", 0.1},
                 {"initializer_range", 1},
                 {"use_cache", false},
                 {"dtype", "float16"},
                 {"eos_token_id", json::array({1, 2})},
                 {"_name_or_path", "x"},
                 {"temperature", 0.5},
                 {"quantization_config", nullptr},
                 {"max_window_layers", 3}});
  const Config same = parse(config);
  EXPECT_EQ(same.rope_theta, plain.rope_theta);
  EXPECT_EQ(same.hidden_size, plain.hidden_size);
}

// What LlamaConfig().to_dict() and Qwen3Config().to_dict() of Transformers 4.57.6 hold beside the
// geometry: public dumps have all of it (jzhang38/TinyLlama#127 has one).
TEST(Config, DefaultsThatTransformersDumpsAreHonoured) {
  const json defaults = json::parse(R"({
    "return_dict": true, "output_hidden_states": false, "torchscript": false, "dtype": null,
    "pruned_heads": {}, "chunk_size_feed_forward": 0, "is_encoder_decoder": false,
    "is_decoder": false, "cross_attention_hidden_size": null, "add_cross_attention": false,
    "tie_encoder_decoder": false, "finetuning_task": null, "id2label": {"0": "LABEL_0", "1":
    "LABEL_1"}, "label2id": {"LABEL_0": 0, "LABEL_1": 1}, "task_specific_params": null,
    "problem_type": null, "tokenizer_class": null, "prefix": null, "bos_token_id": 1,
    "pad_token_id": null, "eos_token_id": 2, "sep_token_id": null, "decoder_start_token_id": null,
    "max_length": 20, "min_length": 0, "do_sample": false, "early_stopping": false,
    "num_beams": 1, "temperature": 1.0, "top_k": 50, "top_p": 1.0, "typical_p": 1.0,
    "repetition_penalty": 1.0, "length_penalty": 1.0, "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0, "bad_words_ids": null, "num_return_sequences": 1,
    "output_scores": false, "return_dict_in_generate": false, "forced_bos_token_id": null,
    "forced_eos_token_id": null, "remove_invalid_values": false,
    "exponential_decay_length_penalty": null, "suppress_tokens": null,
    "begin_suppress_tokens": null, "num_beam_groups": 1, "diversity_penalty": 0.0,
    "_name_or_path": "", "transformers_version": "4.57.6", "tf_legacy_loss": false,
    "use_bfloat16": false, "output_attentions": false, "attention_chunk_size": null,
    "xla_device": null, "max_sequence_length": 2048, "_flash_attn_2_enabled": true})");
  for (json config : {qwen3_config(), llama_config()}) {
    const Config plain = parse(config);
    config.update(defaults);
    config["layer_types"] = std::vector<std::string>(config["num_hidden_layers"], "full_attention");
    const Config same = parse(config);
    EXPECT_EQ(same.head_dim, plain.head_dim);
    EXPECT_EQ(same.rope_scaling, plain.rope_scaling);
    EXPECT_EQ(same.tie_word_embeddings, plain.tie_word_embeddings);
  }
}

// The same keys, where another value would be another function or could not be loaded.
TEST(Config, ValuesThatAreNotNeutralAreRefusedByName) {
  const std::vector<std::pair<const char*, json>> refused = {
      {"add_cross_attention", true},
      {"tie_encoder_decoder", true},
      {"cross_attention_hidden_size", 64},
      {"attention_chunk_size", 8},
      {"torchscript", true},
      {"transformers_weights", "other.safetensors"},
      {"problem_type", "generation"},
      {"quantization_config", json::object()},
      {"layer_types", json::array({"full_attention"})}};
  for (const json& base : {qwen3_config(), llama_config()}) {
    for (const auto& [field, value] : refused) {
      EXPECT_THAT(refusal(with(base, field, value)),
                  StartsWith("config.json: field '" + std::string(field) + "': found "));
    }
    json types = base;
    types["layer_types"] = std::vector<std::string>(base["num_hidden_layers"], "full_attention");
    types["layer_types"][1] = "sliding_attention";
    EXPECT_THAT(refusal(types), HasSubstr("'layer_types'"));
  }
}

// LlamaModel and Qwen3Model: what a base model's save names (vllm-project/vllm#19250).
// Transformers' AutoModelForCausalLM goes by model_type.
TEST(Config, BaseModelsClassIsTheSameArchitecture) {
  EXPECT_EQ(parse(with(llama_config(), "architectures", {"LlamaModel"})).architecture,
            "LlamaForCausalLM");
  EXPECT_EQ(parse(with(qwen3_config(), "architectures", {"Qwen3Model"})).architecture,
            "Qwen3ForCausalLM");
  EXPECT_THAT(refusal(with(llama_config(), "architectures", {"Qwen3Model"})),
              HasSubstr("'model_type'"));
}

TEST(Config, UnknownFieldIsRefusedWithTheNearestName) {
  EXPECT_EQ(refusal(with(qwen3_config(), "rms_norm_epsilon", 1e-5)),
            "config.json: unknown field 'rms_norm_epsilon'; did you mean 'rms_norm_eps'?");
  EXPECT_THAT(refusal(with(qwen3_config(), "logit_softcapping", 30)),
              HasSubstr("unknown field 'logit_softcapping'"));
  EXPECT_THAT(refusal(with(qwen3_config(), "rope_scaling", json{{"rope_typ", "default"}})),
              HasSubstr("unknown field 'rope_scaling.rope_typ'; did you mean "
                        "'rope_scaling.rope_type'?"));
  // A misspelt required field is named as that, not as the missing one.
  EXPECT_THAT(refusal(with(without(qwen3_config(), "head_dim"), "head_dims", 128)),
              HasSubstr("unknown field 'head_dims'; did you mean 'head_dim'?"));
  // Foreign text cannot break the line or the terminal, or fill the screen.
  const std::string hostile =
      refusal(with(qwen3_config(), "a\n\x1b[2J" + std::string(10'000, 'b'), 1));
  EXPECT_THAT(hostile, AllOf(HasSubstr("'a\\x0a\\x1b[2Jbbb"), Not(HasSubstr("\n"))));
  EXPECT_LT(hostile.size(), 300u);
}

TEST(Config, MalformedJsonIsRefused) {
  const std::string good = qwen3_config().dump();
  ASSERT_EQ(refusal_of_text(good), "");
  const std::string opened = good.substr(0, good.size() - 1);
  // Duplicate keys, at any depth: parsers differ in which one wins.
  EXPECT_EQ(refusal_of_text(opened + R"(,"head_dim":64})"),
            "config.json:1:" + std::to_string(opened.size() + 11) + ": duplicate key 'head_dim'");
  EXPECT_THAT(refusal_of_text(R"({"a":[{"b":1,"b":1}]})"), HasSubstr("duplicate key 'b'"));
  for (const std::string& bad :
       {std::string(), opened, good + "}", good + std::string(1, '\0') + "{}",
        "\xef\xbb\xbf" + good, opened + R"(,"initializer_range":NaN})",
        opened + R"(,"initializer_range":Infinity})", opened + R"(,"initializer_range":1e999})",
        opened + ",\"prefix\":\"\xff\"}", opened + R"(,"prefix":1,})", opened + "/* c */}",
        std::string("[]"), std::string("null"), std::string(100'000, '['),
        opened + R"(,"prefix":)" + std::string(40, '[') + std::string(40, ']') + "}"}) {
    const std::string message = refusal_of_text(bad);
    EXPECT_THAT(message, AllOf(StartsWith("config.json:"), Not(HasSubstr("\n"))))
        << bad.substr(0, 80);
    EXPECT_LT(message.size(), 500u);
  }
}

TEST(Config, UnreadableFileIsNamed) {
  const auto refusal_in = [](const std::filesystem::path& folder) -> std::string {
    try {
      read_config(folder);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal_in("/nonexistent-octlm"),
              StartsWith("/nonexistent-octlm/config.json: cannot be opened"));
  const testing::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "config.json";
  std::filesystem::create_directory(path);
  EXPECT_EQ(refusal_in(folder.path()), path.string() + ": not a regular file");
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);  // must not wait for a writer
  EXPECT_EQ(refusal_in(folder.path()), path.string() + ": not a regular file");
  std::filesystem::remove(path);
  std::ofstream(path) << qwen3_config();
  EXPECT_EQ(refusal_in(folder.path()), "");
  std::filesystem::resize_file(path, (1 << 24) + 1);  // sparse
  EXPECT_THAT(refusal_in(folder.path()), HasSubstr("16777217 bytes, expected at most 16777216"));
}

// pegainfer-project/pegainfer#676: the head is as wide as vocab_size, which is more than can be
// decoded.
TEST(ExpectedTensors, Qwen3) {
  const Config config = parse(qwen3_config());
  const std::vector<ExpectedTensor> tensors = expected_tensors(config);
  EXPECT_EQ(tensors.size(), 310u);  // the published 311 entries less the stored duplicate head
  std::int64_t parameters = 0;
  for (const ExpectedTensor& tensor : tensors) parameters += tensor.shape.elements();
  EXPECT_EQ(parameters, 596'049'920);
  const auto shape_of = [&](const std::string& name) {
    for (const ExpectedTensor& tensor : tensors) {
      if (tensor.name == name) return tensor.shape.to_string();
    }
    return std::string("absent");
  };
  EXPECT_EQ(shape_of("model.embed_tokens.weight"), "[151936, 1024]");
  EXPECT_EQ(shape_of("model.layers.27.self_attn.q_proj.weight"), "[2048, 1024]");
  EXPECT_EQ(shape_of("model.layers.27.self_attn.k_proj.weight"), "[1024, 1024]");
  EXPECT_EQ(shape_of("model.layers.27.self_attn.o_proj.weight"), "[1024, 2048]");
  EXPECT_EQ(shape_of("model.layers.0.self_attn.k_norm.weight"), "[128]");
  EXPECT_EQ(shape_of("model.layers.0.mlp.down_proj.weight"), "[1024, 3072]");
  EXPECT_EQ(shape_of("model.layers.28.mlp.down_proj.weight"), "absent");
  EXPECT_EQ(shape_of("lm_head.weight"), "absent");
}

TEST(ExpectedTensors, LlamaTiedAndUntied) {
  const Config tied = parse(llama_config());
  const std::vector<ExpectedTensor> tensors = expected_tensors(tied);
  EXPECT_EQ(tensors.size(), 272u);
  std::int64_t parameters = 0;
  for (const ExpectedTensor& tensor : tensors) parameters += tensor.shape.elements();
  EXPECT_EQ(parameters, 134'515'008);
  const auto untied = expected_tensors(parse(with(llama_config(), "tie_word_embeddings", false)));
  ASSERT_EQ(untied.size(), 273u);
  EXPECT_EQ(untied.back().name, "lm_head.weight");
  EXPECT_EQ(untied.back().shape, Shape({49152, 576}));
}

std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

const std::filesystem::path kShared = OCTLM_SOURCE_DIR "/../shared";

TEST(Published, BothRealConfigsAreRead) {
  const auto qwen3 = kShared / "models/qwen3-0.6b";
  const auto smollm2 = kShared / "models/smollm2-135m-instruct";
  if (!exists(qwen3 / "config.json") || !exists(smollm2 / "config.json")) {
    GTEST_SKIP() << "not run: the published config files are not beside the checkout";
  }
  EXPECT_EQ(json::parse(read_text(qwen3 / "config.json")), qwen3_config());
  EXPECT_EQ(read_config(qwen3).head_dim, 128);
  EXPECT_EQ(read_config(smollm2).head_dim, 64);
}

TEST(Published, Qwen3HeaderHasExactlyTheExpectedTensors) {
  const auto path = kShared / "published/qwen3_safetensors_header_reconstructed.json";
  if (!exists(path)) GTEST_SKIP() << "not run: the published header is not beside the checkout";
  const json header = json::parse(read_text(path));
  json expected = json::object();
  for (const ExpectedTensor& tensor : expected_tensors(parse(qwen3_config()))) {
    expected[tensor.name] = tensor.shape.to_string();
  }
  expected["lm_head.weight"] = "[151936, 1024]";
  EXPECT_EQ(expected.size(), 311u);
  json published = json::object();
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    published[name] = Shape(entry["shape"].get<std::vector<std::int64_t>>()).to_string();
  }
  EXPECT_EQ(published, expected);
}

}  // namespace
}  // namespace octlm::model
