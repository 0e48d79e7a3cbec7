// The error by position of an experiment's comparisons, drawn: a line for each over a logarithmic
// axis, with the bound, the noise floor and the place where the subject's first call ends; below it
// how many positions have an error of which size. Places across are in percent of the width, so
// that labels keep their size on any screen, and stand beside the plot: to its left the decades, to
// its right bound and floor, moved apart where they are close, above it the split.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <span>

#include "verify/report/error_shape.h"
#include "verify/report/html_sections.h"
#include "verify/report/text.h"

namespace octlm::verify::html {
namespace {

constexpr const char* kMetric = "max_abs_error@1";  // what a line is drawn of
constexpr std::size_t kLines = 60;                  // of a chart; those of the largest errors
constexpr std::size_t kLinesOfPage = 400;           // of all charts together
constexpr double kHigh = 200, kBarsHigh = 84;       // of the two plots, in pixels

// What a line of its own is drawn and labelled for.
struct Level {
  std::string label;
  double value = 0;
  bool is_bound = false;
};

struct Line {
  const ComparisonResult* comparison = nullptr;
  const ErrorByPosition* errors = nullptr;
  double largest = 0;                    // infinite when something is not finite
  std::optional<std::size_t> first_bad;  // the first bin above the bound
  std::optional<std::int64_t> split;
};

struct Chart {
  std::vector<Line> lines;  // the largest error first
  std::size_t drawn = 0;    // so many of them
  std::vector<Level> levels;
  std::int64_t last = 0;     // position
  double low = 0, high = 0;  // decades
};

// The upper bound that a criterion sets on the metric that is drawn; nullptr when it sets none.
const double* bound_of(const CriterionResult& one) {
  const bool bounds = one.metric == kMetric && one.bound == Criterion::Bound::kAtMost;
  return bounds && !one.implied ? std::get_if<double>(&one.limit) : nullptr;
}

// Upper bounds on the error, of the devices that were compared.
std::vector<double> bounds_of(const ExperimentResult& experiment) {
  std::set<double> bounds;
  for (const CriterionResult& one : experiment.judgement.criteria) {
    const double* limit = bound_of(one);
    if (limit && std::isfinite(*limit) && *limit > 0 && one.value) bounds.insert(*limit);
  }
  return {bounds.begin(), bounds.end()};
}

std::vector<Level> levels_of(const RunResult& run, const ExperimentResult& experiment) {
  std::vector<Level> levels;
  for (const double bound : bounds_of(experiment)) {
    if (levels.size() < 3) levels.push_back({"bound " + short_number(bound), bound, true});
  }
  if (is_noise_floor(experiment)) return levels;
  std::set<std::string> devices;
  for (const ComparisonResult& one : experiment.comparisons) {
    if (one.measurement()) devices.insert(one.key.device);
  }
  for (const std::string& device : devices) {
    const auto floor = noise_floor(run, experiment.model, device, kMetric);
    if (!floor || !(floor->value > 0) || levels.size() >= 5) continue;
    levels.push_back({"floor " + short_number(floor->value), floor->value, false});
  }
  return levels;
}

// The bound that judges this comparison; nullopt when none does.
std::optional<double> bound_for(const ExperimentResult& experiment,
                                const ComparisonResult& comparison) {
  for (const CriterionResult& one : experiment.judgement.criteria) {
    const double* limit = bound_of(one);
    if (limit && judge_one(one, comparison)) return *limit;
  }
  return std::nullopt;
}

Line line_of(const ExperimentResult& experiment, const ComparisonResult& comparison) {
  Line line{&comparison, &comparison.measurement()->errors, 0, std::nullopt, split_of(comparison)};
  const std::optional<double> bound = bound_for(experiment, comparison);
  for (std::size_t bin = 0; bin < line.errors->first.size(); ++bin) {
    const double error = line.errors->max_abs_error[bin];
    line.largest = std::max(line.largest, std::isfinite(error) ? error : HUGE_VAL);
    if (bound && !(error <= *bound) && !line.first_bad) line.first_bad = bin;
  }
  return line;
}

std::optional<Chart> chart_of(const RunResult& run, const ExperimentResult& experiment) {
  Chart chart;
  double low = HUGE_VAL, high = 0;
  const auto take = [&](double value) {
    if (!std::isfinite(value) || value <= 0) return;
    low = std::min(low, value);
    high = std::max(high, value);
  };
  for (const ComparisonResult& one : experiment.comparisons) {
    if (!one.measurement() || one.measurement()->errors.empty()) continue;
    chart.lines.push_back(line_of(experiment, one));
    chart.last = std::max(chart.last, one.measurement()->errors.last);
    for (const double error : one.measurement()->errors.max_abs_error) take(error);
  }
  if (chart.lines.empty()) return std::nullopt;
  std::ranges::stable_sort(chart.lines, std::ranges::greater(), &Line::largest);
  const std::size_t share = kLinesOfPage / std::max<std::size_t>(1, run.experiments.size());
  chart.drawn = std::min(chart.lines.size(), std::clamp<std::size_t>(share, 4, kLines));
  chart.levels = levels_of(run, experiment);
  for (const Level& level : chart.levels) take(level.value);
  if (high == 0) low = high = 1e-6;  // nothing but zeros
  chart.low = std::floor(std::log10(low));
  chart.high = std::floor(std::log10(high)) + 1;
  return chart;
}

// From the upper edge of the plot. Zero and less stand on its lower edge, what is not finite on the
// upper one.
double y_of(const Chart& chart, double value) {
  if (std::isnan(value)) return 0;
  const double at = value > 0 ? std::log10(value) : chart.low;
  return kHigh * (1 - std::clamp((at - chart.low) / (chart.high - chart.low), 0.0, 1.0));
}

double x_of(const Chart& chart, std::int64_t position) {
  return chart.last == 0 ? 0.5 : static_cast<double>(position) / static_cast<double>(chart.last);
}

Markup percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f%%", 100 * share);
  return for_markup(text);
}

Markup pixels(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return for_markup(text);
}

Markup text_at(const Markup& x, double y, const Markup& anchor, const std::string& text) {
  return "<text class=\"label\" x=\"" + x + "\" y=\"" + pixels(y) + "\" text-anchor=\"" + anchor +
         "\">" + for_markup(text) + "</text>";
}

// At its place across, on the side of it where there is room.
Markup text_beside(double share, double y, const std::string& text) {
  return text_at(percent(share), y, share < 0.5 ? Markup("start") : Markup("end"), text);
}

Markup across(const Markup& style, double y) {
  return "<line class=\"" + style + "\" x1=\"0\" x2=\"100%\" y1=\"" + pixels(y) + "\" y2=\"" +
         pixels(y) + "\"/>";
}

Markup upright(const Markup& style, double share, double from, double to) {
  const Markup x = percent(share);
  return "<line class=\"" + style + "\" x1=\"" + x + "\" x2=\"" + x + "\" y1=\"" + pixels(from) +
         "\" y2=\"" + pixels(to) + "\"/>";
}

// The decades, as many of them as have room.
Markup decades(const Chart& chart) {
  Markup text;
  const int first = static_cast<int>(chart.low), last = static_cast<int>(chart.high);
  const int step = 1 + (last - first) / 9;
  for (int decade = first; decade <= last; decade += step) {
    const double y = y_of(chart, std::pow(10.0, decade));
    text += across("tick", y) + text_at("-6", y + 4, "end", "1e" + std::to_string(decade));
  }
  return text;
}

// Bound and floor, their labels at least a line apart.
Markup levels(const Chart& chart) {
  constexpr double kApart = 13;
  std::vector<std::pair<double, const Level*>> places;
  for (const Level& level : chart.levels) places.push_back({y_of(chart, level.value), &level});
  std::ranges::sort(places, {}, [](const auto& one) { return one.first; });
  std::vector<double> labels(places.size());
  for (std::size_t i = places.size(); i-- > 0;) {  // the lowest first
    const double most = i + 1 < places.size() ? labels[i + 1] - kApart : kHigh;
    labels[i] = std::min(places[i].first, most);
  }
  Markup text;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& [y, level] = places[i];
    text += across(level->is_bound ? Markup("bound") : Markup("floor-line"), y) +
            "<text class=\"label\" dx=\"6\" x=\"100%\" y=\"" + pixels(labels[i] + 4) + "\">" +
            for_markup(level->label) + "</text>";
  }
  return text;
}

