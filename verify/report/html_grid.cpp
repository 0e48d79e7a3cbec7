// The coverage grid: models down, device x dtype x path across. What nobody checked is hatched,
// never left out: the devices and types that the program lists have a column whatever was run.
// Where nothing at all was compared, one column stands for every path.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "verify/report/html_sections.h"
#include "verify/report/markup.h"
#include "verify/report/text.h"

namespace octlm::verify::html {
namespace {

constexpr std::size_t kShown = 16;  // models; more are one click away

struct Column {
  std::string device, dtype, path;
  bool itself = false;   // the subject against itself, or against a file: no second engine
  bool planned = false;  // false: a column that only shows that nothing was asked for

  std::string group() const { return device + "\n" + dtype; }
  auto rank(const Program& program) const {
    return std::make_tuple(program.device_rank(device), device, program.dtype_rank(dtype), dtype,
                           itself, program.path_rank(path), path);
  }
  bool same(const Column& other) const {
    return device == other.device && dtype == other.dtype && itself == other.itself &&
           path == other.path;
  }
};

// Everything that falls into one cell.
struct Cell {
  std::int64_t planned = 0, compared = 0, uncounted = 0;
  bool broke = false, error = false, no_verdict = false;
  bool not_a_number = false;  // one of those that broke has no share to show
  std::optional<double> used;
  std::string label;  // of what does not count
  // The experiment that the cell speaks of: that of its worst comparison.
  std::string decided_by;
  int rank = -1;  // of that comparison: the worse, the higher
};

// What a cell says is what is worst in it.
int rank_of(ComparisonState state) {
  switch (state) {
    case ComparisonState::kBroke:
      return 4;
    case ComparisonState::kError:
      return 3;
    case ComparisonState::kNoVerdict:
      return 2;
    case ComparisonState::kHeld:
      return 1;
    case ComparisonState::kNotRun:
      break;
  }
  return 0;
}

Column column_of(const ExperimentResult& experiment, const ComparisonKey& key) {
  Column column{key.device, key.dtype, key.path, !is_parity(experiment), true};
  if (column.path.empty()) column.path = experiment.kind;
  if (column.dtype.empty()) column.dtype = "as stored";
  return column;
}

void add_column(std::vector<Column>& columns, const Column& column) {
  const bool known =
      std::ranges::any_of(columns, [&](const Column& one) { return one.same(column); });
  if (!known) columns.push_back(column);
}

// The columns, and which of them a comparison belongs to.
class Columns {
 public:
  explicit Columns(const RunResult& run) {
    each(run, [&](const ExperimentResult& experiment, const ComparisonResult& comparison) {
      if (!comparison.not_run()) touched_.insert(column_of(experiment, comparison.key).group());
    });
    each(run, [&](const ExperimentResult& experiment, const ComparisonResult& comparison) {
      add_column(list_, shown(experiment, comparison.key));
    });
    const Program& program = run.info.program;
    for (const std::string& device : program.devices) {
      for (const Precision& precision : program.precisions) add_absent(device, precision);
    }
    std::ranges::sort(list_, {}, [&](const Column& one) { return one.rank(program); });
  }

  const std::vector<Column>& list() const { return list_; }
  std::size_t index(const ExperimentResult& experiment, const ComparisonKey& key) const {
    const Column column = shown(experiment, key);
    const auto at = std::ranges::find_if(
        list_, [&](const Column& one) { return one.planned && one.same(column); });
    return static_cast<std::size_t>(at - list_.begin());
  }

  template <class Action>
  static void each(const RunResult& run, const Action& action) {
    for (const ExperimentResult& experiment : run.experiments) {
      if (is_noise_floor(experiment)) continue;
      for (const ComparisonResult& comparison : experiment.comparisons)
        action(experiment, comparison);
    }
  }

