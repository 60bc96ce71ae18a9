// New times for many tasks at once, as a model or a table has them: what --scale-batch, --cluster and --kernel-times
// give, and whatif/edit/change applies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lumos {

struct Retiming {
  explicit Retiming(size_t tasks) : factor(tasks, 1), touched(tasks, false) {}

  void touch(uint32_t task, double times) {
    factor[task] = times;
    touched[task] = true;
  }

  std::vector<double> factor;      ///< by task, on what it takes in the traced job; 1 where not touched
  std::vector<bool> touched;       ///< by task
  std::vector<std::string> notes;  ///< what people should know beside the number
};

}  // namespace lumos
