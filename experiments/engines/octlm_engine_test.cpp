// The decoder's seams against live Transformers: what an observer is told of each module, and that
// a fault, one argument of one op, is seen.
#include "experiments/engines/octlm_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "experiments/engines/local_environment.h"
#include "experiments/kinds/logit_comparison.h"
#include "model/testing/tiny_checkpoint.h"
#include "reference/testing/sinks.h"
#include "reference/transformers/python.h"
#include "reference/transformers/transformers.h"

namespace octlm::experiments {
namespace {

using model::testing::make_tiny_checkpoint;
using model::testing::TemporaryFolder;
using reference::Split;

struct Seen {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
// (module, "input" or "output") -> the tensor
using Tensors = std::map<std::pair<std::string, std::string>, Seen>;

class Recorder final : public model::Observer {
 public:
  void input(const model::ModuleCall& call, const model::TensorView& x) override {
    record(call, "input", x);
  }
  void output(const model::ModuleCall& call, const model::ConstTensorView& y) override {
    record(call, "output", y);
  }
  Tensors tensors;

 private:
  void record(const model::ModuleCall& call, const char* side, const model::ConstTensorView& view) {
    Seen seen;
    for (int axis = 0; axis < view.shape.rank(); ++axis) seen.shape.push_back(view.shape[axis]);
    const auto* first = view.as<float>();
    seen.values.assign(first, first + view.shape.elements());
    EXPECT_EQ(std::ssize(call.positions), view.shape[0]) << call.module;
    EXPECT_TRUE(tensors.emplace(std::pair(call.module, side), seen).second) << call.module;
  }
};

const std::vector<std::int32_t> kIds = {3, 14, 15, 9, 26, 53, 58, 9, 7};

// Runs module_tensors.py with the environment's interpreter.
Tensors tensors_of_transformers(const std::filesystem::path& folder) {
  const auto values = folder / "values";
  std::string command = environment_python().string() + " -B " + OCTLM_SOURCE_DIR +
                        "/experiments/engines/testing/module_tensors.py " + folder.string() + " " +
                        values.string();
  for (const std::int32_t id : kIds) command += " " + std::to_string(id);
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (pipe == nullptr) throw std::runtime_error(command + ": cannot be run");
  Tensors tensors;
  std::vector<std::pair<std::string, std::string>> order;
  std::array<char, 1000> line{};
  while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const auto facts = nlohmann::json::parse(line.data());
    order.emplace_back(facts["module"], facts["side"]);
    tensors[order.back()].shape = facts["shape"].get<std::vector<std::int64_t>>();
  }
  if (pclose(pipe.release()) != 0) throw std::runtime_error(command + ": failed");
  std::ifstream file(values, std::ios::binary);
  for (const auto& key : order) {
    Seen& seen = tensors.at(key);
    std::size_t count = 1;
    for (const std::int64_t extent : seen.shape) count *= static_cast<std::size_t>(extent);
    seen.values.resize(count);
    file.read(reinterpret_cast<char*>(seen.values.data()),
              static_cast<std::streamsize>(count * sizeof(float)));
  }
  if (!file) throw std::runtime_error(values.string() + " is too short");
  return tensors;
}

// What we do not announce: the whole, which is its parts, and what is inside an op
// (model/observer.h).
bool announced(const std::string& module) {
  return !module.empty() && module != "model" && module != "model.rotary_emb" &&
         !module.ends_with("act_fn");
}

class Modules : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, Modules, ::testing::Values("qwen3", "llama"));

// Names, shapes and values of everything that goes into a module or comes out of it equal those of
// forward hooks on Transformers' module tree.
TEST_P(Modules, AreThoseOfTransformers) {
  TemporaryFolder folder;
  make_tiny_checkpoint({.model_type = GetParam(), .tie_word_embeddings = false})
      .write(folder.path());
  Tensors expected = tensors_of_transformers(folder.path());
  std::erase_if(expected, [](const auto& entry) { return !announced(entry.first.first); });

  Recorder recorder;
  const auto engine =
      make_octlm_engine({.folder = folder.path(), .threads = 2, .observer = &recorder});
  reference::testing::keep(*engine, {kIds, Split::full(), {}});

  for (const auto& [key, seen] : recorder.tensors) {
    EXPECT_TRUE(expected.contains(key))
        << key.first << ' ' << key.second << " is not in Transformers";
  }
  double worst = 0;
  for (const auto& [key, theirs] : expected) {
    const auto ours = recorder.tensors.find(key);
    ASSERT_NE(ours, recorder.tensors.end())
        << key.first << ' ' << key.second << " is not announced";
    ASSERT_EQ(ours->second.shape, theirs.shape) << key.first << ' ' << key.second;
    double largest = 1.0, error = 0.0;
    for (std::size_t i = 0; i < theirs.values.size(); ++i) {
      largest = std::max(largest, std::fabs(static_cast<double>(theirs.values[i])));
      error = std::max(error, std::fabs(static_cast<double>(theirs.values[i]) -
                                        static_cast<double>(ours->second.values[i])));
    }
    // Float32 rounding, accumulated over two layers of 32-wide sums; another tensor differs by its
    // size.
    EXPECT_LE(error, 2e-5 * largest) << key.first << ' ' << key.second;
    worst = std::max(worst, error / largest);
  }
  const std::size_t layer_modules = GetParam() == std::string("qwen3") ? 14 : 12;
  EXPECT_EQ(expected.size(), 2 * (2 * layer_modules + 3) - 1) << "embed_tokens has no input tensor";
  std::printf("  %s: %zu tensors, worst relative to the largest value %.1e\n", GetParam(),
              expected.size(), worst);
}

struct Planted {
  std::string name;
  model::Fault fault;
};

std::vector<Planted> planted() {
  using model::DType;
  std::vector<Planted> all;
  const auto plant = [&](const char* name, auto change) {
    model::Fault fault;
    change(fault);
    all.push_back({name, fault});
  };
  plant("rope_interleaved",
        [](auto& f) { f.rope_pairing = model::ops::RopePairing::kInterleaved; });
  plant("rope_sign", [](auto& f) { f.rope_direction = -1.0; });
  plant("rope_theta", [](auto& f) { f.rope_theta = 500.0; });
  plant("rope_phase_bfloat16", [](auto& f) { f.rope_phase_dtype = DType::kBFloat16; });
  plant("rope_inverse_frequency_bfloat16",
        [](auto& f) { f.rope_inverse_frequency_dtype = DType::kBFloat16; });
  plant("decode_position_plus_one", [](auto& f) { f.rope_cached_position_offset = 1; });
  plant("norm_eps", [](auto& f) { f.rms_norm_eps = 1e-2; });
  plant("norm_weight_plus_one", [](auto& f) { f.norm_weight_offset = 1.0; });
  plant("attention_scale", [](auto& f) { f.attention_scale = 0.2; });
  plant("kv_heads_tiled", [](auto& f) { f.kv_mapping = model::ops::KvMapping::kTile; });
  plant("mask_shifted", [](auto& f) { f.mask_offset = -1; });
  plant("mask_absent", [](auto& f) { f.causal = false; });
  return all;
}

// As in experiments/parity_test.cpp: float32 rounding at these sizes stays near 1e-5.
constexpr double kBound = 2e-4;

// One argument of one op differs, and nothing else in the program: parity with Transformers fails
// by at least ten times its bound. The same engine with a fault that changes nothing passes.
TEST(Fault, OneArgumentIsSeen) {
  TemporaryFolder folder;
  make_tiny_checkpoint({}).write(folder.path());
  const auto reference = reference::make_transformers(
      {.python = environment_python(), .folder = folder.path(), .threads = 2});
  std::vector<std::int32_t> ids(40);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>((i * i * 7 + i * 13 + 3) % 61);
  for (const char* dtype : {"float32", "float64"}) {
    const auto error = [&](const model::Fault* fault) {
      const auto subject = make_octlm_engine(
          {.folder = folder.path(), .dtype = dtype, .threads = 2, .fault = fault});
      const auto measurement = compare_logits({*subject, {ids, Split::parse("cached:half"), {}}},
                                              {*reference, {ids, Split::full(), {}}});
      return std::get<double>(measurement.metrics.at("max_abs_error@1"));
    };
    const model::Fault none;
    EXPECT_LE(error(&none), kBound);
    for (const Planted& one : planted()) {
      const double seen = error(&one.fault);
      EXPECT_GE(seen, 10 * kBound) << one.name << ' ' << dtype;
      std::printf("  %s %s: max abs error %.2e\n", dtype, one.name.c_str(), seen);
    }
  }
}

TEST(OctlmEngine, NamesTheDevicesAndDtypesThatItHas) {
  const auto message = [](const std::string& device, const std::string& dtype) {
    try {
      make_octlm_engine({.folder = "/nowhere", .dtype = dtype, .device = device});
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("abacus", "float32"), "device 'abacus' is not in this build; it has: cpu");
  EXPECT_EQ(message("cpu", "int8"), "dtype 'int8' is not in this build; it has: float32, float64");
}

}  // namespace
}  // namespace octlm::experiments

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  octlm::reference::flush_and_exit(RUN_ALL_TESTS());
}
