#include "model/rope_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace octlm::model {
namespace {

Config config_of(double theta, std::int64_t head_dim) {
  Config config;
  config.rope_theta = theta;
  config.head_dim = head_dim;
  config.max_position_embeddings = 131072;
  return config;
}

Config llama3(double theta, std::int64_t head_dim, double factor) {
  Config config = config_of(theta, head_dim);
  config.rope_scaling = {RopeScaling::Kind::kLlama3, factor, 1.0, 4.0, 8192};
  return config;
}

// One float32 is enough to tell an exponent, a power and a reciprocal rounded to float32 from a
// table in double: pair 37 of Qwen3's 64 has the power 2942.7273 and not 2942.72717621.
TEST(RopeInverseFrequencies, RoundWhereTransformersRounds) {
  const auto inverse = rope_inverse_frequencies(RopeTableArguments(config_of(1e6, 128)));
  ASSERT_EQ(inverse.size(), 64U);
  EXPECT_EQ(inverse[0], 1.0F);
  EXPECT_EQ(inverse[37], 1.0F / 2942.7273F);
  EXPECT_NE(static_cast<double>(inverse[37]), 1.0 / std::pow(1e6, 74.0 / 128.0));
  EXPECT_FLOAT_EQ(inverse[63], static_cast<float>(1.0 / std::pow(1e6, 126.0 / 128.0)));
}

// The same numbers as the reference's meant_frequencies(150000, {}, 64), against which it measures
// its own; torch's vectorised pow gives other last bits here on AVX2.
TEST(RopeInverseFrequencies, ThePowerIsCorrectlyRounded) {
  const auto inverse = rope_inverse_frequencies(RopeTableArguments(config_of(1.5e5, 64)));
  const float expected[] = {1.0F,           0x1.60ca6ap-1F, 0x1.e62d44p-2F, 0x1.4eff54p-2F,
                            0x1.cda7f4p-3F, 0x1.3e19fap-3F, 0x1.b65f3cp-4F, 0x1.2e0ec8p-4F};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(inverse[i], expected[i]) << i;
}

// torch makes the exponent in float32, and has the base in it: either shows only where it is no
// short fraction. Powers from 200 bits, rounded once.
TEST(RopeInverseFrequencies, TheExponentAndTheBaseAreFloat32) {
  const auto thirds = rope_inverse_frequencies(RopeTableArguments(config_of(1e6, 96)));
  const float expected[] = {1.0F,           0x1.7ff222p-1F, 0x1.1feb34p-1F, 0x1.afd136p-2F,
                            0x1.43d136p-2F, 0x1.e5a84ap-3F, 0x1.6c310ep-3F, 0x1.111afp-3F,
                            0x1.999998p-4F, 0x1.33281ap-4F, 0x1.ccab88p-5F, 0x1.597428p-5F};
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(thirds[i], expected[i]) << i;
  const auto odd = rope_inverse_frequencies(RopeTableArguments(config_of(1000000.1, 64)));
  const float of_odd[] = {1.0F,           0x1.4c7bcp-1F,  0x1.afd136p-2F, 0x1.186a08p-2F,
                          0x1.6c310cp-3F, 0x1.d8ffacp-4F, 0x1.33281ap-4F, 0x1.8eec7cp-5F};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(odd[i], of_odd[i]) << i;
}

// ggml-org/llama.cpp#8676, unslothai/unsloth#6197: rope_type llama3 parsed and not used.
TEST(RopeInverseFrequencies, Llama3BandsOfLlama32) {
  const auto plain = rope_inverse_frequencies(RopeTableArguments(config_of(5e5, 64)));
  const auto scaled = rope_inverse_frequencies(RopeTableArguments(llama3(5e5, 64, 32)));
  for (std::size_t i = 0; i <= 14; ++i) EXPECT_EQ(scaled[i], plain[i]) << i;
  EXPECT_NEAR(scaled[15], 0.00129055, 5e-9);
  EXPECT_NEAR(scaled[16], 0.000429557, 5e-10);
  EXPECT_NEAR(scaled[17], 9.70829e-5, 5e-11);
  EXPECT_NEAR(scaled[18], 1.94616e-5, 5e-11);
  for (std::size_t i = 18; i < 32; ++i) EXPECT_EQ(scaled[i], plain[i] / 32) << i;
}

TEST(RopeInverseFrequencies, Llama3BandsOfLlama31) {
  const auto plain = rope_inverse_frequencies(RopeTableArguments(config_of(5e5, 128)));
  const auto scaled = rope_inverse_frequencies(RopeTableArguments(llama3(5e5, 128, 8)));
  for (std::size_t i = 0; i < 29; ++i) EXPECT_EQ(scaled[i], plain[i]) << i;
  EXPECT_NEAR(scaled[29], 0.00216657, 5e-9);
  for (std::size_t i = 29; i < 35; ++i) {
    EXPECT_LT(scaled[i], plain[i]) << i;
    EXPECT_GT(scaled[i], plain[i] / 8) << i;
  }
  for (std::size_t i = 35; i < 64; ++i) EXPECT_EQ(scaled[i], plain[i] / 8) << i;
}

// EleutherAI/gpt-neox#1003, huggingface/transformers#29285: a 16-bit phase. At position 1857 pair 1
// of (head_dim 32, theta 10000) has phase 1044.268 and cos 0.30669; in float16 1045 and -0.40816.
TEST(RopeTable, PhaseIsFloat32) {
  RopeTable table(config_of(1e4, 32));
  table.extend(1858);
  const auto cos = table.cos(1857, 1);
  EXPECT_EQ(cos.shape, Shape({1, 16}));
  EXPECT_NEAR(cos.as<float>()[1], 0.30669, 2e-4);
}

// The phase is one float32 product: at position 40,959 an exact phase would differ by up to 0.002
// rad.
TEST(RopeTable, LongPositionsUseTheRoundedPhase) {
  const Config config = config_of(1e6, 128);
  RopeTable table(config);
  table.extend(40960);
  const auto inverse = rope_inverse_frequencies(RopeTableArguments(config));
  int differ_from_exact = 0;
  for (std::size_t i = 0; i < inverse.size(); ++i) {
    const float phase = 40959.0F * inverse[i];
    EXPECT_EQ(table.sin(40959, 1).as<float>()[i],
              static_cast<float>(std::sin(static_cast<double>(phase))));
    const double exact = 40959.0 / std::pow(1e6, static_cast<double>(2 * i) / 128.0);
    if (std::abs(std::sin(exact) - static_cast<double>(table.sin(40959, 1).as<float>()[i])) >
        1e-5) {
      ++differ_from_exact;
    }
  }
  EXPECT_GT(differ_from_exact, 10) << "an exact table would pass unseen";
}

TEST(RopeTable, ExtendingKeepsWhatWasThere) {
  RopeTable table(config_of(1e4, 16));
  table.extend(3);
  std::vector<float> before(table.cos(0, 3).as<float>(), table.cos(0, 3).as<float>() + 3 * 8);
  table.extend(100);
  EXPECT_EQ(std::memcmp(before.data(), table.cos(0, 3).data, before.size() * sizeof(float)), 0);
  table.extend(2);  // shorter: nothing to do
  EXPECT_EQ(table.cos(99, 1).shape, Shape({1, 8}));
}

}  // namespace
}  // namespace octlm::model
