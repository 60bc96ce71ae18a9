#include "lumos/cli/schemas/gains_schema.h"

namespace lumos {

const std::string_view kGainsSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.gains.v1",
  "title": "What lumos gains --json prints",
  "description": "Times are per step, means over the ranks. Largest gain first, by what is within reach: 10 %, or as fast as its peers where that is more.",
  "type": "object",
  "required": ["schema", "step_ms", "tried", "gains"],
  "properties": {
    "schema": {"const": "lumos.gains.v1"},
    "step_ms": {"type": "number", "minimum": 0, "description": "simulated"},
    "tried": {"type": "integer", "minimum": 0, "description": "things that could be faster, those without gain included"},
    "gains": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["kind", "name", "time_ms", "on_path_ms", "gain_10_percent_ms", "gain_2x_ms", "gain_free_ms", "ends_after", "then"],
        "properties": {
          "kind": {"enum": ["family", "kernel", "op", "scope", "op-cpu", "scope-cpu", "comm", "group", "sync", "host", "rank"], "description": "as the selectors of lumos predict; scope: a module or annotation"},
          "name": {"type": "string"},
          "time_ms": {"type": "number"},
          "on_path_ms": {"type": "number", "description": "of time_ms, on the critical path"},
          "gain_10_percent_ms": {"type": "number"},
          "gain_2x_ms": {"type": "number"},
          "gain_free_ms": {"type": "number"},
          "gain_as_peers_ms": {"type": "number", "description": "if its kernels were as fast as on the median rank; 0: not slower"},
          "ends_after": {"type": "number", "minimum": 0, "maximum": 1, "description": "the share of its time that must go for nine tenths of all it can gain, where that is early; 1: the gain goes on"},
          "then": {"type": "string", "description": "what the critical path has more of once this is free; empty where not asked"}
        }
      }
    }
  }
}
)json";

}  // namespace lumos
