// What a runtime or driver call means to the graph, told from its name. CUDA, HIP, Ascend's, SYCL's and the driver
// APIs share one vocabulary here; a name that is not known is an ordinary call, and becomes a launch if a GPU row
// claims it.
#pragma once

#include <cstdint>
#include <string_view>

namespace lumos {

enum class CallKind : uint8_t {
  kOther,
  kLaunch,        ///< a kernel, fill or asynchronous copy
  kGraphLaunch,   ///< one call, many GPU rows
  kRecord,        ///< an event is recorded on a stream
  kWait,          ///< a stream is made to wait for an event
  kStreamSync,    ///< the host waits for a stream
  kEventSync,     ///< the host waits for an event
  kDeviceSync,    ///< the host waits for everything
  kBlockingCopy,  ///< a copy that returns when it is done
  kMayBlock,      ///< waits for the device only sometimes: cudaFree, cudaMalloc, cudaHostRegister ...
  kPoll,          ///< asks and goes on: cudaEventQuery, cudaStreamQuery
};

CallKind call_kind(std::string_view name);

}  // namespace lumos