// The split that all lines with one have in common.
std::optional<std::int64_t> common_split(const Chart& chart) {
  std::set<std::int64_t> splits;
  for (const Line& line : chart.lines) {
    if (line.split) splits.insert(*line.split);
  }
  return splits.size() == 1 ? std::optional(*splits.begin()) : std::nullopt;
}

std::string phases_text(const Program& program) {
  return program.phases.first + " | " + program.phases.one;
}

// The bin that a position is in.
std::size_t bin_of(const ErrorByPosition& errors, std::int64_t position) {
  const auto after = std::ranges::upper_bound(errors.first, position);
  return after == errors.first.begin() ? 0
                                       : static_cast<std::size_t>(after - errors.first.begin()) - 1;
}

// Where each line's first call ends, on the line itself.
Markup splits(const Program& program, const Chart& chart) {
  if (const auto split = common_split(chart)) {
    const double x = x_of(chart, *split);
    return upright("split", x, -12, kHigh) +
           text_beside(x, -4, " " + phases_text(program) + " at " + std::to_string(*split) + " ");
  }
  Markup text;
  for (const Line& line : std::span(chart.lines).first(chart.drawn)) {
    if (!line.split) continue;
    const double y = y_of(chart, line.errors->max_abs_error[bin_of(*line.errors, *line.split)]);
    text += upright("split", x_of(chart, *line.split), y - 6, y + 6);
  }
  return text;
}

