// The caller's mistakes, said one way: "[op] name is [1024], expected [2048]". Every check throws
// std::invalid_argument.
#pragma once

#include <string>
#include <string_view>

#include "model/ops/backend.h"
#include "model/tensor.h"

namespace octlm::model::ops {

class Check {
 public:
  // REQUIRES: both outlive the Check.
  Check(std::string_view op, const Backend& backend) : op_(op), backend_(backend) {}

  [[noreturn]] void fail(const std::string& what) const;
  void shape(std::string_view name, const ConstTensorView& tensor, const Shape& expected) const;
  // `expected` in words, e.g. "[seq, heads, head_dim]".
  void rank(std::string_view name, const ConstTensorView& tensor, int rank,
            std::string_view expected) const;
  // The backend's activation dtype.
  void activation(std::string_view name, const ConstTensorView& tensor) const;
  // A dtype in which the backend keeps a cache.
  void cache(std::string_view name, const ConstTensorView& tensor) const;
  // float32, float16 or bfloat16; aligned to its element size.
  void weight(std::string_view name, const ConstTensorView& tensor) const;
  // No byte of a is a byte of b.
  void apart(std::string_view a_name, const ConstTensorView& a, std::string_view b_name,
             const ConstTensorView& b) const;
  // The same bytes exactly, or none in common.
  void same_or_apart(std::string_view a_name, const ConstTensorView& a, std::string_view b_name,
                     const ConstTensorView& b) const;

 private:
  void storage(std::string_view name, const ConstTensorView& tensor) const;

  std::string_view op_;
  const Backend& backend_;
};

}  // namespace octlm::model::ops
