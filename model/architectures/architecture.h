// The architectures octlm runs: one explicit list, one file per model_type. An architecture says
// which config fields it honours and exactly which tensors its checkpoint holds; the decoder's
// layer reads like the paper in model/decoder.cpp. To add one: a file named like its model_type, a
// row in architecture.cpp, and an experiment.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/modules.h"
#include "model/tensor.h"

namespace octlm::model {

class ConfigFields;
struct FieldRule;

// A tensor that a checkpoint of this config must hold, in the checkpoint's own name.
struct ExpectedTensor {
  std::string name;  // "model.layers.3.self_attn.q_proj.weight"
  Shape shape;       // [out_features, in_features] for projections, as stored
};

// The weight of one module of a layer.
struct LayerWeight {
  Module module;
  Shape shape;
};

struct Architecture {
  // config.json's architectures[0], or base_name: the model without its head; and model_type.
  const char* name;
  const char* base_name;
  const char* model_type;
  // Each query and key head is normalised before RoPE.
  bool qk_norm;
  // The config.json fields that mean something else here than elsewhere, or exist only here; the
  // rows common to all are in config.cpp.
  std::vector<FieldRule> (*fields)();
  // Reads those fields: num_key_value_heads and head_dim, and whatever must be refused. The other
  // members of Config are filled already.
  void (*read)(const ConfigFields& fields, Config& config);
  // The weights of one layer: what a checkpoint holds, and what the decoder asks for.
  std::vector<LayerWeight> (*layer_weights)(const Config& config);
};

// Every architecture that can be run, in the order of the list.
std::span<const Architecture> architectures();

// The architecture of a config. Throws std::invalid_argument when config.architecture is not in the
// list.
const Architecture& architecture_of(const Config& config);

// All tensors of a checkpoint with this config, lm_head.weight only when it is not tied.
std::vector<ExpectedTensor> expected_tensors(const Config& config);

}  // namespace octlm::model
