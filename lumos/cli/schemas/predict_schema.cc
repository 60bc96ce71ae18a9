#include "lumos/cli/schemas/predict_schema.h"

namespace lumos {

const std::string_view kPredictSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.predict.v1",
  "title": "What lumos predict --json prints",
  "description": "Times are per step, means over the ranks.",
  "type": "object",
  "required": ["schema", "base", "predicted", "changes", "warnings"],
  "properties": {
    "schema": {"const": "lumos.predict.v1"},
    "base": {
      "type": "object",
      "required": ["step_ms", "measured_ms"],
      "properties": {
        "step_ms": {"type": "number", "description": "simulated without the changes"},
        "measured_ms": {"type": "number"},
        "kernel_ms": {"type": "number", "description": "compute kernels and copies, per step and rank; not with --job"},
        "unprofiled_ms": {"type": "number", "description": "without what the profiler cost the CPU, estimated; not with --job"},
        "run_ms": {"type": "number", "description": "from the end of one step to the end of the next: what a step takes where the windows of steps overlap"}
      }
    },
    "predicted": {
      "type": "object",
      "required": ["step_ms", "p10_ms", "p90_ms", "breakdown", "kernel_ms"],
      "properties": {
        "step_ms": {"type": "number"},
        "p10_ms": {"type": "number"},
        "p90_ms": {"type": "number"},
        "breakdown": {
          "type": "object",
          "required": ["exposed_compute_ms", "overlapped_ms", "exposed_comm_ms", "other_ms"],
          "additionalProperties": {"type": "number"}
        },
        "kernel_ms": {"type": "number", "description": "compute kernels and copies, per step and rank"},
        "tokens_per_s": {"type": "number", "description": "with --job: of the whole job"},
        "tflops_per_gpu": {"type": "number", "description": "with --job: model FLOPs"},
        "mfu_pct": {"type": ["number", "null"], "description": "with --job: of the GPU's dense peak for the job's numbers, 16-bit or fp32; null if unknown"},
        "unprofiled_ms": {"type": "number"},
        "run_ms": {"type": "number"},
        "work": {
          "type": "object",
          "description": "what the GPUs do in the step",
          "required": ["families", "collectives", "templates"],
          "properties": {
            "families": {"$ref": "#/$defs/shares"},
            "collectives": {"$ref": "#/$defs/shares"},
            "templates": {"$ref": "#/$defs/shares"}
          }
        },
        "utilisation": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["rank", "step_ms", "interval_ms", "busy_pct"],
            "properties": {
              "rank": {"type": "integer"},
              "step_ms": {"type": "number"},
              "interval_ms": {"type": "number", "minimum": 0},
              "busy_pct": {"type": "array", "items": {"type": "number"}, "description": "share of each interval in which at least one stream executes"}
            }
          }
        }
      }
    },
    "families": {
      "type": "array",
      "description": "compute by family of kernels, over all ranks and the whole trace; not with --job",
      "items": {
        "type": "object",
        "required": ["family", "tasks", "base_ms", "predicted_ms"],
        "properties": {
          "family": {"type": "string"},
          "tasks": {"type": "integer", "minimum": 0},
          "base_ms": {"type": "number", "description": "measured"},
          "predicted_ms": {"type": "number"}
        }
      }
    },
    "jitter": {
      "type": "object",
      "description": "with --jitter: the spread of the step when times vary by chance",
      "required": ["sigma", "samples", "seed", "mean_ms", "p50_ms", "p95_ms"],
      "properties": {
        "fitted": {"type": "boolean", "description": "the spread is that of the trace"},
        "sigma": {"type": "number", "description": "of kernels; standard deviations of logarithms"},
        "link_sigma": {"type": "number", "description": "of transfers"},
        "rank_sigma": {"type": "number", "description": "of a rank from step to step, beyond its kernels'"},
        "samples": {"type": "integer", "minimum": 1},
        "seed": {"type": "integer"},
        "mean_ms": {"type": "number"},
        "p50_ms": {"type": "number"},
        "p95_ms": {"type": "number"}
      }
    },
    "job": {"type": "object", "description": "with --job: the changed job, every field under Megatron's names"},
    "changes": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["change", "tasks", "time_ms"],
        "properties": {
          "change": {"type": "string"},
          "tasks": {"type": "integer", "minimum": 0},
          "time_ms": {"type": "number", "description": "before the change, over all ranks and the whole trace"},
          "notes": {"type": "array", "items": {"type": "string"}, "description": "what was assumed"}
        }
      }
    },
    "warnings": {"type": "array", "items": {"type": "string"}}
  },
  "$defs": {
    "shares": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["name", "ms", "wait_ms"],
        "properties": {
          "name": {"type": "string"},
          "ms": {"type": "number", "description": "kernels, copies and transfers"},
          "wait_ms": {"type": "number", "description": "communication kernels that wait for ranks that are simulated too; with --job, waiting within folded groups is in ms"}
        }
      }
    }
  }
}
)json";

}  // namespace lumos
