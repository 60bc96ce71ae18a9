#include "lumos/cli/schemas/calibrate_schema.h"

namespace lumos {

const std::string_view kCalibrateSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.calibrate.v1",
  "title": "What lumos calibrate --json prints",
  "type": "object",
  "required": ["schema", "fits"],
  "properties": {
    "schema": {"const": "lumos.calibrate.v1"},
    "fits": {"type": "array", "items": {"$ref": "#/$defs/fit"}}
  },
  "$defs": {
    "errors": {
      "type": "object",
      "required": ["mean_pct", "worst_pct", "bias_pct", "rows"],
      "properties": {
        "mean_pct": {"type": "number", "description": "mean absolute error in percent of the measured time"},
        "worst_pct": {"type": "number"},
        "bias_pct": {"type": "number", "description": "mean signed error"},
        "rows": {"type": "integer", "minimum": 0}
      }
    },
    "fit": {
      "type": "object",
      "required": ["name", "constants", "in_sample", "left_out", "left_out_total", "errors_pct"],
      "properties": {
        "name": {"enum": ["runs", "collectives"]},
        "constants": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["name", "before", "after"],
            "properties": {
              "name": {"type": "string"}, "before": {"type": "number"}, "after": {"type": "number"}
            }
          }
        },
        "in_sample": {"$ref": "#/$defs/errors"},
        "left_out": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["family", "error"],
            "properties": {"family": {"type": "string"}, "error": {"$ref": "#/$defs/errors"}}
          }
        },
        "left_out_total": {"$ref": "#/$defs/errors"},
        "errors_pct": {"type": "array", "items": {"type": "number"}, "description": "signed, by row, in sample"}
      }
    }
  }
}
)json";

}  // namespace lumos
