#include "lumos/cli/schemas/replay_schema.h"

namespace lumos {

const std::string_view kReplaySchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.replay.v1",
  "title": "What lumos replay --json prints",
  "description": "Times are per step: means over the chosen steps of a rank, and over the ranks of the job.",
  "type": "object",
  "required": ["schema", "measured_ms", "replayed_ms", "error_pct", "mode", "breakdown", "ranks", "input"],
  "properties": {
    "schema": {"const": "lumos.replay.v1"},
    "measured_ms": {"type": "number", "minimum": 0},
    "replayed_ms": {"type": "number", "minimum": 0},
    "error_pct": {"type": ["number", "null"], "description": "null when nothing was measured"},
    "mode": {"enum": ["strict", "keep"]},
    "measured_span_ms": {"type": "number", "description": "first start to last end over the ranks, on one clock"},
    "replayed_span_ms": {"type": "number"},
    "breakdown": {"$ref": "#/$defs/breakdowns"},
    "ranks": {"type": "array", "items": {"$ref": "#/$defs/rank"}},
    "input": {
      "type": "object",
      "required": ["events", "repaired", "skipped", "cut_short", "bytes"],
      "properties": {
        "events": {"$ref": "#/$defs/count"},
        "repaired": {"$ref": "#/$defs/count"},
        "skipped": {"$ref": "#/$defs/count"},
        "cut_short": {"$ref": "#/$defs/count", "description": "files that end in the middle"},
        "bytes": {"$ref": "#/$defs/count", "description": "of decoded JSON"}
      }
    }
  },
  "$defs": {
    "count": {"type": "integer", "minimum": 0},
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
    "breakdowns": {
      "type": "object",
      "required": ["measured", "replayed"],
      "properties": {"measured": {"$ref": "#/$defs/breakdown"}, "replayed": {"$ref": "#/$defs/breakdown"}}
    },
    "rank": {
      "type": "object",
      "required": ["rank", "file", "measured_ms", "replayed_ms", "error_pct", "kernel_start_mae_us",
                   "kernel_start_mae_pct", "unexplained_pct", "utilisation_mae", "constants", "tasks", "dependencies",
                   "steps", "breakdown"],
      "properties": {
        "rank": {"type": "integer"},
        "file": {"type": "string"},
        "measured_ms": {"type": "number", "minimum": 0},
        "replayed_ms": {"type": "number", "minimum": 0},
        "error_pct": {"type": ["number", "null"]},
        "kernel_start_mae_us": {"type": "number", "minimum": 0},
        "kernel_start_mae_pct": {"type": "number", "minimum": 0},
        "unexplained_pct": {"type": "number", "minimum": 0},
        "utilisation_mae": {"type": "number", "minimum": 0, "maximum": 1},
        "constants": {
          "type": "object",
          "additionalProperties": {
            "type": "object",
            "required": ["us", "samples"],
            "properties": {"us": {"type": "number"}, "samples": {"$ref": "#/$defs/count"}}
          }
        },
        "tasks": {
          "type": "object",
          "required": ["cpu", "gpu"],
          "properties": {"cpu": {"$ref": "#/$defs/count"}, "gpu": {"$ref": "#/$defs/count"}}
        },
        "dependencies": {
          "type": "object",
          "required": ["cpu_cpu", "inter_thread", "launch", "sync", "stream", "inter_stream_recorded",
                       "inter_stream_inferred"],
          "additionalProperties": {"$ref": "#/$defs/count"}
        },
        "steps": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["name", "measured_ms", "replayed_ms"],
            "properties": {
              "name": {"type": "string"},
              "measured_ms": {"type": "number"},
              "replayed_ms": {"type": "number"}
            }
          }
        },
        "left_out_steps": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["name", "reason"],
            "properties": {"name": {"type": "string"}, "reason": {"type": "string"}}
          }
        },
        "breakdown": {"$ref": "#/$defs/breakdowns"}
      }
    }
  }
}
)json";

}  // namespace lumos
