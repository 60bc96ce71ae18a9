#include "lumos/cli/schemas/diff_schema.h"

namespace lumos {

const std::string_view kDiffSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.diff.v1",
  "title": "What lumos diff --json prints",
  "description": "Milliseconds per step: means over the chosen steps of a rank, and over the ranks. The differences of each of the four tables sum to difference_ms.",
  "type": "object",
  "required": ["schema", "a", "b", "difference_ms", "by_label", "by_template", "by_place", "by_name"],
  "properties": {
    "schema": {"const": "lumos.diff.v1"},
    "a": {"$ref": "#/$defs/side"},
    "b": {"$ref": "#/$defs/side"},
    "difference_ms": {"type": "number", "description": "b minus a"},
    "by_label": {"type": "array", "items": {"$ref": "#/$defs/line"}},
    "by_template": {"type": "array", "items": {"$ref": "#/$defs/plain"}, "description": "of the program that recovery finds; host time counts to what the host was on the way to launch"},
    "by_place": {"type": "array", "items": {"$ref": "#/$defs/plain"}, "description": "stream or thread"},
    "by_name": {"type": "array", "items": {"$ref": "#/$defs/line"}}
  },
  "$defs": {
    "side": {
      "type": "object",
      "required": ["name", "step_ms"],
      "properties": {"name": {"type": "string"}, "step_ms": {"type": "number", "minimum": 0}}
    },
    "plain": {
      "type": "object",
      "required": ["label", "a_ms", "b_ms", "difference_ms"],
      "properties": {
        "label": {"type": "string"},
        "a_ms": {"type": "number", "minimum": 0},
        "b_ms": {"type": "number", "minimum": 0},
        "difference_ms": {"type": "number"}
      }
    },
    "line": {
      "type": "object",
      "required": ["owner", "label", "a_ms", "b_ms", "difference_ms"],
      "properties": {
        "owner": {"enum": ["compute", "communication", "host", "idle"]},
        "label": {"type": "string", "description": "kernel family, collective and group, or host operator"},
        "name": {"type": "string", "description": "the kernel, in by_name"},
        "a_ms": {"type": "number", "minimum": 0},
        "b_ms": {"type": "number", "minimum": 0},
        "difference_ms": {"type": "number"}
      }
    }
  }
}
)json";

}  // namespace lumos