 private:
  Column shown(const ExperimentResult& experiment, const ComparisonKey& key) const {
    Column column = column_of(experiment, key);
    if (!touched_.contains(column.group())) {
      column.path = "any path";
      column.itself = false;
    }
    return column;
  }
  bool has(const std::string& device, const std::string& dtype) const {
    return std::ranges::any_of(
        list_, [&](const Column& one) { return one.device == device && one.dtype == dtype; });
  }
  // Each type of the precision once one of them is there, else the precision itself.
  void add_absent(const std::string& device, const Precision& precision) {
    const bool some = std::ranges::any_of(
        precision.dtypes, [&](const std::string& dtype) { return has(device, dtype); });
    for (const std::string& dtype : some ? precision.dtypes : std::vector{precision.name}) {
      if (!has(device, dtype)) list_.push_back({device, dtype, "any path", false, false});
    }
  }

  std::set<std::string> touched_;  // the groups in which something was compared, or broke
  std::vector<Column> list_;
};

std::string model_of(const RunResult& run, const ExperimentResult& experiment) {
  return experiment.model.empty() ? "(no " + run.info.program.model + " named)" : experiment.model;
}

std::vector<std::string> models_of(const RunResult& run) {
  std::vector<std::string> models;
  for (const ExperimentResult& experiment : run.experiments) {
    const std::string name = model_of(run, experiment);
    if (std::ranges::find(models, name) == models.end()) models.push_back(name);
  }
  return models;
}

// Why what held on this device is no pass of the suite; "" when it is one, or when a criterion
// fails there and says so itself.
std::string uncounted_label(const RunResult& run, const ExperimentResult& experiment,
                            const std::string& device) {
  if (!counts(run, experiment)) return experiment.trust.label;
  for (const DeviceResult& one : experiment.judgement.devices) {
    if (one.device != device) continue;
    if (one.verdict == Verdict::kNotRun) return "no verdict";
    const bool said = std::ranges::any_of(
        experiment.judgement.criteria,
        [&](const CriterionResult& rule) { return rule.device == device && rule.holds == false; });
    if (one.verdict == Verdict::kFail && !said) return "failed before";
  }
  return "";
}

void add(const RunResult& run, const ExperimentResult& experiment,
         const ComparisonResult& comparison, Cell& cell) {
  ++cell.planned;
  const Judged found = judged(experiment, comparison);
  const int rank = rank_of(found.state);
  if (rank > cell.rank || (rank == cell.rank && found.used > cell.used)) {
    cell.rank = rank;
    cell.decided_by = experiment.id;
  }
  cell.error |= found.state == ComparisonState::kError;
  if (!comparison.measurement()) return;
  ++cell.compared;
  cell.broke |= found.state == ComparisonState::kBroke;
  cell.no_verdict |= found.state == ComparisonState::kNoVerdict;
  if (found.state == ComparisonState::kBroke) {
    cell.not_a_number |= !found.used;
  }
  if (found.used && !(cell.used && *cell.used >= *found.used)) cell.used = found.used;
  const std::string label = uncounted_label(run, experiment, comparison.key.device);
  if (label.empty()) return;
  ++cell.uncounted;
  cell.label = label;
}

// In the cell's colour; the experiment that decides it is one click away.
Markup td(const Markup& style, const Cell& cell, const Markup& content) {
  return "<td class=\"c " + style + "\">" + experiment_link(cell.decided_by, content) + "</td>";
}

Markup cell_markup(const Column& column, const Cell& cell) {
  if (!column.planned || cell.planned == 0) {
    return "<td class=\"c hatched\"><span aria-hidden=\"true\">–</span><span "
           "class=\"unseen\">not checked</span></td>";
  }
  Markup part;
  if (cell.compared < cell.planned) {
    part = "<small>" + number_markup(cell.compared) + " of " + number_markup(cell.planned) +
           "</small>";
  }
  const Markup used = for_markup(cell.used ? share_text(*cell.used) : "");
  if (cell.broke) {
    return td("fail", cell,
              "✕ " + (used.empty() || cell.not_a_number ? Markup("fail") : used) + part);
  }
  if (cell.error) return td("error", cell, "! error" + part);
  if (cell.compared == 0) return td("hatched", cell, "not run");
  if (cell.no_verdict) return td("hatched", cell, "no verdict" + part);
  const Markup held = used.empty() ? Markup("held") : used;
  if (cell.uncounted > 0) {
    return td("uncounted", cell,
              "◌ " + held + "<small>" + name_markup(cell.label) + "</small>" + part);
  }
  return td("pass", cell, "✓ " + held + part);
}

// "blocks:7" may break after the colon.
Markup path_markup(const Column& column) {
  std::string path = shortened(column.path, 160);
  std::ranges::replace(path, '_', ' ');
  const std::size_t after = path.find(':') == std::string::npos ? path.size() : path.find(':') + 1;
  Markup text = for_markup(path.substr(0, after));
  if (after < path.size()) text += "<wbr>" + for_markup(path.substr(after));
  if (column.itself && column.dtype != "as stored") text += "<small>vs itself</small>";
  return text;
}

// One row of headers: neighbours that say the same share a cell.
template <class Name>
Markup header_row(const std::vector<Column>& columns, const Name& name) {
  Markup row;
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t end = i + 1;
    while (end < columns.size() && name(columns[end]) == name(columns[i])) ++end;
    const std::string shown = name(columns[i]).substr(name(columns[i]).find('\n') + 1);
    row += "<th class=\"edge\" scope=\"colgroup\" colspan=\"" + number_markup(end - i) + "\">" +
           name_markup(shown) + "</th>";
    i = end;
  }
  return row;
}

Markup table_of(const std::vector<Column>& columns, const Markup& rows) {
  Markup head;
  for (const Column& column : columns) {
    head += "<th scope=\"col\" class=\"path\">" + path_markup(column) + "</th>";
  }
  return "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Coverage\"><table "
         "class=\"grid\"><thead><tr><td rowspan=\"3\"></td>" +
         header_row(columns, [](const Column& one) { return "\n" + one.device; }) + "</tr><tr>" +
         header_row(columns, [](const Column& one) { return one.group(); }) + "</tr><tr>" + head +
         "</tr></thead><tbody>" + rows + "</tbody></table></div>";
}

}  // namespace

