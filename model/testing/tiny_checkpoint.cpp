// Weights come from a generator of our own, so that a seed means the same bytes with every standard
// library. Norm weights are exp(mu + sigma n), away from 1, since unit norms hide a norm that is
// missing or swapped; mu and sigma are those that make a full-size random Qwen3 behave like a
// trained one.
#include "model/testing/tiny_checkpoint.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "formats/safetensors.h"
#include "model/architectures/architecture.h"

namespace octlm::model::testing {
namespace {

// splitmix64, and from it the sum of twelve uniforms: mean 0, variance 1, no library function.
class Generator {
 public:
  Generator(std::uint64_t seed, std::string_view name) : state_(seed * 0x9e3779b97f4a7c15) {
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double normal() {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(bits() >> 11) * 0x1p-53;
    return sum;
  }

 private:
  std::uint64_t state_;
};

std::uint16_t to_bfloat16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Round to nearest even; values here are far from overflow, and small ones become subnormal or
// zero.
std::uint16_t to_float16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const float magnitude = std::fabs(value);
  if (magnitude < 0x1p-14f) {  // subnormal: a multiple of 2^-24
    return static_cast<std::uint16_t>(
        sign | static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1p24f)));
  }
  const std::uint32_t shifted = (bits & 0x7fffffff) - (112u << 23);
  return static_cast<std::uint16_t>(sign | ((shifted + 0xfff + ((shifted >> 13) & 1)) >> 13));
}

void append(std::vector<std::byte>& bytes, const void* data, std::size_t count) {
  const auto* first = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), first, first + count);
}

void append_value(std::vector<std::byte>& bytes, DType dtype, double value) {
  const auto narrow = static_cast<float>(value);
  switch (dtype) {
    case DType::kFloat64:
      append(bytes, &value, 8);
      return;
    case DType::kFloat32:
      append(bytes, &narrow, 4);
      return;
    case DType::kFloat16: {
      const std::uint16_t bits = to_float16(narrow);
      append(bytes, &bits, 2);
      return;
    }
    case DType::kBFloat16: {
      const std::uint16_t bits = to_bfloat16(narrow);
      append(bytes, &bits, 2);
      return;
    }
  }
}

struct LogNormal {
  double mu, sigma;
};

LogNormal norm_spread(std::string_view name) {
  if (name.ends_with("q_norm.weight")) return {0.4, 0.3};
  if (name.ends_with("k_norm.weight")) return {0.2, 0.35};
  if (name == "model.norm.weight") return {1.75, 0.25};
  return {0.0, 0.3};
}

TinyTensor draw(const ExpectedTensor& expected, const TinyOptions& options) {
  Generator generator(options.seed, expected.name);
  TinyTensor tensor;
  tensor.dtype = options.dtype;
  for (int axis = 0; axis < expected.shape.rank(); ++axis) {
    tensor.shape.push_back(expected.shape[axis]);
  }
  const bool norm = expected.shape.rank() == 1;
  const LogNormal spread = norm_spread(expected.name);
  constexpr double kMatrixStd = 0.15;  // with the final norm, logits span about 20
  for (std::int64_t i = 0; i < expected.shape.elements(); ++i) {
    const double n = generator.normal();
    append_value(tensor.bytes, options.dtype,
                 norm ? std::exp(spread.mu + spread.sigma * n) : kMatrixStd * n);
  }
  return tensor;
}

std::string make_config_json(const TinyOptions& o) {
  const bool qwen3 = o.model_type == "qwen3";
  const auto field = [](const char* name, std::int64_t value) {
    return std::string("  \"") + name + "\": " + std::to_string(value) + ",\n";
  };
  return "{\n  \"architectures\": [\"" + std::string(qwen3 ? "Qwen3" : "Llama") +
         "ForCausalLM\"],\n  \"model_type\": \"" + o.model_type + "\",\n" +
         field("hidden_size", o.hidden_size) + field("num_hidden_layers", o.num_hidden_layers) +
         field("num_attention_heads", o.num_attention_heads) +
         field("num_key_value_heads", o.num_key_value_heads) + field("head_dim", o.head_dim) +
         field("intermediate_size", o.intermediate_size) + field("vocab_size", o.vocab_size) +
         field("max_position_embeddings", o.max_position_embeddings) +
         "  \"hidden_act\": \"silu\",\n  \"attention_bias\": false,\n" +
         (qwen3 ? "" : "  \"mlp_bias\": false,\n") +
         "  \"rms_norm_eps\": 1e-06,\n  \"rope_theta\": 10000.0,\n  \"rope_scaling\": null,\n" +
         "  \"tie_word_embeddings\": " + (o.tie_word_embeddings ? "true" : "false") + "\n}\n";
}

const char* stored_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return "F64";
    case DType::kFloat32:
      return "F32";
    case DType::kFloat16:
      return "F16";
    case DType::kBFloat16:
      return "BF16";
  }
  return "";
}

void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error(path.string() + ": cannot be written");
}

std::string safetensors_bytes(const std::map<std::string, TinyTensor>& tensors) {
  std::vector<formats::StoredTensor> stored;
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    stored.push_back({name, stored_name(tensor.dtype), tensor.shape, begin, data.size()});
  }
  return formats::safetensors_start(stored) + data;
}

}  // namespace

void TinyCheckpoint::write(const std::filesystem::path& folder) const {
  std::filesystem::create_directories(folder);
  write_bytes(folder / "config.json", config_json);
  write_bytes(folder / "model.safetensors", safetensors_bytes(tensors));
}

void TinyCheckpoint::write_sharded(const std::filesystem::path& folder, int shards) const {
  std::filesystem::create_directories(folder);
  write_bytes(folder / "config.json", config_json);
  std::vector<std::map<std::string, TinyTensor>> parts(static_cast<std::size_t>(shards));
  std::string weight_map;
  std::size_t bytes = 0;
  std::size_t index = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t part = index++ * parts.size() / tensors.size();
    parts[part].emplace(name, tensor);
    bytes += tensor.bytes.size();
    weight_map += (weight_map.empty() ? "" : ",\n") + std::string("    \"") + name + "\": \"" +
                  shard_name(static_cast<int>(part), shards) + "\"";
  }
  for (std::size_t part = 0; part < parts.size(); ++part) {
    write_bytes(folder / shard_name(static_cast<int>(part), shards),
                safetensors_bytes(parts[part]));
  }
  write_bytes(folder / "model.safetensors.index.json",
              "{\n  \"metadata\": {\"total_size\": " + std::to_string(bytes) +
                  "},\n  \"weight_map\": {\n" + weight_map + "\n  }\n}\n");
}

std::string shard_name(int shard, int shards) {
  const auto five_digits = [](int number) {
    const std::string digits = std::to_string(number);
    return std::string(5 - digits.size(), '0') + digits;
  };
  return "model-" + five_digits(shard + 1) + "-of-" + five_digits(shards) + ".safetensors";
}

TinyCheckpoint make_tiny_checkpoint(const TinyOptions& options) {
  TinyCheckpoint checkpoint;
  checkpoint.config_json = make_config_json(options);
  const Config config = parse_config(checkpoint.config_json, "tiny config.json");
  for (const ExpectedTensor& expected : expected_tensors(config)) {
    checkpoint.tensors.emplace(expected.name, draw(expected, options));
  }
  if (options.tie_word_embeddings && options.stored_lm_head) {
    checkpoint.tensors["lm_head.weight"] = checkpoint.tensors.at("model.embed_tokens.weight");
  }
  return checkpoint;
}

}  // namespace octlm::model::testing
