#include "lumos/cli/schemas/synth_schema.h"

namespace lumos {

const std::string_view kSynthSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.synth.v1",
  "title": "What lumos synth --json prints",
  "type": "object",
  "required": ["schema", "synth", "job"],
  "properties": {
    "schema": {"const": "lumos.synth.v1"},
    "synth": {
      "type": "object",
      "required": ["step_ms", "estimate_ms", "steps", "job_file", "ranks"],
      "properties": {
        "step_ms": {"type": "number", "minimum": 0, "description": "mean over the ranks and steps written"},
        "estimate_ms": {"type": "number", "minimum": 0, "description": "what lumos estimate says of the same job"},
        "steps": {"type": "integer", "minimum": 1},
        "job_file": {"type": "string", "description": "the whole job, for --job of other commands"},
        "ranks": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["rank", "file", "events", "step_ms"],
            "properties": {
              "rank": {"type": "integer", "minimum": 0},
              "file": {"type": "string"},
              "events": {"type": "integer", "minimum": 0},
              "step_ms": {"type": "number", "minimum": 0}
            }
          }
        }
      }
    },
    "job": {"type": "object", "description": "every setting under Megatron's name, null when unset"}
  }
}
)json";

}  // namespace lumos
