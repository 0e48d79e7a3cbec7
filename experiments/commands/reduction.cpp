#include "experiments/commands/reduction.h"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

#include "experiments/kinds/case_ids.h"
#include "experiments/kinds/model_experiment.h"
#include "verify/criteria.h"

namespace octlm::experiments {
namespace {

constexpr std::size_t kAtOnce = 1024;  // prefixes that one opening of the engines is for

using Json = nlohmann::json;

// "EXP-074" -> "REDUCED-074": no registered experiment has it.
std::string reduced_id(const std::string& id) { return "REDUCED" + id.substr(id.rfind('-')); }

// Metrics of the worst row: a longer sequence of the same rows and more cannot be better.
bool is_of_worst_row(const std::string& metric) {
  constexpr std::array kNames = {"max_abs_error@1", "max_ulp@1",      "kl_max@1",
                                 "finite@1",        "top5_overlap@1", "top10_overlap@1"};
  return std::ranges::find(kNames, metric) != kNames.end();
}

// Half of a prefix is not a beginning of half of the whole.
bool divides_alike(const std::string& path) { return path != "cached:half"; }

const Json& case_of(const Json& spec, const std::string& name) {
  for (const Json& one : spec.at("cases")) {
    if (one.value("name", "") == name) return one;
  }
  throw std::invalid_argument("the spec has no case \"" + name + "\"");
}

bool is_of_length(const Json& one) { return one.contains("length"); }

// The ids of the case, by the checkpoint's tokenizer where the spec gives a text.
std::vector<std::int32_t> ids_of(const verify::Spec& spec, const std::string& name,
                                 const verify::Experiment& experiment,
                                 const Environment& environment) {
  const ModelExperiment* about = about_a_model(experiment);
  std::vector<TokenCase> cases = about ? about->sequences() : std::vector<TokenCase>{};
  if (cases.empty())
    throw std::invalid_argument("a case of " + spec.kind + " has no token ids to shorten");
  const Json& one = case_of(spec.raw, name);
  if (is_of_length(one)) {
    auto ids = cases.front().token_ids;
    ids.resize(one.at("length").get<std::size_t>());
    return ids;
  }
  std::erase_if(cases, [&](const TokenCase& other) { return other.name != name; });
  const auto found = environment.find_checkpoint(about->model());
  if (const auto* absent = std::get_if<verify::NotRun>(&found))
    throw std::runtime_error(absent->reason);
  if (auto absent = fill_token_ids(cases, std::get<CheckpointFolder>(found).path))
    throw std::runtime_error(absent->reason);
  return cases.at(0).token_ids;
}

std::string length_name(std::size_t length) { return "first " + std::to_string(length); }

// Measures prefixes of one case.
class Prober {
 public:
  Prober(const verify::Spec& spec, verify::ComparisonKey key, std::vector<std::int32_t> ids,
         const Environment& environment, const std::vector<verify::Kind>& kinds)
      : spec_(spec),
        key_(std::move(key)),
        ids_(std::move(ids)),
        environment_(environment),
        kinds_(kinds) {}

  // Opens the engines for these lengths.
  void open(const std::vector<std::size_t>& lengths) {
    session_.reset();
    const Json document = prefix_spec(spec_.raw, key_, ids_, lengths, reduced_id(spec_.id));
    opened_ = verify::parse_spec(document.dump(), spec_.file, kinds_);
    experiment_ = verify::find_kind(opened_.kind, kinds_, spec_.file.string()).read(opened_);
    plan_ = experiment_->comparisons();
    auto made = experiment_->open(key_.device, environment_);
    if (const auto* absent = std::get_if<verify::NotRun>(&made))
      throw std::runtime_error(absent->reason);
    session_ = std::get<std::unique_ptr<verify::Session>>(std::move(made));
  }

  const PrefixResult& measure(std::size_t length) {
    const auto known = results_.find(length);
    if (known != results_.end()) return known->second;
    const auto planned = std::ranges::find_if(plan_, [&](const verify::ComparisonKey& key) {
      return key.case_name == length_name(length) && key.path == key_.path &&
             key.device == key_.device;
    });
    if (planned == plan_.end()) throw std::logic_error("a prefix that was not opened");
    auto outcome = session_->compare(static_cast<std::size_t>(planned - plan_.begin()));
    verify::ComparisonResult result{*planned, verify::NotRun{}};
    std::visit([&](auto& what) { result.outcome = std::move(what); }, outcome);
    auto judgement = verify::judge(opened_, std::span(&result, 1));
    return results_.emplace(length, PrefixResult{std::move(result), std::move(judgement)})
        .first->second;
  }
  bool fails(std::size_t length) {
    return measure(length).judgement.verdict == verify::Verdict::kFail;
  }

  const PrefixResult* known(std::size_t length) const {
    const auto found = results_.find(length);
    return found == results_.end() ? nullptr : &found->second;
  }
  const verify::Spec& spec() const { return opened_; }
  const std::vector<std::int32_t>& ids() const { return ids_; }
  std::int64_t measured() const { return std::ssize(results_); }

