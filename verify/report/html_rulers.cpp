// One ruler for each experiment, all on one logarithmic axis: how far the reference is from itself,
// what was measured, the bound, and the smallest planted fault that was caught. Places are in
// percent of the width, so that marks keep their shape on any screen.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "verify/report/html_sections.h"
#include "verify/report/markup.h"
#include "verify/report/text.h"

namespace octlm::verify::html {
namespace {

constexpr std::size_t kShown = 16;  // more are one click away

struct Ruler {
  const ExperimentResult* experiment = nullptr;
  const CriterionResult* criterion = nullptr;  // an upper bound on a number, above zero
  double bound = 0, measured = 0;
  std::optional<NoiseFloor> floor;
};

std::optional<Ruler> ruler_of(const RunResult& run, const ExperimentResult& experiment) {
  std::optional<Ruler> ruler;
  for (const CriterionResult& criterion : experiment.judgement.criteria) {
    const double* bound = std::get_if<double>(&criterion.limit);
    if (criterion.bound != Criterion::Bound::kAtMost || criterion.implied || bound == nullptr ||
        !(*bound > 0) || !std::isfinite(*bound) || !criterion.value) {
      continue;
    }
    const double used = criterion.used.value_or(HUGE_VAL);
    if (ruler && used <= ruler->criterion->used.value_or(HUGE_VAL)) continue;
    ruler = {&experiment, &criterion, *bound, as_number(*criterion.value), std::nullopt};
  }
  if (ruler && !is_noise_floor(experiment)) {
    ruler->floor =
        noise_floor(run, experiment.model, ruler->criterion->device, ruler->criterion->metric);
  }
  return ruler;
}

// Whole decades around everything that is drawn.
class Axis {
 public:
  explicit Axis(const std::vector<Ruler>& rulers) {
    for (const Ruler& ruler : rulers) {
      take(ruler.bound);
      take(ruler.measured);
      if (ruler.floor) take(ruler.floor->value);
    }
    if (first_ > last_) first_ = last_ = 0;
    --first_;
    if (last_ - first_ < 2) last_ = first_ + 2;
  }
  int first() const { return first_; }
  int last() const { return last_; }
  // Zero, and what is smaller than the axis, stands at its left end.
  double percent(double value) const {
    const double at = value > 0 ? std::log10(value) : first_;
    return 100 * std::clamp((at - first_) / (last_ - first_), 0.0, 1.0);
  }

