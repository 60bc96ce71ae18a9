#include "lumos/cli/schemas/estimate_schema.h"

namespace lumos {

const std::string_view kEstimateSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.estimate.v1",
  "title": "What lumos estimate --json prints",
  "description": "With --job: estimate and job. With --jobs: estimates, one per row of the table.",
  "type": "object",
  "required": ["schema"],
  "properties": {
    "schema": {"const": "lumos.estimate.v1"},
    "estimate": {"$ref": "#/$defs/estimate"},
    "job": {"$ref": "#/$defs/job"},
    "estimates": {"type": "array", "items": {"$ref": "#/$defs/row"}}
  },
  "$defs": {
    "job": {"type": "object", "description": "every setting under Megatron's name, null when unset"},
    "row": {
      "type": "object",
      "required": ["line"],
      "properties": {
        "line": {"type": "integer", "minimum": 1, "description": "of the table"},
        "failure": {"type": "string", "description": "why the row has no estimate"},
        "estimate": {"$ref": "#/$defs/estimate"},
        "measured_step_ms": {"type": "number"},
        "error_pct": {"type": "number"},
        "measured_peak_gib": {"type": "number"},
        "memory_error_pct": {"type": "number"},
        "job": {"$ref": "#/$defs/job"}
      }
    },
    "estimate": {
      "type": "object",
      "required": ["step_ms", "breakdown", "tokens_per_s", "tflops_per_gpu", "mfu_pct", "memory_gib", "fits"],
      "properties": {
        "step_ms": {"type": "number", "minimum": 0},
        "breakdown": {
          "description": "The four components sum to the step.",
          "type": "object",
          "required": ["exposed_compute_ms", "overlapped_ms", "exposed_comm_ms", "other_ms"],
          "properties": {
            "exposed_compute_ms": {"type": "number"},
            "overlapped_ms": {"type": "number"},
            "exposed_comm_ms": {"type": "number"},
            "other_ms": {"type": "number"}
          }
        },
        "pipeline_ms": {"type": "number", "description": "to the end of the last backward pass"},
        "pipeline_wait_ms": {"type": "number", "description": "waiting for other stages, mean over stages"},
        "gradient_reduction_ms": {"type": "number", "description": "exposed, longest stage"},
        "optimizer_ms": {"type": "number", "description": "longest stage, with gathering of parameters"},
        "tokens_per_s": {"type": "number"},
        "tflops_per_gpu": {"type": "number", "description": "model FLOPs per second in 1e12"},
        "mfu_pct": {"type": "number", "description": "of the dense peak of the job's numbers: 16-bit, or fp32"},
        "hfu_pct": {"type": "number", "description": "with recomputed FLOPs"},
        "memory_gib": {"type": "array", "items": {"type": "number"}, "description": "peak of each stage"},
        "memory_terms_gib": {"type": "array", "items": {"type": "object"}},
        "fits": {"type": "boolean"},
        "shortage": {"type": ["string", "null"]}
      }
    }
  }
}
)json";

}  // namespace lumos
