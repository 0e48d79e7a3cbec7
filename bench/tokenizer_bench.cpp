// The tokenizer in bytes per second, one thread. Reads $OCTLM_TOKENIZER/tokenizer.json, or Qwen3's
// where ../shared/models is beside the checkout. model/tokenizer/testing/huggingface_speed.py
// compares with Hugging Face's library in turns.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace octlm::bench {
namespace {

std::optional<std::filesystem::path> tokenizer_folder() {
  const char* given = std::getenv("OCTLM_TOKENIZER");
  const std::filesystem::path folder =
      given != nullptr
          ? std::filesystem::path(given)
          : std::filesystem::path(OCTLM_SOURCE_DIR).parent_path() / "shared/models/qwen3-0.6b";
  if (!std::filesystem::exists(folder / "tokenizer.json")) return std::nullopt;
  return folder;
}

// Words by Zipf's law, seeded.
std::string words(const std::vector<const char*>& vocabulary, const char* space,
                  std::size_t bytes) {
  std::vector<double> weights;
  for (std::size_t i = 0; i < vocabulary.size(); ++i)
    weights.push_back(1.0 / static_cast<double>(i + 2));
  std::mt19937 draw(1);
  std::discrete_distribution<std::size_t> word(weights.begin(), weights.end());
  std::string text;
  for (int i = 1; text.size() < bytes; ++i) {
    text += vocabulary[word(draw)];
    text += i % 12 == 0 ? (*space == ' ' ? ". " : "\u3002") : space;
  }
  return text;
}

std::string text_of(const std::string& kind) {
  constexpr std::size_t kBytes = 1'000'000;
  if (kind == "prose") {
    return words({"the",
                  "of",
                  "and",
                  "to",
                  "a",
                  "in",
                  "is",
                  "that",
                  "it",
                  "was",
                  "for",
                  "on",
                  "are",
                  "with",
                  "as",
                  "his",
                  "they",
                  "be",
                  "at",
                  "one",
                  "have",
                  "this",
                  "from",
                  "robot",
                  "key",
                  "found",
                  "little",
                  "verification",
                  "tokenizer",
                  "considerable",
                  "unquestionably",
                  "floccinaucinihilipilification"},
                 " ", kBytes);
  }
  if (kind == "chinese") {
    return words({"的",   "我们", "是",       "在",       "了",       "和",   "有",
                  "一个", "问题", "数据",     "训练",     "计算",     "方法", "结果",
                  "可以", "通过", "人工智能", "机器学习", "神经网络", "麒麟"},
                 "", kBytes);
  }
  if (kind == "code") {
    return words(
        {"self", "return", "    ", "\n", "(", ")", "=", "if", "for i in range(10):\n        ",
         "def f(x):\n    ", "x[i] += 1\n", "std::vector<int>", "0x1f", "\"text\"", "// comment\n"},
        " ", kBytes);
  }
  if (kind == "whitespace")
    return words({" ", "  ", "\n", "    ", "\t", "\n\n", "\r\n"}, " ", kBytes);
  std::mt19937 draw(2);
  std::string word(kBytes, 'x');
  for (char& c : word) c = static_cast<char>('a' + draw() % 26);
  return word;
}

void encode(benchmark::State& state, const std::string& kind) {
  const auto folder = tokenizer_folder();
  if (!folder)
    return state.SkipWithError("not run: there is no tokenizer.json; set OCTLM_TOKENIZER");
  const auto tokenizer = model::Tokenizer::load(*folder);
  const std::string text = text_of(kind);
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.encode_literal(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void decode(benchmark::State& state, const std::string& kind) {
  const auto folder = tokenizer_folder();
  if (!folder)
    return state.SkipWithError("not run: there is no tokenizer.json; set OCTLM_TOKENIZER");
  const auto tokenizer = model::Tokenizer::load(*folder);
  const std::string text = text_of(kind);
  const auto ids = tokenizer.encode_literal(text);
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.decode(ids));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void load(benchmark::State& state) {
  const auto folder = tokenizer_folder();
  if (!folder)
    return state.SkipWithError("not run: there is no tokenizer.json; set OCTLM_TOKENIZER");
  for (auto _ : state) benchmark::DoNotOptimize(model::Tokenizer::load(*folder));
  const auto bytes = std::filesystem::file_size(*folder / "tokenizer.json");
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

BENCHMARK_CAPTURE(encode, prose, "prose")->Unit(benchmark::kMillisecond)->MinTime(0.2);
BENCHMARK_CAPTURE(encode, chinese, "chinese")->Unit(benchmark::kMillisecond)->MinTime(0.2);
BENCHMARK_CAPTURE(encode, code, "code")->Unit(benchmark::kMillisecond)->MinTime(0.2);
BENCHMARK_CAPTURE(encode, whitespace, "whitespace")->Unit(benchmark::kMillisecond)->MinTime(0.2);
BENCHMARK_CAPTURE(encode, one_word, "one word")->Unit(benchmark::kMillisecond)->MinTime(0.2);
BENCHMARK_CAPTURE(decode, prose, "prose")->Unit(benchmark::kMillisecond)->MinTime(0.2);
BENCHMARK_CAPTURE(decode, chinese, "chinese")->Unit(benchmark::kMillisecond)->MinTime(0.2);
BENCHMARK(load)->Unit(benchmark::kMillisecond)->MinTime(0.5);

}  // namespace
}  // namespace octlm::bench

BENCHMARK_MAIN();
