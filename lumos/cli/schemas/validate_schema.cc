#include "lumos/cli/schemas/validate_schema.h"

namespace lumos {

const std::string_view kValidateSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.validate.v1",
  "title": "What lumos validate --json prints",
  "description": "Milliseconds per step, means over the ranks; errors are predicted minus measured. The errors of components sum to that of the step.",
  "type": "object",
  "required": ["schema", "prediction", "step", "components", "templates", "families", "collectives", "utilisation", "warnings"],
  "properties": {
    "schema": {"const": "lumos.validate.v1"},
    "prediction": {"type": "string"},
    "step": {"$ref": "#/$defs/line"},
    "predicted_p10_ms": {"type": "number"},
    "predicted_p90_ms": {"type": "number"},
    "components": {"type": "array", "items": {"$ref": "#/$defs/line"}},
    "templates": {"type": "array", "items": {"$ref": "#/$defs/line"}, "description": "all GPU work; empty where the prediction does not tell"},
    "families": {"type": "array", "items": {"$ref": "#/$defs/line"}, "description": "compute"},
    "collectives": {"type": "array", "items": {"$ref": "#/$defs/line"}, "description": "waiting included"},
    "utilisation": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["rank", "predicted_rank", "predicted", "measured"],
        "properties": {
          "rank": {"type": "integer"},
          "predicted_rank": {"type": "integer", "description": "the predicted rank that stands for it"},
          "predicted": {"type": "number", "description": "mean share of time in which a stream executes"},
          "measured": {"type": "number"}
        }
      }
    },
    "warnings": {"type": "array", "items": {"type": "string"}}
  },
  "$defs": {
    "line": {
      "type": "object",
      "required": ["name", "predicted_ms", "measured_ms", "error_ms", "error_pct"],
      "properties": {
        "name": {"type": "string"},
        "predicted_ms": {"type": "number"},
        "measured_ms": {"type": "number"},
        "error_ms": {"type": "number"},
        "error_pct": {"type": ["number", "null"], "description": "of measured_ms; null where nothing was measured"},
        "predicted_wait_ms": {"type": "number", "description": "of predicted_ms: waiting for other ranks inside communication kernels; absent where a job was predicted"},
        "measured_wait_ms": {"type": "number"}
      }
    }
  }
}
)json";

}  // namespace lumos
