#include "lumos/report/text/calibration_render.h"

#include "lumos/base/json_writer.h"
#include "lumos/report/text_table.h"

namespace lumos {

namespace {

void write_errors(JsonWriter& json, const ErrorSummary& errors) {
  json.begin_object(JsonWriter::Layout::kInline);
  json.key("mean_pct").value(errors.mean_pct, 3).key("worst_pct").value(errors.worst_pct, 3);
  json.key("bias_pct").value(errors.bias_pct, 3).key("rows").value(static_cast<uint64_t>(errors.rows)).end_object();
}

void write_fit(JsonWriter& json, const NamedCalibration& fit) {
  json.begin_object().member("name", fit.name).key("constants").begin_array();
  for (const FittedConstant& constant : fit.calibration.constants) {
    json.begin_object(JsonWriter::Layout::kInline).member("name", constant.name);
    json.key("before").exact(constant.before).key("after").exact(constant.after).end_object();
  }
  json.end_array().key("in_sample");
  write_errors(json, fit.calibration.in_sample);
  json.key("left_out").begin_array();
  for (const LeftOut& family : fit.calibration.left_out) {
    json.begin_object().member("family", family.family).key("error");
    write_errors(json, family.error);
    json.end_object();
  }
  json.end_array().key("left_out_total");
  write_errors(json, fit.calibration.left_out_total);
  json.key("errors_pct").begin_array(JsonWriter::Layout::kInline);
  for (double error : fit.calibration.errors_pct) json.value(error, 3);
  json.end_array().end_object();
}

std::string errors_text(const ErrorSummary& errors) {
  return fmt::format("mean absolute error {:.2f} %, worst {:.1f} %, bias {:+.2f} %, {} rows", errors.mean_pct,
                     errors.worst_pct, errors.bias_pct, errors.rows);
}

std::string fit_text(const NamedCalibration& fit) {
  TextTable constants({{fit.name, Align::kLeft}, {"before"}, {"fitted"}});
  for (const FittedConstant& constant : fit.calibration.constants) {
    constants.add({constant.name, fmt::format("{:.4g}", constant.before), fmt::format("{:.4g}", constant.after)});
  }
  std::string text = constants.text() + "\n  in sample: " + errors_text(fit.calibration.in_sample) + "\n";
  for (const LeftOut& family : fit.calibration.left_out) {
    text += fmt::format("  without {}: {}\n", family.family, errors_text(family.error));
  }
  if (fit.calibration.left_out.size() > 1) {
    text += "  all rows left out in turn: " + errors_text(fit.calibration.left_out_total) + "\n";
  }
  return text;
}

}  // namespace

std::string calibration_text(const std::vector<NamedCalibration>& fits) {
  std::string text;
  for (const NamedCalibration& fit : fits) text += (text.empty() ? "" : "\n") + fit_text(fit);
  return text;
}

std::string calibration_json(const std::vector<NamedCalibration>& fits) {
  JsonWriter json(JsonWriter::Style::kPretty);
  json.begin_object().member("schema", "lumos.calibrate.v1").key("fits").begin_array();
  for (const NamedCalibration& fit : fits) write_fit(json, fit);
  return json.end_array().end_object().text();
}

std::string calibration_heading(const std::vector<NamedCalibration>& fits) {
  std::string text = "Fitted by lumos calibrate:";
  for (const NamedCalibration& fit : fits) {
    text += fmt::format("\n{} constants on {}: {}", fit.calibration.constants.size(), fit.name,
                        errors_text(fit.calibration.in_sample));
  }
  return text;
}

}  // namespace lumos
