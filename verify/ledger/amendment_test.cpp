#include "verify/ledger/amendment.h"

#include <gmock/gmock.h>

#include <functional>

namespace octlm::verify {
namespace {

using Json = nlohmann::json;

Json spec() {
  return {{"id", "EXP-1"},
          {"title", "t"},
          {"question", "q"},
          {"prediction", "p"},
          {"kind", "logit_parity"},
          {"tags", {"parity"}},
          {"model", {{"id", "m"}}},
          {"reference", {{"attention", "eager"}}},
          {"subject",
           {{"engine", "octlm"},
            {"dtype", "float32"},
            {"devices", {"cpu"}},
            {"paths", {"full", "cached:half"}}}},
          {"cases", {{{"name", "a"}, {"token_ids", {1, 2}}}, {{"name", "b"}, {"token_ids", {3}}}}},
          {"criteria",
           {{{"metric", "max_abs_error@1"}, {"at_most", 1e-3}, {"derivation", "d"}},
            {{"metric", "top1_agreement@1"}, {"at_least", 0.9}, {"derivation", "d"}},
            {{"metric", "finite@1"}, {"equals", true}}}},
          {"also_record", {"kl_max@1"}},
          {"must_catch", {"swap_k_v_proj"}},
          {"stop_rule", "s"}};
}

Amendment of(const std::function<void(Json&)>& change) {
  Json before = {{"spec", spec()}, {"files", {{"a.json", "1"}}}};
  Json after = before;
  change(after);
  return amendment(before, after);
}

struct Row {
  const char* name;
  const char* expected;  // class, and the fields that changed
  std::function<void(Json& spec)> change;
};

class Changes : public ::testing::TestWithParam<Row> {};

TEST_P(Changes, HaveTheirClass) {
  const Amendment made = of([&](Json& after) { GetParam().change(after["spec"]); });
  std::string text = made.class_name();
  for (const Change& change : made.changes) text += " " + change.field;
  EXPECT_EQ(text, GetParam().expected);
}

const Json kCase = {{"name", "c"}, {"token_ids", {9}}};

INSTANTIATE_TEST_SUITE_P(
    Table, Changes,
    ::testing::Values(Row{"case added", "narrowing cases",
                          [](Json& s) { s["cases"].push_back(kCase); }},
                      Row{"case removed", "loosening cases", [](Json& s) { s["cases"].erase(0); }},
                      Row{"case changed", "loosening cases cases",
                          [](Json& s) { s["cases"][0]["token_ids"] = {7}; }},
                      Row{"case renamed", "narrowing cases.name",
                          [](Json& s) { s["cases"][0]["name"] = "z"; }},
                      Row{"cases reordered", "narrowing cases",
                          [](Json& s) { std::swap(s["cases"][0], s["cases"][1]); }},
                      Row{"case said twice, once removed", "loosening cases cases",
                          [](Json& s) { s["cases"][0] = s["cases"][1]; }},
                      Row{"path added", "narrowing subject.paths",
                          [](Json& s) { s["subject"]["paths"].push_back("chunked:7"); }},
                      Row{"path removed", "loosening subject.paths",
                          [](Json& s) { s["subject"]["paths"].erase(1); }},
                      Row{"device added", "narrowing subject.devices",
                          [](Json& s) { s["subject"]["devices"].push_back("cuda"); }},
                      Row{"device exchanged", "loosening subject.devices subject.devices",
                          [](Json& s) { s["subject"]["devices"] = {"cuda"}; }},
                      Row{"dtype", "loosening subject.dtype",
                          [](Json& s) { s["subject"]["dtype"] = "bfloat16"; }},
                      Row{"subject gone", "loosening subject", [](Json& s) { s.erase("subject"); }},
                      Row{"fault added", "narrowing must_catch",
                          [](Json& s) { s["must_catch"].push_back("x"); }},
                      Row{"fault removed", "loosening must_catch",
                          [](Json& s) { s["must_catch"].clear(); }},
                      Row{"metric recorded", "narrowing also_record",
                          [](Json& s) { s["also_record"].push_back("x@1"); }},
                      Row{"metric no longer recorded", "loosening also_record",
                          [](Json& s) { s.erase("also_record"); }},
                      Row{"bound tightened", "narrowing criteria[max_abs_error@1].at_most",
                          [](Json& s) { s["criteria"][0]["at_most"] = 1e-4; }},
                      Row{"bound relaxed", "loosening criteria[max_abs_error@1].at_most",
                          [](Json& s) { s["criteria"][0]["at_most"] = 2e-3; }},
                      Row{"at_least raised", "narrowing criteria[top1_agreement@1].at_least",
                          [](Json& s) { s["criteria"][1]["at_least"] = 1; }},
                      Row{"at_least lowered", "loosening criteria[top1_agreement@1].at_least",
                          [](Json& s) { s["criteria"][1]["at_least"] = 0.5; }},
                      Row{"equals changed", "loosening criteria[finite@1].equals",
                          [](Json& s) { s["criteria"][2]["equals"] = false; }},
                      Row{"bound turned round", "loosening criteria criteria",
                          [](Json& s) {
                            s["criteria"][0].erase("at_most");
                            s["criteria"][0]["at_least"] = 1e-3;
                          }},
                      Row{"criterion limited", "loosening criteria criteria",
                          [](Json& s) {
                            s["criteria"][0]["when"] = {{"device", "cpu"}};
                          }},
                      Row{"criterion added", "narrowing criteria",
                          [](Json& s) {
                            s["criteria"].push_back({{"metric", "rel_l2@1"}, {"at_most", 1}});
                          }},
                      Row{"criterion removed", "loosening criteria",
                          [](Json& s) { s["criteria"].erase(0); }},
                      Row{"metric changed", "loosening criteria criteria",
                          [](Json& s) { s["criteria"][0]["metric"] = "max_abs_error@2"; }},
                      Row{"prose",
                          "narrowing criteria[max_abs_error@1].derivation prediction question "
                          "title",
                          [](Json& s) {
                            s["title"] = s["question"] = s["prediction"] =
                                s["criteria"][0]["derivation"] = "new";
                          }},
                      Row{"stop rule", "loosening stop_rule",
                          [](Json& s) { s["stop_rule"] = "Try again."; }},
                      Row{"tag", "loosening tags", [](Json& s) { s["tags"].push_back("slow"); }},
                      Row{"model", "loosening model", [](Json& s) { s["model"]["id"] = "other"; }},
                      Row{"reference", "loosening reference",
                          [](Json& s) { s["reference"]["attention"] = "sdpa"; }},
                      Row{"parameters", "loosening parameters",
                          [](Json& s) { s["parameters"] = {{"n", 1}}; }},
                      Row{"mixed", "loosening cases criteria[max_abs_error@1].at_most",
                          [](Json& s) {
                            s["cases"].push_back(kCase);
                            s["criteria"][0]["at_most"] = 1;
                          }},
                      Row{"nothing", "narrowing", [](Json&) {}}),
    [](const auto& row) {
      std::string name = row.param.name;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
      return name;
    });

// A name is no prose where a criterion speaks of it.
TEST(Changes, ARenamedCaseThatACriterionNames) {
  const Json judged = {{"metric", "rel_l2@1"}, {"at_most", 1}, {"when", {{"case", "a"}}}};
  Json before = {{"spec", spec()}, {"files", Json::object()}};
  before["spec"]["criteria"].push_back(judged);
  Json after = before;
  after["spec"]["cases"][1]["name"] = "z";
  EXPECT_EQ(amendment(before, after).class_name(), "loosening");
}

TEST(Changes, OfFiles) {
  EXPECT_EQ(of([](Json& after) { after["files"]["a.json"] = "2"; }).class_name(), "loosening");
  EXPECT_EQ(of([](Json& after) { after["files"].clear(); }).class_name(), "loosening");
  EXPECT_EQ(of([](Json& after) { after["files"]["b.json"] = "2"; }).class_name(), "narrowing");
}

TEST(Changes, AsTheyAreWritten) {
  const auto json =
      of([](Json& after) { after["spec"]["criteria"][0]["at_most"] = 2e-3; }).changes_json();
  EXPECT_EQ(json, (Json{{{"field", "criteria[max_abs_error@1].at_most"},
                         {"from", 1e-3},
                         {"to", 2e-3},
                         {"class", "loosening"}}}));
}

}  // namespace
}  // namespace octlm::verify
