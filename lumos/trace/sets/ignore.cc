#include "lumos/trace/sets/ignore.h"

#include <algorithm>
#include <vector>

#include "lumos/trace/table/table_rows.h"

namespace lumos {

Result<IgnoredMetadata> parse_ignored(std::string_view text) {
  IgnoredMetadata ignored;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word == "shapes")
      ignored.shapes = true;
    else if (word == "collectives")
      ignored.collectives = true;
    else if (word == "annotations")
      ignored.annotations = true;
    else
      return fail(ErrorKind::kUsage, "--ignore {}: not one of shapes, collectives, annotations", word);
  }
  return ignored;
}

void ignore_metadata(EventTable& table, const IgnoredMetadata& ignored) {
  if (ignored.shapes)
    for (OpDetail& op : table.ops) op.input_dims = op.input_types = op.concrete_inputs = kNoName;
  if (ignored.collectives) {
    for (OpDetail& op : table.ops) op.collective = kNoIndex;
    for (GpuDetail& gpu : table.gpu) gpu.collective = kNoIndex;
    table.collectives.clear();
    table.info.groups.clear();
  }
  if (!ignored.annotations) return;
  std::vector<uint32_t> kept;
  for (uint32_t row = 0; row < table.size(); ++row)
    if (table.kind[row] != EventKind::kAnnotation && table.kind[row] != EventKind::kGpuAnnotation) kept.push_back(row);
  keep_rows(table, kept);
}

}  // namespace lumos
