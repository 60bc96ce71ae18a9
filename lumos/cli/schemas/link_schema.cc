#include "lumos/cli/schemas/link_schema.h"

namespace lumos {

const std::string_view kLinkSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.link.v1",
  "title": "What lumos link --json prints",
  "type": "object",
  "required": ["schema", "ranks", "kernels", "rendezvous", "unlinked", "steps"],
  "properties": {
    "schema": {"const": "lumos.link.v1"},
    "ranks": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["rank", "clock_known", "offset_us", "drift_ppm", "pivot_us", "spread_us", "samples"],
        "properties": {
          "rank": {"type": "integer"},
          "clock_known": {"type": "boolean"},
          "offset_us": {"type": "number", "description": "this clock minus the lowest rank's, at pivot_us"},
          "drift_ppm": {"type": "number"},
          "pivot_us": {"type": "number", "description": "the middle of the lowest rank's trace, on its clock"},
          "spread_us": {"type": "number", "description": "median distance of its ends from the fitted clock"},
          "samples": {"type": "integer", "minimum": 0}
        }
      }
    },
    "kernels": {
      "description": "Communication kernels, by what matched them or why nothing did.",
      "type": "object",
      "required": ["all", "by_sequence", "by_order", "by_ends", "alone", "unpaired", "refused"],
      "additionalProperties": {"type": "integer", "minimum": 0}
    },
    "rendezvous": {"type": "integer", "minimum": 0},
    "unlinked": {"type": "integer", "minimum": 0, "description": "taken out again: they would have closed a cycle"},
    "steps": {
      "description": "The chosen steps, in order.",
      "type": "array",
      "items": {
        "type": "object",
        "required": ["transfers"],
        "properties": {
          "transfers": {
            "type": "array",
            "items": {
              "type": "object",
              "required": ["group", "description", "kind", "size", "members", "collectives", "estimated", "bytes",
                           "transfer_ms", "wait_ms", "algbw_gbps", "busbw_gbps"],
              "properties": {
                "group": {"type": "string"},
                "description": {"type": "string"},
                "kind": {"type": "string"},
                "size": {"type": "integer", "description": "-1: unknown"},
                "members": {"type": "integer", "description": "traced"},
                "collectives": {"type": "integer", "minimum": 0},
                "estimated": {"type": "integer", "description": "of these, from equal transfers: members are missing"},
                "bytes": {"type": ["integer", "null"]},
                "transfer_ms": {"type": "number", "description": "sum; one value per collective"},
                "wait_ms": {"type": "number", "description": "sum over collectives and traced members"},
                "algbw_gbps": {"type": "number", "description": "GB/s; 0: unknown"},
                "busbw_gbps": {"type": "number"}
              }
            }
          }
        }
      }
    }
  }
}
)json";

}  // namespace lumos