 private:
  const verify::Spec& spec_;
  verify::ComparisonKey key_;
  std::vector<std::int32_t> ids_;
  const Environment& environment_;
  const std::vector<verify::Kind>& kinds_;
  verify::Spec opened_;
  std::unique_ptr<verify::Experiment> experiment_;
  std::vector<verify::ComparisonKey> plan_;
  std::unique_ptr<verify::Session> session_;  // freed before the experiment it is of
  std::map<std::size_t, PrefixResult> results_;
};

// At most kAtOnce lengths of (above, last], evenly spaced, the last among them.
std::vector<std::size_t> spread(std::size_t above, std::size_t last) {
  const std::size_t count = std::min(last - above, kAtOnce);
  std::vector<std::size_t> lengths;
  for (std::size_t i = 1; i <= count; ++i) lengths.push_back(above + (last - above) * i / count);
  return lengths;
}

// REQUIRES: the whole fails. The smallest length that fails, when all longer ones do.
std::size_t bisect(Prober& prober) {
  std::size_t holds = 0, fails = prober.ids().size();
  while (fails - holds > 1) {
    const auto lengths = spread(holds, fails);
    prober.open(lengths);
    const auto first = std::ranges::partition_point(
        lengths, [&](std::size_t length) { return !prober.fails(length); });
    fails = *first;
    if (first != lengths.begin())
      holds = *(first - 1);
    else if (lengths.size() == fails - holds)
      break;
  }
  return fails;
}

std::size_t scan(Prober& prober) {
  const std::size_t all = prober.ids().size();
  for (std::size_t above = 0; above < all; above += kAtOnce) {
    const std::size_t last = std::min(above + kAtOnce, all);
    prober.open(spread(above, last));
    for (std::size_t length = above + 1; length <= last; ++length) {
      if (prober.fails(length)) return length;
    }
  }
  return all;
}

// Measures the whole, which has to fail again.
void require_failure(Prober& prober) {
  prober.open({prober.ids().size()});
  const PrefixResult& whole = prober.measure(prober.ids().size());
  if (const auto* absent = whole.comparison.not_run()) throw std::runtime_error(absent->reason);
  if (whole.judgement.verdict == verify::Verdict::kFail) return;
  throw std::invalid_argument(
      "measured again here, the case does not fail: there is nothing to "
      "reduce");
}

}  // namespace

Json prefix_spec(const Json& spec, const verify::ComparisonKey& key,
                 const std::vector<std::int32_t>& ids, const std::vector<std::size_t>& lengths,
                 const std::string& id) {
  Json made = spec;
  made["id"] = id;
  made["title"] = "A failing beginning of '" + key.case_name + "' of " + spec.value("id", "");
  made["cases"] = Json::array();
  const bool of_length = is_of_length(case_of(spec, key.case_name));
  for (const std::size_t length : lengths) {
    Json one = {{"name", length_name(length)}};
    if (of_length) {
      one["length"] = length;
    } else {
      one["token_ids"] =
          std::vector(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(length));
    }
    made["cases"].push_back(std::move(one));
  }
  if (made.contains("subject") && made["subject"].contains("devices"))
    made["subject"]["devices"] = {key.device};
  if (made.contains("subject") && made["subject"].contains("paths"))
    made["subject"]["paths"] = {key.path};
  // They judged this comparison, and now judge nothing else.
  made["criteria"] = Json::array();
  const std::map<std::string, std::string> own = {
      {"case", key.case_name}, {"path", key.path}, {"device", key.device}, {"dtype", key.dtype}};
  for (Json criterion : spec.at("criteria")) {
    bool judges = true;
    const Json when = criterion.value("when", Json::object());
    for (const auto& [what, value] : when.items())
      judges &= own.contains(what) && value == own.at(what);
    criterion.erase("when");
    if (judges) made["criteria"].push_back(std::move(criterion));
  }
  return made;
}

Reduction reduce_case(const verify::Spec& spec, const verify::ComparisonKey& failing,
                      const Environment& environment, const std::vector<verify::Kind>& kinds) {
  const auto experiment = verify::find_kind(spec.kind, kinds, spec.file.string()).read(spec);
  Prober prober(spec, failing, ids_of(spec, failing.case_name, *experiment, environment),
                environment, kinds);
  require_failure(prober);
  Reduction made;
  made.of = prober.ids().size();
  made.bisected =
      divides_alike(failing.path) &&
      std::ranges::all_of(prober.spec().criteria, is_of_worst_row, &verify::Criterion::metric);
  const std::size_t length = made.bisected ? bisect(prober) : scan(prober);
  made.token_ids = prober.ids();
  made.token_ids.resize(length);
  made.measured = prober.measured();
  made.result = *prober.known(length);
  if (const PrefixResult* shorter = prober.known(length - 1)) made.shorter = *shorter;
  made.spec = prefix_spec(spec.raw, failing, prober.ids(), {length}, reduced_id(spec.id));
  return made;
}

}  // namespace octlm::experiments