 private:
  void take(double value) {
    if (!std::isfinite(value) || value <= 0) return;
    const double at = std::clamp(std::log10(value), -30.0, 30.0);
    first_ = std::min(first_, static_cast<int>(std::floor(at)));
    last_ = std::max(last_, static_cast<int>(std::floor(at)) + 1);  // room to the right of a bound
  }
  int first_ = 1000, last_ = -1000;
};

Markup percent_text(double percent) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f%%", percent);
  return for_markup(text);
}

Markup at(double percent, const Markup& shape) {
  return "<svg x=\"" + percent_text(percent) + "\" y=\"13\" overflow=\"visible\">" + shape +
         "</svg>";
}

Markup drawing(const Ruler& ruler, const Axis& axis) {
  const Markup measured = percent_text(axis.percent(ruler.measured));
  const Markup bound = percent_text(axis.percent(ruler.bound));
  Markup text = "<svg class=\"ruler\" height=\"26\" width=\"100%\" aria-hidden=\"true\">";
  for (int decade = axis.first(); decade <= axis.last(); ++decade) {
    const Markup x = percent_text(axis.percent(std::pow(10.0, decade)));
    text += "<line class=\"tick\" x1=\"" + x + "\" x2=\"" + x + "\" y1=\"0\" y2=\"26\"/>";
  }
  text += "<line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"13\" y2=\"13\"/>";
  if (std::isfinite(ruler.measured)) {
    text += "<line class=\"reach\" x1=\"0\" x2=\"" + measured + "\" y1=\"13\" y2=\"13\"/>";
  }
  text += "<rect class=\"over\" x=\"" + bound + "\" y=\"3\" width=\"" +
          percent_text(100 - axis.percent(ruler.bound)) + "\" height=\"20\"/>";
  text += "<line class=\"bound\" x1=\"" + bound + "\" x2=\"" + bound + "\" y1=\"3\" y2=\"23\"/>";
  if (ruler.floor) {
    text +=
        at(axis.percent(ruler.floor->value), "<path class=\"floor\" d=\"M0-6L6 0L0 6L-6 0Z\"/>");
  }
  if (std::isfinite(ruler.measured)) {
    text += at(axis.percent(ruler.measured), "<circle class=\"measured\" r=\"4.5\"/>");
  }
  return text + "</svg>";
}

Markup axis_row(const Axis& axis) {
  Markup text =
      "<div class=\"rule axis-row\" aria-hidden=\"true\"><span></span><svg class=\"ruler\" "
      "height=\"18\" width=\"100%\">";
  const int step = 1 + (axis.last() - axis.first()) / 9;
  for (int decade = axis.first(); decade <= axis.last(); decade += step) {
    const bool left = decade == axis.first(), right = decade + step > axis.last();
    text += "<text class=\"label\" y=\"13\" x=\"" +
            percent_text(axis.percent(std::pow(10.0, decade))) + "\" text-anchor=\"" +
            (left    ? Markup("start")
             : right ? Markup("end")
                     : Markup("middle")) +
            "\">1e" + number_markup(decade) + "</text>";
  }
  return text + "</svg></div>";
}

Markup row(const Ruler& ruler, const Axis& axis) {
  const CriterionResult& criterion = *ruler.criterion;
  const std::string floor = is_noise_floor(*ruler.experiment) ? "is the floor"
                            : ruler.floor                     ? short_number(ruler.floor->value)
                                                              : "not measured";
  const Markup ink = criterion.holds == true ? Markup() : Markup("fail-ink");
  return "<div class=\"rule\"><span class=\"who\"><b>" + experiment_link(ruler.experiment->id) +
         "</b> <span class=\"quiet\">" + name_markup(criterion.metric) + " " +
         name_markup(criterion.device) + "</span></span>" + drawing(ruler, axis) +
         "<span class=\"num\"><b class=\"" + ink + "\">" +
         for_markup(short_number(ruler.measured)) + "</b> of " +
         for_markup(short_number(ruler.bound)) + "</span><span class=\"num\">" +
         for_markup(used_text(criterion)) +
         "</span><span class=\"quiet\"><i class=\"k-floor\">◇</i> " + for_markup(floor) +
         "</span><span class=\"quiet\">▽ not measured</span></div>";
}

Markup without_ruler(const std::vector<std::string>& ids) {
  if (ids.empty()) return "";
  Markup text;
  for (std::size_t i = 0; i < ids.size() && i < 12; ++i) {
    if (i > 0) text += ", ";
    text += experiment_link(ids[i]);
  }
  if (ids.size() > 12) text += " and " + number_markup(ids.size() - 12) + " more";
  return "<p class=\"legend\">No ruler, because nothing was measured or no criterion is an upper "
         "bound on a number: " +
         text + ".</p>";
}

}  // namespace

Markup rulers_section(const RunResult& run) {
  std::vector<Ruler> rulers;
  std::vector<std::string> without;
  for (const ExperimentResult& experiment : run.experiments) {
    if (const auto ruler = ruler_of(run, experiment)) {
      rulers.push_back(*ruler);
    } else {
      without.push_back(experiment.id);
    }
  }
  const Axis axis(rulers);
  Markup shown, more;
  for (std::size_t i = 0; i < rulers.size(); ++i)
    (i < kShown ? shown : more) += row(rulers[i], axis);
  Markup text;
  if (!rulers.empty()) {
    text =
        "<p class=\"legend key\"><span><i class=\"k-floor\">◇</i> noise floor, the reference "
        "against itself</span><span><i class=\"k-measured\">●</i> measured</span><span><i "
        "class=\"k-bound\">|</i> bound</span><span>▽ smallest planted fault caught</span></p><div "
        "class=\"rulers\">" +
        shown + axis_row(axis) + "</div>";
  }
  if (!more.empty()) {
    text += "<details><summary>" + number_markup(rulers.size() - kShown) +
            " more rulers</summary><div class=\"rulers\">" + more + axis_row(axis) +
            "</div></details>";
  }
  return section("rulers", "How far apart, and how far is allowed", text + without_ruler(without));
}

}  // namespace octlm::verify::html