Markup points_of(const Chart& chart, const Line& line) {
  Markup points;
  const auto& first = line.errors->first;
  for (std::size_t bin = 0; bin < first.size(); ++bin) {
    const auto y = std::lround(y_of(chart, line.errors->max_abs_error[bin]));
    const auto x = std::lround(1000 * x_of(chart, first[bin]));
    points += number_markup(x) + "," + number_markup(y) + " ";
    if (first.size() == 1) points += number_markup(x + 4) + "," + number_markup(y);
  }
  return points;
}

// The worst line is drawn last, above the others.
Markup drawn_lines(const Chart& chart) {
  Markup text =
      "<svg width=\"100%\" height=\"200\" viewBox=\"0 0 1000 200\" preserveAspectRatio=\"none\">";
  for (std::size_t i = chart.drawn; i-- > 0;) {
    const Line& line = chart.lines[i];
    text += (line.first_bad ? Markup("<polyline class=\"bad\"") : Markup("<polyline")) +
            " points=\"" + points_of(chart, line) + "\"><title>" +
            name_markup(key_text(line.comparison->key)) + "</title></polyline>";
  }
  text += "</svg>";
  for (std::size_t i = 0; i < chart.drawn; ++i) {
    const Line& line = chart.lines[i];
    if (!line.first_bad) continue;
    const double y = y_of(chart, line.errors->max_abs_error[*line.first_bad]);
    text += "<text class=\"cross\" text-anchor=\"middle\" x=\"" +
            percent(x_of(chart, line.errors->first[*line.first_bad])) + "\" y=\"" + pixels(y + 4) +
            "\">✕</text>";
  }
  return text;
}

std::string largest_text(const Line& line) {
  return std::isfinite(line.largest) ? short_number(line.largest) : "not finite";
}

