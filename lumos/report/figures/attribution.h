// Every nanosecond of a window given to one owner: the compute kernel that ran, else the communication that was
// exposed, else what the host did while the GPU had nothing to do. The shares sum to the window, so differences of two
// traces sum to the difference of their steps. Read by diff and the HTML report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumos/report/figures/row_template.h"
#include "lumos/report/figures/steps.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

enum class Owner : uint8_t {
  kCompute,        ///< label: kernel family; name: the kernel
  kCommunication,  ///< label: collective and group, or the kernel where the trace does not tell
  kHost,           ///< label and name: the outermost operator, annotation or call of the thread that was busy last
  kIdle,           ///< nobody did anything that the trace shows
};
std::string_view owner_name(Owner owner);

struct OwnedTime {
  Owner owner = Owner::kIdle;
  std::string label;  ///< comparable between traces: family, collective, operator
  std::string name;   ///< within the label: the kernel; same as the label elsewhere
  std::string part;   ///< template of the program, "" of idle time
  std::string place;  ///< "main stream", "stream 20", "main thread" ...; "" of idle time
  int64_t time_ns = 0;
};

/// Time of `windows` together by owner, label, name, part and place; in that order. Windows must not overlap. Sums to
/// the windows. `templates` is parallel to the rows.
std::vector<OwnedTime> attribute_time(const EventTable& table, const std::vector<RowTemplate>& templates,
                                      const std::vector<Window>& windows);

}  // namespace lumos
