// What every backend does beside the operations: weights, copies; and what adding an operation
// takes.
#include "model/ops/backend.h"

#include <cstring>
#include <vector>

#include "model/ops/testing/negate.h"
#include "model/ops/testing/op_case.h"

namespace octlm::model::ops {
namespace {

using testing::OpTest;
using testing::Random;
using testing::Tensor;

class AnyBackend : public OpTest {};

template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST_P(AnyBackend, BringsBackWhatWasUploaded) {
  Random random(91);
  SCOPED_TRACE(random.trace());
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    const Tensor from = random.normal(dtype, {3, 7});
    Tensor to(dtype, {3, 7});
    const Buffer buffer = backend_->allocate(from.view().bytes());
    const TensorView there{buffer.data(), dtype, {3, 7}};
    backend_->upload(from.view(), there);
    backend_->synchronise();
    backend_->download(there, to.view());
    EXPECT_EQ(to.bytes(), from.bytes());
    std::vector<std::byte> room;
    const ConstTensorView host = backend_->on_host(there, room);
    EXPECT_EQ(std::memcmp(host.data, from.view().data, from.view().bytes()), 0);
  }
}

TEST_P(AnyBackend, CopiesRefuseWhatDoesNotFit) {
  const Tensor host(DType::kFloat32, {2, 3});
  const Buffer buffer = backend_->allocate(64);
  EXPECT_EQ(refusal([&] {
              backend_->upload(host.view(), {buffer.data(), DType::kFloat32, {3, 2}});
            }),
            "[upload] host is [2, 3], expected [3, 2]");
  EXPECT_EQ(refusal([&] {
              Tensor to(DType::kFloat32, {2, 3});
              backend_->download({buffer.data(), DType::kFloat16, {2, 3}}, to.view());
            }),
            "[download] host is float32, expected float16");
}

TEST_P(AnyBackend, WeightsKeepTheirStoredTypeAndMustBeAligned) {
  const Tensor host(stored(), {4, 5});
  const Weight weight = backend_->make_weight(host.view());
  EXPECT_FALSE(weight.empty());
  EXPECT_TRUE(Weight().empty());
  EXPECT_EQ(weight.dtype(), stored());
  EXPECT_EQ(weight.shape(), Shape({4, 5}));
  ConstTensorView askew = host.view();
  askew.data = askew.as<std::byte>() + 1;
  askew.shape = {3, 5};
  EXPECT_EQ(refusal([&] { backend_->make_weight(askew); }),
            "[make_weight] host is not aligned to its " + std::to_string(dtype_bytes(stored())) +
                "-byte elements");
  EXPECT_EQ(refusal([&] { backend_->make_weight(Tensor(DType::kFloat64, {2}).view()); }),
            "[make_weight] host is float64, expected float32, float16 or bfloat16");
}

// The table is the backend's own: what becomes of the host's does not matter.
TEST_P(AnyBackend, RopeTablesAreCopies) {
  Tensor cos(DType::kFloat32, {2, 1}, std::vector<double>{1.0, 0.5});
  Tensor sin(DType::kFloat32, {2, 1}, std::vector<double>{0.0, 0.25});
  const ResidentRopeTable table = backend_->make_rope_table(cos.view(), sin.view());
  cos.set(1, 7.0);
  sin.set(1, 7.0);
  EXPECT_EQ(table.positions(), 2);
  std::vector<std::byte> room;
  EXPECT_EQ(backend_->on_host(table.cos(), room).as<float>()[1], 0.5F);
  EXPECT_EQ(backend_->on_host(table.sin(), room).as<float>()[1], 0.25F);
}

TEST_P(AnyBackend, AnOperationIsOneFilePerBackend) {
  Random random(92);
  SCOPED_TRACE(random.trace());
  for (const DType dtype : {activation(), stored()}) {
    const Tensor x = random.normal(dtype, {2, 9});
    Tensor out(dtype, {2, 9});
    testing::negate(*backend_, here(x), back(out));
    for (std::int64_t i = 0; i < x.size(); ++i) EXPECT_EQ(out[i], -x[i]) << dtype_name(dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(, AnyBackend, ::testing::ValuesIn(testing::all_op_cases()),
                         testing::op_case_name);

}  // namespace
}  // namespace octlm::model::ops