// What the drawing says, for who does not see it.
std::string described(const Program& program, const Chart& chart) {
  const Line& worst = chart.lines.front();
  std::string text = "A line for each of " + std::to_string(chart.lines.size()) +
                     " comparisons over the positions 0 to " + std::to_string(chart.last) +
                     ". The largest error is " + largest_text(worst) + ", in " +
                     key_text(worst.comparison->key) + ".";
  for (const Level& level : chart.levels) text += " " + level.label + ".";
  const auto bad = std::ranges::count_if(
      chart.lines, [](const Line& line) { return line.first_bad.has_value(); });
  text += " " + std::to_string(bad) + " of the lines exceed the bound.";
  if (const auto split = common_split(chart)) {
    text += " " + phases_text(program) + " at position " + std::to_string(*split) + ".";
  }
  return text;
}

Markup figure(const Markup& style, const Markup& id, const Markup& title, const std::string& said,
              const Markup& content) {
  return "<svg class=\"chart " + style + "\" role=\"img\" aria-labelledby=\"" + id + "-title " +
         id + "-desc\"><title id=\"" + id + "-title\">" + title + "</title><desc id=\"" + id +
         "-desc\">" + for_markup(said) + "</desc>" + content + "</svg>";
}

Markup lines_chart(const Program& program, const Chart& chart, const Markup& id) {
  Markup text = decades(chart) + levels(chart) + drawn_lines(chart) + splits(program, chart) +
                text_at("0", kHigh + 16, "start", "position 0");
  if (chart.last > 1) {
    text += text_at("50%", kHigh + 16, "middle", std::to_string(chart.last / 2));
  }
  if (chart.last > 0) text += text_at("100%", kHigh + 16, "end", std::to_string(chart.last));
  return figure("lines", id + "-lines", "Largest error of each position", described(program, chart),
                text);
}

Markup lines_legend(const Program& program, const Chart& chart) {
  const auto bad = std::ranges::count_if(
      chart.lines, [](const Line& line) { return line.first_bad.has_value(); });
  std::string text = "A line for each comparison";
  if (chart.lines.size() > chart.drawn) {
    text += ", the " + std::to_string(chart.drawn) + " of the largest errors of " +
            std::to_string(chart.lines.size());
  }
  if (bad > 0) {
    text += "; thick, with ✕ at the first position above the bound: " + std::to_string(bad);
  }
  const bool split =
      std::ranges::any_of(chart.lines, [](const Line& line) { return line.split.has_value(); });
  if (split && !common_split(chart)) {
    text += "; a short upright mark: " + phases_text(program);
  }
  const bool not_finite = !std::isfinite(chart.lines.front().largest);
  if (not_finite) text += "; on the upper edge: not finite";
  const bool floor =
      std::ranges::any_of(chart.levels, [](const Level& level) { return !level.is_bound; });
  if (floor) text += "; floor: the noise floor, the reference against itself";
  if (std::ranges::none_of(chart.levels, &Level::is_bound)) {
    text += "; no criterion bounds this error";
  }
  return "<p class=\"legend\">" + for_markup(text) + ".</p>";
}

// How many positions have which error, over all comparisons.
struct Histogram {
  std::map<std::int64_t, std::int64_t> powers;
  std::int64_t equal = 0, not_finite = 0, all = 0, most = 0;
};

Histogram histogram_of(const Chart& chart) {
  Histogram histogram;
  for (const Line& line : chart.lines) {
    for (const auto& [power, count] : line.errors->powers_of_two) {
      if (power >= -1100 && power <= 1100 && count > 0) histogram.powers[power] += count;
    }
    histogram.equal += std::max<std::int64_t>(0, line.errors->equal);
    histogram.not_finite += std::max<std::int64_t>(0, line.errors->not_finite);
  }
  histogram.all = histogram.equal + histogram.not_finite;
  for (const auto& [power, count] : histogram.powers) {
    histogram.all += count;
    histogram.most = std::max(histogram.most, count);
  }
  return histogram;
}

