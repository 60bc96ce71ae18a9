#include "lumos/cli/schemas/search_schema.h"

namespace lumos {

const std::string_view kSearchSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.search.v1",
  "title": "What lumos search --json prints",
  "type": "object",
  "required": ["schema", "complete", "counts", "configurations"],
  "properties": {
    "schema": {"const": "lumos.search.v1"},
    "complete": {"type": "boolean", "description": "false: interrupted; the rest holds what was found until then"},
    "counts": {
      "type": "object",
      "properties": {
        "combinations": {"type": "integer", "description": "of the space, or rows of the table"},
        "illegal": {"type": "integer", "description": "contradictory, or larger than the cluster"},
        "repeated": {"type": "integer", "description": "came to the same job as another"},
        "legal": {"type": "integer"},
        "does_not_fit": {"type": "integer", "description": "left out for memory"},
        "pruned": {"type": "integer", "description": "left out because neither among the best nor on the front"},
        "evaluated": {"type": "integer"},
        "from_results_file": {"type": "integer", "description": "of the evaluated, taken from earlier runs"},
        "simulated": {"type": "integer", "description": "of the evaluated, predicted in full from the traces"}
      }
    },
    "measured_ms": {"type": "number", "description": "step of the traced job, where there are traces"},
    "tokens": {"type": "number", "description": "of the training run that gpu_hours and price are for"},
    "configurations": {
      "description": "The best, shortest step first, and every one on the front.",
      "type": "array",
      "items": {
        "type": "object",
        "required": ["rank", "on_front", "result"],
        "properties": {
          "rank": {"type": "integer", "minimum": 1, "description": "by step time; what does not fit comes last"},
          "on_front": {"type": "boolean", "description": "no other is better in step, memory and GPUs"},
          "line": {"type": "integer", "description": "of the table of --configs"},
          "gpu_hours": {"type": "number"},
          "price": {"type": "number", "description": "in the currency of the cluster file's price_per_gpu_hour"},
          "result": {"$ref": "#/$defs/result"}
        }
      }
    }
  },
  "$defs": {
    "result": {
      "description": "Also a line of a results file.",
      "type": "object",
      "required": ["id", "num_gpus", "step_ms", "tokens_per_s", "mfu_pct", "peak_gib", "bubble_ms", "exposed_comm_ms",
                   "fits", "settings"],
      "properties": {
        "id": {"type": "string", "description": "16 hexadecimal digits, of every setting and the cluster"},
        "num_gpus": {"type": "integer", "minimum": 1},
        "step_ms": {"type": "number", "minimum": 0},
        "tokens_per_s": {"type": "number"},
        "mfu_pct": {"type": "number"},
        "peak_gib": {"type": "number", "description": "of the fullest stage"},
        "bubble_ms": {"type": "number", "description": "waiting for other stages, mean over stages"},
        "exposed_comm_ms": {"type": "number", "description": "the bubble included"},
        "fits": {"type": "boolean"},
        "simulated": {"type": "boolean", "description": "step_ms and what follows from it are of the simulated job"},
        "estimated_ms": {"type": "number", "description": "of a simulated one, the step that the estimate gave"},
        "settings": {"type": "object", "description": "what the search varied, under Megatron's names"}
      }
    }
  }
}
)json";

}  // namespace lumos
