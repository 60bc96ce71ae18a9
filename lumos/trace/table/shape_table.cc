#include "lumos/trace/table/shape_table.h"

#include <map>
#include <utility>

namespace lumos {

ShapeTable::ShapeTable(const EventTable& table) : table_(table) {
  distinct_.emplace_back();  // of what was not recorded
  std::map<std::pair<NameId, NameId>, uint32_t> known;
  of_detail_.reserve(table.ops.size());
  for (const OpDetail& detail : table.ops) {
    if (detail.input_dims == kNoName) {
      of_detail_.push_back(0);
      continue;
    }
    const auto [entry, is_new] =
        known.try_emplace({detail.input_dims, detail.input_types}, static_cast<uint32_t>(distinct_.size()));
    if (is_new) distinct_.push_back(parse_shapes(table.text(detail.input_dims), table.text(detail.input_types)));
    of_detail_.push_back(entry->second);
  }
}

bool ShapeTable::recorded(uint32_t row) const {
  const OpDetail* detail = table_.op_detail(row);
  return detail != nullptr && detail->input_dims != kNoName;
}

const std::vector<TensorShape>& ShapeTable::of_row(uint32_t row) const {
  return recorded(row) ? distinct_[of_detail_[table_.detail[row]]] : distinct_.front();
}

}  // namespace lumos
