#include "verify/report/rendering.h"

#include "formats/error.h"
#include "formats/output_file.h"
#include "verify/lenient_json.h"
#include "verify/read_back.h"
#include "verify/report/html.h"
#include "verify/report/junit.h"
#include "verify/report/markdown.h"
#include "verify/run_file.h"

namespace octlm::verify {
namespace {

namespace fs = std::filesystem;

// The newest published run that was started before this one.
std::optional<PublishedRun> last_published(const RunResult& run, const Project& project) {
  std::optional<RunFile> last;
  std::string last_started;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(project.published(), error)) {
    if (!entry.is_directory()) continue;
    try {
      RunFile file = read_run_file(entry.path());
      const std::string started = string_of(member(file.run(), "started"));
      if (started >= run.info.started || started < last_started) continue;
      last_started = started;
      last = std::move(file);
    } catch (const formats::FormatError&) {
      // No run; the audit says so.
    }
  }
  if (!last) return std::nullopt;
  return PublishedRun{last->folder.filename().string(), difference(read_back(*last), run)};
}

}  // namespace

Rendered render_run(const fs::path& folder, const fs::path& to,
                    const std::optional<Project>& project) {
  const RunFile file = read_run_file(folder);
  Rendered made{.files = {}, .run = read_back(file), .torn = file.torn};
  ReportContext context{.published = std::nullopt, .torn = file.torn};
  if (project) context.published = last_published(made.run, *project);
  formats::replace_file(to / "summary.md", markdown_summary(made.run));
  formats::replace_file(to / "junit.xml", junit_xml(made.run));
  formats::replace_file(to / "report.html", html_report(made.run, context));
  made.files.assign(std::begin(kRenderings), std::end(kRenderings));
  return made;
}

bool is_published(const fs::path& folder, const Project& project) {
  std::error_code error;
  const fs::path published = fs::weakly_canonical(project.published(), error);
  return !error && fs::weakly_canonical(folder, error).parent_path() == published && !error;
}

void RenderedReports::run_finished(const RunResult& run) {
  render_run(run.info.folder, run.info.folder, project_);
}

}  // namespace octlm::verify
