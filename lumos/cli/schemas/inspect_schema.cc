#include "lumos/cli/schemas/inspect_schema.h"

namespace lumos {

const std::string_view kInspectSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.inspect.v1",
  "title": "What lumos inspect --json prints",
  "type": "object",
  "required": ["schema", "ranks", "unread", "input"],
  "properties": {
    "schema": {"const": "lumos.inspect.v1"},
    "ranks": {"type": "array", "items": {"$ref": "#/$defs/rank"}},
    "unread": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["file", "message"],
        "properties": {"file": {"type": "string"}, "message": {"type": "string"}}
      }
    },
    "input": {
      "type": "object",
      "required": ["events", "repaired", "skipped", "bytes"],
      "additionalProperties": {"$ref": "#/$defs/count"}
    }
  },
  "$defs": {
    "count": {"type": "integer", "minimum": 0},
    "ms": {"type": "number", "minimum": 0},
    "rank": {
      "type": "object",
      "required": ["rank", "file", "rank_source", "world_size", "span_ms", "devices", "groups", "events", "steps",
                   "threads", "streams", "collectives", "metadata", "constants", "issues", "truncated", "advice"],
      "properties": {
        "rank": {"type": "integer"},
        "file": {"type": "string"},
        "rank_source": {"enum": ["order", "distributed_info", "file_name", "regex", "process"]},
        "world_size": {"type": "integer", "description": "-1: the file does not tell"},
        "backend": {"type": "string"},
        "span_ms": {"$ref": "#/$defs/ms"},
        "devices": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["name", "sms", "memory_bytes"],
            "properties": {
              "name": {"type": "string"},
              "sms": {"$ref": "#/$defs/count"},
              "memory_bytes": {"$ref": "#/$defs/count"}
            }
          }
        },
        "groups": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["name", "description", "size", "ranks"],
            "properties": {
              "name": {"type": "string"},
              "description": {"type": "string"},
              "size": {"type": "integer"},
              "ranks": {"type": "array", "items": {"type": "integer"}}
            }
          }
        },
        "events": {
          "type": "object",
          "required": ["seen", "kept"],
          "additionalProperties": {"$ref": "#/$defs/count"}
        },
        "steps": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["name", "start_ms", "annotated_ms"],
            "properties": {
              "name": {"type": "string"},
              "start_ms": {"$ref": "#/$defs/ms", "description": "from the first event of the trace"},
              "annotated_ms": {"$ref": "#/$defs/ms"}
            }
          }
        },
        "threads": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["name", "events", "calls", "launched", "busy_ms", "polls_only"],
            "properties": {
              "name": {"type": "string"},
              "events": {"$ref": "#/$defs/count"},
              "calls": {"$ref": "#/$defs/count"},
              "launched": {"$ref": "#/$defs/count"},
              "busy_ms": {"$ref": "#/$defs/ms"},
              "polls_only": {"type": "boolean"}
            }
          }
        },
        "streams": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["name", "kernels", "copies", "communication", "busy_ms"],
            "properties": {
              "name": {"type": "string"},
              "kernels": {"$ref": "#/$defs/count"},
              "copies": {"$ref": "#/$defs/count"},
              "communication": {"$ref": "#/$defs/count"},
              "busy_ms": {"$ref": "#/$defs/ms"}
            }
          }
        },
        "collectives": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["kind", "group", "group_size", "count", "with_bytes", "bytes", "total_ms"],
            "properties": {
              "kind": {"type": "string"},
              "group": {"type": "string"},
              "group_size": {"type": "integer"},
              "count": {"$ref": "#/$defs/count"},
              "with_bytes": {"$ref": "#/$defs/count", "description": "how many of them tell their bytes"},
              "bytes": {"$ref": "#/$defs/count"},
              "total_ms": {"$ref": "#/$defs/ms", "description": "waiting for other ranks included"}
            }
          }
        },
        "metadata": {"type": "object", "additionalProperties": {"$ref": "#/$defs/count"}},
        "constants": {
          "type": "object",
          "additionalProperties": {
            "type": "object",
            "required": ["us", "samples"],
            "properties": {"us": {"type": "number"}, "samples": {"$ref": "#/$defs/count"}}
          }
        },
        "issues": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["reason", "count", "first_byte", "repaired"],
            "properties": {
              "reason": {"type": "string"},
              "count": {"$ref": "#/$defs/count"},
              "first_byte": {"$ref": "#/$defs/count", "description": "offset in the decoded file"},
              "repaired": {"type": "boolean"}
            }
          }
        },
        "truncated": {"type": "boolean"},
        "advice": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["finding", "effect", "remedy"],
            "properties": {
              "finding": {"type": "string"},
              "effect": {"type": "string"},
              "remedy": {"type": "string"}
            }
          }
        }
      }
    }
  }
}
)json";

}  // namespace lumos
