// Is 1 + 2 + ... + n equal to n (n + 1) / 2? An experiment without a language model: sums REPORTS
// [ERROR]
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numeric>

#include "verify/metrics/metrics.h"
#include "verify/report/console.h"
#include "verify/runner.h"

namespace verify = octlm::verify;

struct Sums : verify::Experiment {
  float error = 0;
  std::vector<verify::ComparisonKey> comparisons() const override {
    return {{"up to 100", "", "here", "float32"}};
  }
  verify::Opened open(const std::string&, const verify::Host&) const override;
};

struct Addition : verify::Session {
  float error = 0;
  verify::Outcome compare(std::size_t) override {
    std::vector<float> numbers(100), sums(100), formula(100);
    std::iota(numbers.begin(), numbers.end(), 1.0F);
    std::partial_sum(numbers.begin(), numbers.end(), sums.begin());
    for (std::size_t i = 0; i < 100; ++i) formula[i] = numbers[i] * (numbers[i] + 1) / 2 + error;
    verify::RowComparison rows;
    rows.add(0, sums, formula);
    return verify::Measurement{rows.metrics(),
                               {{"subject", {{"engine", "addition"}}},
                                {"reference", {{"engine", "formula"}}},
                                {"positions", 1},
                                {"calls", {{"subject", {{0, 1}}}}},
                                {"worst", verify::place_json(*rows.worst(), "column")}}};
  }
};

verify::Opened Sums::open(const std::string&, const verify::Host&) const {
  auto addition = std::make_unique<Addition>();
  addition->error = error;
  return addition;
}

int main(int argc, char** argv) {
  const float error = argc > 2 ? std::strtof(argv[2], nullptr) : 0;
  verify::Kind kind = {.name = "sums", .summary = "", .role = verify::Role::kSelf};
  kind.read = [error](const verify::Spec&) {
    auto sums = std::make_unique<Sums>();
    sums->error = error;
    return sums;
  };
  const std::vector<verify::Kind> kinds = {kind};
  const auto spec = verify::parse_spec(R"({
    "schema": 1, "id": "EXP-1", "title": "Gauss was right", "kind": "sums", "tags": [],
    "question": "Do the sums equal the formula?", "prediction": "Yes, to the bit.",
    "criteria": [{"metric": "max_abs_error@1", "at_most": 0, "derivation": "integers below 2^24"}],
    "stop_rule": "A failure is reported."})",
                                       "sums.json", kinds);
  std::vector<verify::RunItem> items;
  items.push_back(verify::read_item(spec, kinds));
  verify::RunOptions options;
  options.reports = argv[1];
  options.info.program.name = "sums";
  verify::ConsoleReport console(std::cout, std::cout, {});
  options.more_reports = {&console};
  const auto result = verify::run(options, items);
  std::printf("%s: %s\n", spec.id.c_str(), result.experiments[0].judgement.reason.c_str());
  return result.summary.exit_code;
}
