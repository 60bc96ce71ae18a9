// Values by the name of a call or by stream, made when first asked for: constants have names, and spelling one for
// every kernel takes longer than using it. Used by calibration and by the assembly of graphs.
#pragma once

#include <optional>
#include <vector>

#include "lumos/graph/host/gpu_program.h"
#include "lumos/graph/host/host_program.h"

namespace lumos {

template <class T>
class PerCallName {
 public:
  explicit PerCallName(const EventTable& table) : table_(table), known_(table.names->size()) {}

  template <class Make>
  const T& of(const HostCall& call, Make make) {
    std::optional<T>& value = known_[static_cast<uint32_t>(table_.name[call.row])];
    if (!value) value = make();
    return *value;
  }

 private:
  const EventTable& table_;
  std::vector<std::optional<T>> known_;
};

/// Works of graphs share one value, whatever their stream.
template <class T>
class PerStream {
 public:
  explicit PerStream(const GpuProgram& gpu) : known_(gpu.streams() + 1) {}

  template <class Make>
  const T& of(const GpuWork& work, Make make) {
    std::optional<T>& value = work.in_graph ? known_.back() : known_[work.stream];
    if (!value) value = make();
    return *value;
  }

 private:
  std::vector<std::optional<T>> known_;
};

}  // namespace lumos