Markup coverage_section(const RunResult& run) {
  const Columns known(run);
  const std::vector<Column>& columns = known.list();
  const std::vector<std::string> models = models_of(run);
  std::map<std::pair<std::string, std::size_t>, Cell> cells;
  Columns::each(run, [&](const ExperimentResult& experiment, const ComparisonResult& comparison) {
    const std::string model = model_of(run, experiment);
    add(run, experiment, comparison, cells[{model, known.index(experiment, comparison.key)}]);
  });
  const auto rows = [&](std::size_t from, std::size_t to) {
    Markup text;
    for (std::size_t m = from; m < to; ++m) {
      text += "<tr><th scope=\"row\" title=\"" + name_markup(models[m]) + "\">" +
              name_markup(models[m]) + "</th>";
      for (std::size_t i = 0; i < columns.size(); ++i) {
        text += cell_markup(columns[i], cells[{models[m], i}]);
      }
      text += "</tr>";
    }
    return text;
  };
  const std::size_t shown = std::min(models.size(), kShown);
  Markup first = rows(0, shown);
  if (models.empty()) {
    first = "<tr><th scope=\"row\">no experiment</th>";
    for (const Column& column : columns) first += cell_markup(column, {});
    first += "</tr>";
  }
  Markup table = table_of(columns, first);
  if (shown < models.size()) {
    table += "<details><summary>" + number_markup(models.size() - shown) + " more " +
             for_markup(run.info.program.model) + "s</summary>" +
             table_of(columns, rows(shown, models.size())) + "</details>";
  }
  return section(
      "coverage", "What was checked",
      table +
          "<p class=\"legend\">Share of the bound that the worst comparison used. Hatched: nothing "
          "was compared there; where it says –, no experiment of this run asks for it.</p>");
}

}  // namespace octlm::verify::html
