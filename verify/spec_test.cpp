#include "verify/spec.h"

#include <gmock/gmock.h>

#include "verify/testing/fake_experiment.h"

namespace octlm::verify {
namespace {

using testing::envelope_kinds;
using ::testing::HasSubstr;
using testing::message_of;

nlohmann::json table() {
  return formats::read_strict(std::filesystem::path(OCTLM_SOURCE_DIR) / "verify" /
                              "spec_variants.json");
}

Spec parse(const nlohmann::json& document) {
  static const std::vector<Kind> kinds = envelope_kinds();
  return parse_spec(document.dump(), "EXP-900.json", kinds);
}

// The same table is held against docs/spec.schema.json by spec_schema_test.py, and against the
// kinds by the tests of experiments.
TEST(Spec, EveryVariantOfTheTable) {
  const nlohmann::json all = table();
  for (const nlohmann::json& variant : all["variants"]) {
    if (variant["level"] == "kind") continue;
    const auto refused =
        message_of<formats::FormatError>([&] { parse(all["base"].patch(variant["patch"])); });
    EXPECT_EQ(refused.empty(), variant["valid"].get<bool>()) << variant["name"] << ": " << refused;
    if (variant.contains("says")) {
      EXPECT_THAT(refused, HasSubstr(variant["says"].get<std::string>())) << variant["name"];
    }
    if (!refused.empty()) {
      EXPECT_THAT(refused, HasSubstr("EXP-900.json: ")) << variant["name"];
    }
  }
}

TEST(Spec, HoldsWhatTheFileSays) {
  const Spec spec = parse(table()["base"]);
  EXPECT_EQ(spec.id, "EXP-900");
  EXPECT_TRUE(spec.has_tag("parity"));
  ASSERT_EQ(spec.criteria.size(), 2U);
  EXPECT_EQ(spec.criteria[0].metric, "max_abs_error@1");
  EXPECT_EQ(spec.criteria[0].bound, Criterion::Bound::kAtMost);
  EXPECT_EQ(std::get<double>(spec.criteria[0].limit), 0.001);
  EXPECT_EQ(std::get<bool>(spec.criteria[1].limit), true);
  EXPECT_EQ(spec.part("cases").array().at(1).path(), "$.cases[1]");
  EXPECT_EQ(spec.part("cases").file(), "EXP-900.json");
}

// Bounds that no JSON number can hold are refused by the parser, before any criterion.
TEST(Spec, RefusesBoundsThatAreNotFinite) {
  const std::string text = table()["base"].dump();
  const std::string bound = "\"at_most\":0.001";
  ASSERT_THAT(text, HasSubstr(bound));
  for (const char* wrong : {"NaN", "Infinity", "-Infinity", "1e999", "-1e999"}) {
    std::string changed = text;
    changed.replace(changed.find(bound), bound.size(), std::string("\"at_most\":") + wrong);
    EXPECT_THROW(parse_spec(changed, "f", envelope_kinds()), formats::FormatError) << wrong;
  }
}

std::string digest(const nlohmann::json& document) { return parse(document).sha256; }

TEST(SpecDigest, ProseDoesNotChangeIt) {
  const nlohmann::json base = table()["base"];
  for (const char* path :
       {"/title", "/question", "/prediction", "/criteria/0/derivation", "/cases/0/name"}) {
    nlohmann::json changed = base;
    changed[nlohmann::json::json_pointer(path)] = "other words";
    EXPECT_EQ(digest(changed), digest(base)) << path;
  }
  nlohmann::json spelt = base;
  spelt["criteria"][0]["at_most"] = 1e-3;
  spelt["schema"] = 1;
  EXPECT_EQ(digest(spelt), digest(base));
}

TEST(SpecDigest, EverythingElseDoes) {
  const nlohmann::json base = table()["base"];
  const std::pair<const char*, nlohmann::json> changes[] = {
      {"/id", "EXP-901"},
      {"/tags", nlohmann::json::array()},
      {"/model/id", "other"},
      {"/reference/tf32", true},
      {"/subject/paths/0", "chunked:2"},
      {"/cases/0/token_ids/0", 7},
      {"/cases/0/text", "twice"},
      {"/criteria/0/at_most", 0.0010000000000000002},
      {"/criteria/1", {{"metric", "max_ulp@1"}, {"equals", 0}}},
      {"/criteria/0/when", {{"device", "cpu"}}},
      {"/also_record", nlohmann::json::array()},
      {"/must_catch/0", "stale_kv_slot"},
      {"/stop_rule", "Try again."},
  };
  for (const auto& [path, value] : changes) {
    nlohmann::json changed = base;
    changed[nlohmann::json::json_pointer(path)] = value;
    EXPECT_NE(digest(changed), digest(base)) << path;
  }
}

// Where the schema is helps an editor, and says nothing of the claim.
TEST(SpecDigest, TheSchemasPlaceDoesNot) {
  nlohmann::json document = table()["base"];
  const std::string before = digest(document);
  document["$schema"] = "../../docs/spec.schema.json";
  EXPECT_EQ(digest(document), before);
}

TEST(Spec, IdsAndTags) {
  for (const char* id : {"EXP-1", "AB-123456789", "ABCDEFGHIJKL-0"})
    EXPECT_TRUE(is_experiment_id(id));
  for (const char* id : {"", "-", "EXP", "EXP-", "-1", "E-1", "ABCDEFGHIJKLM-1", "exp-1",
                         "EXP-1234567890", "EXP-1-2", "EXP-1 ", "EX P-1", "EXP-x"}) {
    EXPECT_FALSE(is_experiment_id(id)) << id;
  }
  const auto accepted = [](const std::string& tag) {
    nlohmann::json document = table()["base"];
    document["tags"] = {tag};
    const auto kinds = testing::envelope_kinds();
    try {
      (void)parse_spec(document.dump(), "f.json", kinds);
    } catch (const formats::FormatError&) {
      return false;
    }
    return true;
  };
  // std::regex once ended the program at a tag of 100 KB.
  for (const std::string& tag : {std::string("a"), std::string("0-x_y"), std::string(100'000, 'a')})
    EXPECT_TRUE(accepted(tag));
  for (const char* tag : {"", "-a", "_a", "A", "a b", "\u00e4"}) EXPECT_FALSE(accepted(tag)) << tag;
}

// A person mends a spec once, and not a fault at a time.
TEST(Spec, EverythingThatIsWrongIsSaidAtOnce) {
  nlohmann::json document = table()["base"];
  document["id"] = "no id";
  document["title"] = "";
  document["must_cach"] = nlohmann::json::array();
  document["criteria"][0]["at_most"] = "1e-3";
  document["criteria"][1]["metrik"] = "x";
  document["also_record"] = {"kl_maks@1"};
  document["subject"] = 7;
  const auto kinds = testing::envelope_kinds();
  std::string said;
  try {
    (void)parse_spec(document.dump(), "f.json", kinds);
  } catch (const formats::FormatError& error) {
    said = error.what();
  }
  const std::vector<std::string> wanted = {
      "f.json: $.id: expected an id like EXP-074",
      "f.json: $.title: is empty",
      "f.json: $.criteria[0].at_most: expected a number, found the string \"1e-3\"",
      "f.json: $.criteria[1].metrik: unknown key; did you mean \"metric\"?",
      "f.json: $.also_record[0]: \"kl_maks@1\" is not known; did you mean \"kl_max@1\"?",
      "f.json: $.subject: expected an object, found 7",
      "f.json: $.must_cach: unknown key; did you mean \"must_catch\"?"};
  for (const std::string& line : wanted) EXPECT_THAT(said, ::testing::HasSubstr(line));
  EXPECT_EQ(std::ranges::count(said, '\n') + 1, std::ssize(wanted)) << said;
}

TEST(SpecDigest, CaseNamesCountOnceACriterionRefersToThem) {
  nlohmann::json document = table()["base"];
  document["criteria"][0]["when"] = {{"case", "story"}};
  nlohmann::json renamed = document;
  renamed["cases"][1]["name"] = "other";
  EXPECT_NE(digest(renamed), digest(document));
}

TEST(SpecDigest, FilesCountByContent) {
  const testing::TemporaryFolder folder;
  std::vector<Kind> kinds = envelope_kinds();
  kinds[1].files = [&](const Spec&) {
    return std::map<std::string, std::filesystem::path>{{"prompts/a.json", folder.path() / "a"}};
  };
  const std::string text = table()["base"].dump();
  EXPECT_THAT(message_of<formats::FormatError>([&] { parse_spec(text, "f", kinds); }),
              HasSubstr("it names prompts/a.json"));
  std::ofstream(folder.path() / "a") << "one";
  const std::string before = parse_spec(text, "f", kinds).sha256;
  EXPECT_EQ(parse_spec(text, "f", kinds).sha256, before);
  std::ofstream(folder.path() / "a") << "two";
  EXPECT_NE(parse_spec(text, "f", kinds).sha256, before);
}

// Fixed: a change of the digest's definition would orphan every registered spec.
TEST(SpecDigest, IsWhatItWasWhenTheFormatWasPublished) {
  const auto document = nlohmann::json::parse(R"({
      "schema": 1, "id": "EXP-1", "title": "t", "kind": "logit_parity", "tags": [], "question": "q",
      "prediction": "p", "model": {}, "reference": {}, "subject": {}, "cases": [{"name": "n"}],
      "criteria": [{"metric": "finite@1", "equals": true}], "stop_rule": "s"})");
  const Spec spec = parse(document);
  EXPECT_EQ(digest_input(spec, {}),
            R"({"files":{},"spec":{"cases":[{}],"criteria":[{"equals":true,"metric":"finite@1"}],)"
            R"("id":"EXP-1","kind":"logit_parity","model":{},"reference":{},"schema":1,)"
            R"("stop_rule":"s","subject":{},"tags":[]}})");
  EXPECT_EQ(spec.sha256, "f2e47ee574600ba672bf060a1fde21071a9efd06d081e97b90728423002264f0");
}

TEST(FindKind, NamesTheNearest) {
  const auto kinds = envelope_kinds();
  EXPECT_EQ(find_kind("logit_parity", kinds, "here").name, "logit_parity");
  EXPECT_EQ(message_of<formats::FormatError>([&] { find_kind("logit_party", kinds, "here"); }),
            "here: there is no kind \"logit_party\"; did you mean \"logit_parity\"?");
}

}  // namespace
}  // namespace octlm::verify
