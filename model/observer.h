// Sees every module's input and output as the decoder computes them, under the paths of
// Transformers' module tree ("model.layers.3.self_attn.q_proj").
//
// What is inside one op is not announced: mlp.act_fn (in silu_mul), and model.rotary_emb, whose
// output is the table. The rows of model.norm and lm_head are the wanted positions alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/tensor.h"

namespace octlm::model {

struct ModuleCall {
  std::string module;
  // The absolute position of each row, that is of each index of the tensor's first axis.
  std::span<const std::int64_t> positions;
};

class Observer {
 public:
  virtual ~Observer() = default;

  // About to be computed from x, which may be overwritten: the module, and whatever else reads the
  // same tensor, then computes from that. In the backend's memory (Backend::download, upload),
  // valid during the call. Not called for model.embed_tokens, whose input is ids.
  virtual void input(const ModuleCall& call, const TensorView& x) {
    static_cast<void>(call);
    static_cast<void>(x);
  }
  // Has been computed; in the backend's memory, valid during the call. The shape is that of the
  // module's output in Transformers without the batch.
  virtual void output(const ModuleCall& call, const ConstTensorView& y) {
    static_cast<void>(call);
    static_cast<void>(y);
  }
};

}  // namespace octlm::model
