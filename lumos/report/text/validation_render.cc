#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lumos/base/json_writer.h"
#include "lumos/report/results/validation.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

std::string signed_ms(double ms) {
  const std::string text = human_ms(ms);
  return ms > 0 && text != "0" ? "+" + text : text;
}

std::string error_text(const ValidationLine& line) {
  return line.measured_ms > 0 ? signed_percent(100 * line.error_ms() / line.measured_ms) : "-";
}

ValidationLine sum_from(const std::vector<ValidationLine>& lines, size_t first) {
  ValidationLine rest;
  rest.name = fmt::format("{} more", lines.size() - first);
  for (size_t i = first; i < lines.size(); ++i) {
    rest.predicted_ms += lines[i].predicted_ms;
    rest.measured_ms += lines[i].measured_ms;
    rest.predicted_wait_ms += lines[i].predicted_wait_ms;
    rest.measured_wait_ms += lines[i].measured_wait_ms;
  }
  return rest;
}

std::string lines_text(const char* title, const std::vector<ValidationLine>& lines, double step_ms, size_t limit) {
  if (lines.empty()) return "";
  TextTable table({{title, Align::kLeft}, {"predicted"}, {"measured"}, {"error"}, {"error"}, {"of step"}});
  const auto add = [&](const ValidationLine& line) {
    table.add({line.name, human_ms(line.predicted_ms), human_ms(line.measured_ms), signed_ms(line.error_ms()),
               error_text(line), step_ms > 0 ? signed_percent(100 * line.error_ms() / step_ms) : "-"});
  };
  for (size_t i = 0; i < std::min(limit, lines.size()); ++i) add(lines[i]);
  if (lines.size() > limit) add(sum_from(lines, limit));
  return "\n" + table.text();
}

/// Waiting apart from the rest: the transfers of a model may be right and its balance wrong.
std::string waiting_text(const std::vector<ValidationLine>& collectives) {
  double predicted_ms = 0, measured_ms = 0;
  for (const ValidationLine& line : collectives) {
    predicted_ms += line.predicted_wait_ms;
    measured_ms += line.measured_wait_ms;
  }
  if (predicted_ms == 0 && measured_ms == 0) return "";
  return fmt::format("  of it waiting for other ranks: {} ms predicted, {} ms measured\n", human_ms(predicted_ms),
                     human_ms(measured_ms));
}

std::string spread_text(const Validation& validation) {
  if (!validation.p10_ms || !validation.p90_ms || *validation.p90_ms <= *validation.p10_ms) return "";
  const double measured_ms = validation.step.measured_ms;
  const bool inside = measured_ms >= *validation.p10_ms && measured_ms <= *validation.p90_ms;
  return fmt::format("  predicted from {} to {} ms (p10, p90): the measured step is {}\n", human_ms(*validation.p10_ms),
                     human_ms(*validation.p90_ms), inside ? "inside" : "outside");
}

std::string utilisation_text(const std::vector<CurveError>& curves) {
  if (curves.empty()) return "";
  double predicted = 0, measured = 0;
  for (const CurveError& curve : curves) {
    predicted += curve.predicted / static_cast<double>(curves.size());
    measured += curve.measured / static_cast<double>(curves.size());
  }
  return fmt::format("  SM utilisation: {:.1f} % predicted, {:.1f} % measured\n", 100 * predicted, 100 * measured);
}

/// The line of all tables whose error is the largest, as the sentence to take away.
std::string verdict(const Validation& validation) {
  const ValidationLine* worst = nullptr;
  const char* of = "";
  const auto look = [&](const std::vector<ValidationLine>& lines, const char* name) {
    for (const ValidationLine& line : lines) {
      if (worst != nullptr && std::abs(line.error_ms()) <= std::abs(worst->error_ms())) continue;
      worst = &line;
      of = name;
    }
  };
  look(validation.families, "kernel family");
  look(validation.collectives, "collective");
  if (worst == nullptr) look(validation.components, "component");
  constexpr double kNotable = 1e-3;  // of the step: less is in the noise of any two runs
  if (worst == nullptr || std::abs(worst->error_ms()) < kNotable * validation.step.measured_ms) return "";
  return fmt::format("\n  farthest off: {} {}, {} ms a step\n", of, worst->name, signed_ms(worst->error_ms()));
}

void write_line(JsonWriter& json, const ValidationLine& line, bool waits) {
  json.begin_object().member("name", line.name).member("predicted_ms", line.predicted_ms);
  json.member("measured_ms", line.measured_ms).member("error_ms", line.error_ms()).key("error_pct");
  line.measured_ms > 0 ? json.value(100 * line.error_ms() / line.measured_ms) : json.null();
  if (waits) {
    json.member("predicted_wait_ms", line.predicted_wait_ms).member("measured_wait_ms", line.measured_wait_ms);
  }
  json.end_object();
}

void write_lines(JsonWriter& json, std::string_view key, const std::vector<ValidationLine>& lines, bool waits) {
  json.key(key).begin_array();
  for (const ValidationLine& line : lines) write_line(json, line, waits);
  json.end_array();
}

}  // namespace

std::string validation_text(const Validation& validation, size_t limit) {
  const double step_ms = validation.step.measured_ms;
  const ValidationLine& step = validation.step;
  std::string out = fmt::format("{}: step {} ms predicted, {} ms measured, {}\n", validation.prediction_file,
                                human_ms(step.predicted_ms), human_ms(step.measured_ms), error_text(step));
  out += spread_text(validation) + utilisation_text(validation.utilisation);
  out += lines_text("component, ms", validation.components, step_ms, limit);
  out += lines_text("GPU work by template, ms", validation.templates, step_ms, limit);
  out += lines_text("compute by kernel family, ms", validation.families, step_ms, limit);
  out += lines_text("communication, ms", validation.collectives, step_ms, limit);
  if (validation.waits_apart) out += waiting_text(validation.collectives);
  out += verdict(validation);
  if (!validation.has_work) {
    out += "\n  the prediction tells no kernels and collectives: only components are compared\n";
  }
  for (const std::string& warning : validation.warnings) out += fmt::format("  warning: {}\n", warning);
  return out;
}

std::string validation_json(const Validation& validation) {
  JsonWriter json;
  json.begin_object().member("schema", "lumos.validate.v1").member("prediction", validation.prediction_file);
  write_line(json.key("step"), validation.step, false);
  if (validation.p10_ms) json.member("predicted_p10_ms", *validation.p10_ms);
  if (validation.p90_ms) json.member("predicted_p90_ms", *validation.p90_ms);
  write_lines(json, "components", validation.components, false);
  const bool waits = validation.waits_apart;
  write_lines(json, "templates", validation.templates, waits);
  write_lines(json, "families", validation.families, false);
  write_lines(json, "collectives", validation.collectives, waits);
  json.key("utilisation").begin_array();
  for (const CurveError& curve : validation.utilisation) {
    json.begin_object().member("rank", curve.rank).member("predicted_rank", curve.predicted_rank);
    json.member("predicted", curve.predicted).member("measured", curve.measured).end_object();
  }
  json.end_array().key("warnings").begin_array();
  for (const std::string& warning : validation.warnings) json.value(warning);
  json.end_array().end_object();
  return json.text();
}

}  // namespace lumos
