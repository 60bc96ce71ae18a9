#include "lumos/cli/schemas/stragglers_schema.h"

namespace lumos {

const std::string_view kStragglersSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.stragglers.v1",
  "title": "What lumos stragglers --json prints",
  "description": "Times are per step.",
  "type": "object",
  "required": ["schema", "step_ms", "ranks", "groups", "waits"],
  "properties": {
    "schema": {"const": "lumos.stragglers.v1"},
    "step_ms": {"type": "number", "minimum": 0, "description": "simulated"},
    "ranks": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["rank", "slowdown", "others_wait_ms", "gain_ms"],
        "properties": {
          "rank": {"type": "integer"},
          "slowdown": {"type": "number", "description": "its kernels' time over the median rank's for the same kernels"},
          "others_wait_ms": {"type": "number"},
          "gain_ms": {"type": "number", "description": "of the step, by simulation, without the slowdown"}
        }
      }
    },
    "groups": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["group", "size", "collectives", "members"],
        "properties": {
          "group": {"type": "string"},
          "size": {"type": "integer"},
          "collectives": {"type": "integer"},
          "members": {
            "type": "array",
            "items": {
              "type": "object",
              "required": ["rank", "last", "last_share", "others_wait_ms", "own_wait_ms", "missing_wait_ms"],
              "properties": {
                "rank": {"type": "integer"},
                "last": {"type": "integer", "description": "collectives at which it arrived last"},
                "last_share": {"type": "number"},
                "others_wait_ms": {"type": "number", "description": "all other members together, for this rank"},
                "own_wait_ms": {"type": "number", "description": "this rank, for members that are traced"},
                "missing_wait_ms": {"type": "number", "description": "this rank, for members that are not traced"}
              }
            }
          }
        }
      }
    },
    "waits": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["rank", "waits_for", "ms"],
        "properties": {
          "rank": {"type": "integer"},
          "waits_for": {"type": "integer"},
          "ms": {"type": "number"}
        }
      }
    }
  }
}
)json";

}  // namespace lumos
