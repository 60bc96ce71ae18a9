#include "lumos/cli/schemas/program_schema.h"

namespace lumos {

const std::string_view kProgramSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "lumos.program.v1",
  "title": "What lumos inspect --program --json prints",
  "description": "The program that was recovered from the traces. Micro-batches, chunks and layers count from 0; -1: outside of any.",
  "type": "object",
  "required": ["schema", "ranks"],
  "properties": {
    "schema": {"const": "lumos.program.v1"},
    "ranks": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["rank", "stage", "stages", "microbatches", "chunks", "layers_per_chunk", "layer_match",
                     "replayed_ms", "lowered_ms", "other_step_pct", "other_step_kernels_pct",
                     "other_step_measured_pct", "unplaced", "templates", "kernels"],
        "properties": {
          "rank": {"type": "integer", "description": "-1 where the trace does not tell"},
          "stage": {"type": "integer", "minimum": 0},
          "stages": {"type": "integer", "minimum": 1},
          "microbatches": {"type": "integer", "minimum": 0, "description": "of a whole step"},
          "chunks": {"type": "integer", "minimum": 1, "description": "model chunks of the stage"},
          "layers_per_chunk": {"type": "integer", "minimum": 0, "description": "0: nothing repeats"},
          "layer_match": {"type": "number", "minimum": 0, "maximum": 1, "description": "how well the layers agree with each other"},
          "replayed_ms": {"type": "number", "description": "the rank's whole trace, simulated as it was recorded"},
          "lowered_ms": {"type": "number", "description": "the same, recovered and lowered again"},
          "other_step_pct": {"type": ["number", "null"], "description": "how far one step's blocks are from another step of the trace, worst pair of neighbours; null without two alike"},
          "other_step_kernels_pct": {"type": ["number", "null"], "description": "how far the sums of the kernels' measured times of that pair are apart"},
          "other_step_measured_pct": {"type": ["number", "null"], "description": "how far the measured lengths of that pair of steps are apart"},
          "unplaced": {"type": "integer", "minimum": 0, "description": "launches that could not be placed"},
          "templates": {
            "type": "array",
            "items": {
              "type": "object",
              "required": ["block", "times", "kernels", "gpu_ms", "deviation_ms"],
              "properties": {
                "block": {"type": "string"},
                "times": {"type": "integer", "minimum": 1},
                "kernels": {"type": "integer", "minimum": 0, "description": "of one block"},
                "gpu_ms": {"type": "number", "description": "of one block, communication included, mean"},
                "deviation_ms": {"type": "number"}
              }
            }
          },
          "kernels": {
            "type": "array",
            "description": "one per GPU row: [correlation, phase, microbatch, chunk, layer, role]; phases are init, fwd, bwd, recompute, p2p, grad_sync, opt, log and ?",
            "items": {"type": "array"}
          }
        }
      }
    }
  }
}
)json";

}  // namespace lumos
