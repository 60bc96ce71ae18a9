#include "lumos/cli/schemas/critical_path_schema.h"

namespace lumos {

const std::string_view kCriticalPathSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.critical_path.v1",
  "title": "What lumos critical-path --json prints",
  "description": "The times of by_cause, of by_task and of pieces each sum to total_ns.",
  "type": "object",
  "required": ["schema", "rank", "step", "total_ns", "by_cause", "by_task", "pieces"],
  "properties": {
    "schema": {"const": "lumos.critical_path.v1"},
    "rank": {"type": "integer"},
    "step": {"type": "string"},
    "total_ns": {"type": "integer", "minimum": 0},
    "by_cause": {"type": "array", "items": {"$ref": "#/$defs/share"}},
    "by_task": {"type": "array", "items": {"$ref": "#/$defs/share"}},
    "pieces": {
      "description": "From the start of the step to its end.",
      "type": "array",
      "items": {
        "type": "object",
        "required": ["from_ns", "length_ns", "cause", "name", "rank"],
        "properties": {
          "from_ns": {"type": "integer", "minimum": 0, "description": "from the start of the step"},
          "length_ns": {"type": "integer", "minimum": 1},
          "cause": {"$ref": "#/$defs/cause"},
          "name": {"type": "string", "description": "the task that ran or waited; empty: untraced host time"},
          "rank": {"type": "integer", "description": "whose task it is"}
        }
      }
    }
  },
  "$defs": {
    "cause": {
      "enum": ["compute", "communication", "waiting for a rank", "launch latency", "between kernels",
               "host operators", "runtime calls", "host, untraced", "synchronisation", "unexplained"]
    },
    "share": {
      "type": "object",
      "required": ["cause", "label", "time_ns", "pieces"],
      "properties": {
        "cause": {"$ref": "#/$defs/cause"},
        "label": {"type": "string", "description": "collective and group, kernel, operator, call or rank"},
        "time_ns": {"type": "integer", "minimum": 0},
        "pieces": {"type": "integer", "minimum": 1}
      }
    }
  }
}
)json";

}  // namespace lumos
