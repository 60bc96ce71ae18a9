#include "lumos/program/recover/single_layer.h"

#include "lumos/trace/table/kernel_family.h"

namespace lumos {
namespace {

constexpr uint32_t kProductsBehindAttention = 2;

std::vector<KernelFamily> families_of(const EventTable& table, const std::vector<uint32_t>& rows) {
  std::vector<KernelFamily> families;
  families.reserve(rows.size());
  for (uint32_t row : rows) families.push_back(row_family(table, row));
  return families;
}

/// Index of the first or last of a family in [begin, end), else `end`.
uint32_t first_of(const std::vector<KernelFamily>& families, KernelFamily family, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i)
    if (families[i] == family) return i;
  return end;
}

uint32_t last_of(const std::vector<KernelFamily>& families, KernelFamily family, uint32_t begin, uint32_t end) {
  for (uint32_t i = end; i-- > begin;)
    if (families[i] == family) return i;
  return end;
}

/// One past the norm kernels that begin at `at`: some norms are two kernels.
uint32_t behind_norm(const std::vector<KernelFamily>& families, uint32_t at) {
  while (at < families.size() && families[at] == KernelFamily::kNorm) ++at;
  return at;
}

Repetition whole(uint32_t begin, uint32_t end) {
  return begin < end ? Repetition{begin, end - begin, 1, 1.0} : Repetition{};
}

}  // namespace

uint32_t count_attentions(const EventTable& table, const std::vector<uint32_t>& rows) {
  const std::vector<KernelFamily> families = families_of(table, rows);
  std::vector<uint32_t> products_behind;  // of each attention
  bool inside = false, seen_product = false;
  for (const KernelFamily family : families) {
    if (family == KernelFamily::kGemm) {
      inside = false;
      seen_product = true;
      for (uint32_t& behind : products_behind) ++behind;
    } else if (seen_product && !inside && (family == KernelFamily::kAttention || family == KernelFamily::kSoftmax)) {
      inside = true;
      products_behind.push_back(0);
    }
  }
  uint32_t count = 0;
  for (uint32_t behind : products_behind) count += behind >= kProductsBehindAttention;
  return count;
}

Repetition single_forward_layer(const EventTable& table, const std::vector<uint32_t>& rows, bool is_last) {
  const std::vector<KernelFamily> families = families_of(table, rows);
  const auto size = static_cast<uint32_t>(rows.size());
  const uint32_t product = first_of(families, KernelFamily::kGemm, 0, size);
  if (product == size) return {};
  const uint32_t begin = last_of(families, KernelFamily::kNorm, 0, product);
  if (!is_last) return whole(begin, size);
  const uint32_t logits = last_of(families, KernelFamily::kGemm, product, size);
  return whole(begin, last_of(families, KernelFamily::kNorm, product, logits));
}

Repetition single_backward_layer(const EventTable& table, const std::vector<uint32_t>& rows, bool is_first,
                                 bool is_last) {
  const std::vector<KernelFamily> families = families_of(table, rows);
  const auto size = static_cast<uint32_t>(rows.size());
  const uint32_t product = first_of(families, KernelFamily::kGemm, 0, size);
  if (product == size) return {};
  uint32_t begin = 0, end = size;
  if (is_last) {
    const uint32_t norm = first_of(families, KernelFamily::kNorm, product, size);
    begin = norm == size ? 0 : behind_norm(families, norm);
  }
  if (is_first) {
    const uint32_t norm = last_of(families, KernelFamily::kNorm, begin, size);
    end = norm == size ? size : norm + 1;
  }
  return whole(begin, end);
}

}  // namespace lumos