std::string counts_text(const Histogram& histogram) {
  std::string text = std::to_string(histogram.all) +
                     " positions: " + std::to_string(histogram.equal) + " exactly equal, " +
                     std::to_string(histogram.not_finite) + " not finite";
  for (const auto& [power, count] : histogram.powers) {
    text += ", " + std::to_string(count) + " from " +
            short_number(std::ldexp(1.0, static_cast<int>(power))) + " to " +
            short_number(std::ldexp(1.0, static_cast<int>(power) + 1));
  }
  return text + ".";
}

Markup histogram_chart(const Chart& chart, const Histogram& histogram, const Markup& id) {
  if (histogram.powers.empty()) return "";
  double low = static_cast<double>(histogram.powers.begin()->first);
  double high = static_cast<double>(histogram.powers.rbegin()->first) + 1;
  for (const Level& level : chart.levels) {
    low = std::min(low, std::floor(std::log2(level.value)));
    high = std::max(high, std::ceil(std::log2(level.value)) + 1);
  }
  const auto x = [&](double power) { return (power - low) / (high - low); };
  Markup text;
  bool labelled = false;
  for (const auto& [power, count] : histogram.powers) {
    const double share = static_cast<double>(count) / static_cast<double>(histogram.most);
    const double tall = std::max(1.0, share * (kBarsHigh - 16));
    const double left = x(static_cast<double>(power)), right = x(static_cast<double>(power) + 1);
    text += "<rect class=\"bar\" x=\"" + percent(left) + "\" y=\"" + pixels(kBarsHigh - tall) +
            "\" width=\"" + percent(right - left) + "\" height=\"" + pixels(tall) + "\"/>";
    if (count != histogram.most || labelled) continue;
    labelled = true;
    text += text_beside(left < 0.5 ? left : right, kBarsHigh - tall - 4, std::to_string(count));
  }
  const int first = static_cast<int>(std::ceil(low * std::log10(2.0)));
  const int last = static_cast<int>(std::floor(high * std::log10(2.0)));
  const int step = 1 + (last - first) / 6;
  for (int decade = first; decade <= last; decade += step) {
    const double share = x(decade * std::log2(10.0));
    const Markup anchor = share < 0.04   ? Markup("start")
                          : share > 0.96 ? Markup("end")
                                         : Markup("middle");
    text += upright("tick", share, 0, kBarsHigh) +
            text_at(percent(share), kBarsHigh + 15, anchor, "1e" + std::to_string(decade));
  }
  double row = -4;  // each in a row of its own above the bars
  for (const Level& level : chart.levels) {
    const double share = x(std::log2(level.value));
    text += upright(level.is_bound ? Markup("bound") : Markup("floor-line"), share, row - 2,
                    kBarsHigh) +
            text_beside(share, row, " " + level.label + " ");
    row -= 13;
  }
  return figure("bars", id + "-bars", "Positions by their largest error", counts_text(histogram),
                across("axis", kBarsHigh) + text);
}

Markup histogram_legend(const Histogram& histogram) {
  std::string text = "Of " + std::to_string(histogram.all) +
                     " positions how many have an error of which size; each bar spans a doubling";
  if (histogram.equal > 0) text += "; exactly equal, not drawn: " + std::to_string(histogram.equal);
  if (histogram.not_finite > 0) {
    text += "; not finite, not drawn: " + std::to_string(histogram.not_finite);
  }
  return "<p class=\"legend\">" + for_markup(text) + ".</p>";
}

}  // namespace

Markup error_charts(const RunResult& run, const ExperimentResult& experiment) {
  const std::optional<Chart> chart = chart_of(run, experiment);
  if (!chart) return "";
  const Program& program = run.info.program;
  const Markup id = for_markup(anchor_of(experiment.id));
  const Histogram histogram = histogram_of(*chart);
  return "<h4>Error by position</h4>" + lines_chart(program, *chart, id) +
         lines_legend(program, *chart) + histogram_chart(*chart, histogram, id) +
         histogram_legend(histogram);
}

}  // namespace octlm::verify::html
