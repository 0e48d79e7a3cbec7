// results.jsonl of a run that somebody sent: read back, and rendered in every way.
#include "verify/run_file.h"

#include "formats/testing/fuzzing.h"
#include "formats/utf8.h"
#include "verify/read_back.h"
#include "verify/report/console.h"
#include "verify/report/html.h"
#include "verify/report/junit.h"
#include "verify/report/markdown.h"

namespace octlm::verify {
namespace {

void require_text(const std::string& page) {
  formats::testing::require(formats::find_invalid_utf8(page) == std::string::npos,
                            "a page is UTF-8");
}

void render(const RunResult& run) {
  require_text(html_report(run, {}));
  require_text(junit_xml(run));
  require_text(markdown_summary(run));
  require_text(console_table(run));
}

}  // namespace
}  // namespace octlm::verify

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm;
  static const formats::testing::InputFolder folder;
  folder.put("results.jsonl", formats::testing::text_of(data, size));
  verify::RunFile file;
  if (formats::testing::accepted<formats::FormatError>(
          [&] { file = verify::read_run_file(folder.path()); })) {
    verify::render(verify::read_back(file, verify::Program{}));
  }
  return 0;
}
