// A curve drawn beside the tracks of a trace file, e.g. SM utilisation in percent. Made in report/, written by the
// trace writers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lumos {

struct CounterCurve {
  struct Point {
    int64_t ts_ns = 0;
    double value = 0;
  };
  std::string name;
  std::vector<Point> points;
};

}  // namespace lumos
