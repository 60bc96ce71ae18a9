#include "python/column_table.h"

#include "lumos/base/utf8.h"

namespace lumos {

int32_t TextArray::add(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  for (size_t i = 0; i < text.size();) {
    const size_t length = static_cast<unsigned char>(text[i]) < 0x80 ? 1 : utf8_length(text.substr(i, 4));
    bytes += length == 0 ? kReplacement : text.substr(i, length);
    i += length == 0 ? 1 : length;
  }
  offsets.push_back(static_cast<int32_t>(bytes.size()));
  return static_cast<int32_t>(size() - 1);
}

int32_t Dictionary::index(std::string_view text) {
  const auto known = known_.find(std::string(text));
  if (known != known_.end()) return known->second;
  TextArray valid;
  valid.add(text);
  const auto [it, fresh] = known_.try_emplace(valid.bytes, static_cast<int32_t>(texts_.size()));
  if (fresh) texts_.add(text);
  return it->second;
}

int64_t ColumnTable::num_rows() const {
  int64_t rows = 0;
  for (const std::vector<Column>& batch : batches) rows += batch.empty() ? 0 : batch.front().length;
  return rows;
}

}  // namespace lumos
