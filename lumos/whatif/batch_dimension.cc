#include "lumos/whatif/batch_dimension.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "lumos/whatif/launching_operator.h"

namespace lumos {

namespace {

/// Operators whose arguments are known by position. Bits of masks are argument numbers.
struct Signature {
  std::string_view name;    ///< after "aten::" and the libraries' prefixes
  uint32_t data = 0;        ///< arguments that are activations
  uint32_t parameters = 0;  ///< arguments that are parameters or their statistics
  int batch_of = -1;        ///< the argument whose first extent is the batch by definition
};

constexpr uint32_t bit(uint32_t argument) { return 1u << argument; }

constexpr std::array<Signature, 19> kSignatures = {{
    {"linear", bit(0), bit(1) | bit(2)},
    {"addmm", bit(1), bit(0) | bit(2)},
    {"conv1d", bit(0), bit(1) | bit(2), 0},
    {"conv2d", bit(0), bit(1) | bit(2), 0},
    {"conv3d", bit(0), bit(1) | bit(2), 0},
    {"convolution", bit(0), bit(1) | bit(2), 0},
    {"_convolution", bit(0), bit(1) | bit(2), 0},
    {"cudnn_convolution", bit(0), bit(1), 0},
    {"miopen_convolution", bit(0), bit(1) | bit(2), 0},
    {"convolution_backward", bit(0) | bit(1), bit(2), 1},
    {"batch_norm", bit(0), bit(1) | bit(2) | bit(3) | bit(4), 0},
    {"layer_norm", bit(0), bit(2) | bit(3)},
    {"native_layer_norm", bit(0), bit(2) | bit(3)},
    {"group_norm", bit(0), bit(2) | bit(3), 0},
    {"rms_norm", bit(0), bit(2)},
    {"embedding", bit(1), bit(0), 1},
    {"embedding_bag", bit(1), bit(0)},
    {"_embedding_bag", bit(1), bit(0)},
    {"scaled_dot_product_attention", bit(0) | bit(1) | bit(2), 0, 0},
}};

const Signature* signature_of(std::string_view name) {
  constexpr std::string_view kNamespace = "aten::";
  if (!name.starts_with(kNamespace)) return nullptr;
  name.remove_prefix(kNamespace.size());
  for (const Signature& signature : kSignatures) {
    if (signature.name == name) return &signature;
  }
  return nullptr;
}

bool in_mask(uint32_t mask, uint32_t argument) { return argument < 32 && (mask >> argument & 1u) != 0; }

/// The optimizer works on parameters, whatever their shapes look like.
bool is_optimizer(std::string_view name) {
  return name.starts_with("Optimizer.") || name.starts_with("aten::_foreach_") || name.starts_with("aten::_fused_");
}

const TensorShape* tensor_of(const std::vector<TensorShape>& tensors, int argument) {
  for (const TensorShape& tensor : tensors) {
    if (static_cast<int>(tensor.argument) == argument) return &tensor;
  }
  return nullptr;
}

/// The value with the most weight; of equals the smallest.
int64_t heaviest(const std::map<int64_t, int64_t>& votes) {
  int64_t best = 0, most = 0;
  for (const auto& [value, weight] : votes) {
    if (weight > most) best = value;
    most = std::max(most, weight);
  }
  return best;
}

}  // namespace

BatchDimension::BatchDimension(const EventTable& table, const Nesting& nested, const ShapeTable& shapes,
                               const std::vector<std::pair<uint32_t, int64_t>>& launches, int64_t size)
    : table_(table), nested_(nested), shapes_(shapes), size_(size) {
  learn(launches);
  for (const auto& [row, weight] : launches) {
    const uint32_t op = first_around(nested_, row, [&](uint32_t r) { return shapes_.recorded(r); });
    if (op == kNoIndex) continue;
    for (const TensorShape& tensor : shapes_.of_row(op)) {
      if (holds(tensor) && !is_parameter(op, tensor)) activation_elements_.insert(tensor.elements());
    }
  }
}

void BatchDimension::learn(const std::vector<std::pair<uint32_t, int64_t>>& launches) {
  std::map<int64_t, int64_t> by_definition, of_linear;
  std::map<int64_t, std::set<std::vector<int64_t>>> shapes_with;  // tensors by their first extent
  for (const auto& [row, weight] : launches) {
    for (uint32_t at = row; at != kNoIndex; at = nested_.parent[at]) {
      const Signature* signature = signature_of(table_.name_of(at));
      if (signature == nullptr || !shapes_.recorded(at)) continue;
      const std::vector<TensorShape>& tensors = shapes_.of_row(at);
      for (const TensorShape& tensor : tensors) {
        if (in_mask(signature->parameters, tensor.argument)) {
          parameters_.insert(tensor.dims);
          parameters_.insert(std::vector<int64_t>(tensor.dims.rbegin(), tensor.dims.rend()));
        }
        if (!in_mask(signature->data, tensor.argument)) continue;
        data_.insert(tensor.dims);
        if (tensor.dims.size() < 2) continue;
        shapes_with[tensor.dims.front()].insert(tensor.dims);
        of_linear[tensor.dims.front()] += weight;
      }
      const TensorShape* definition = tensor_of(tensors, signature->batch_of);
      if (definition != nullptr && definition->dims.size() >= 2) by_definition[definition->dims.front()] += weight;
    }
  }
  if (size_ <= 0) size_ = heaviest(by_definition.empty() ? of_linear : by_definition);
  if (size_ <= 0) return;
  extents_.insert(size_);
  for (const std::vector<int64_t>& dims : shapes_with[size_]) add_products(dims);
  // Sequence-first layouts have the batch behind: [sequence, batch, width].
  for (const auto& [first, all] : shapes_with) {
    for (const std::vector<int64_t>& dims : all) {
      if (dims.size() == 3 && dims[1] == size_) extents_.insert(dims[0] * size_);
    }
  }
  // A batch of one is an extent of everything; only what it is flattened with tells.
  if (size_ == 1 && extents_.size() > 1) extents_.erase(1);
}

/// A tensor is flattened to rows of its last extent, or of its channels: the batch times any of the others.
void BatchDimension::add_products(const std::vector<int64_t>& dims) {
  const size_t others = std::min<size_t>(dims.size() - 1, 5);
  for (size_t chosen = 0; chosen < size_t{1} << others; ++chosen) {
    int64_t product = dims.front();
    for (size_t i = 0; i < others; ++i) {
      if ((chosen >> i & 1u) != 0) product *= dims[i + 1];
    }
    extents_.insert(product);
  }
}

bool BatchDimension::holds(const TensorShape& tensor) const {
  return std::any_of(tensor.dims.begin(), tensor.dims.end(), [&](int64_t extent) { return extents_.contains(extent); });
}

/// By its own operator's signature, by that of the nearest operator of known signature around it, which casts its
/// parameters first, or because only parameters have such a shape.
bool BatchDimension::is_parameter(uint32_t row, const TensorShape& tensor) const {
  const Signature* own = signature_of(table_.name_of(row));
  if (own != nullptr && in_mask(own->parameters, tensor.argument)) return true;
  if (own != nullptr && in_mask(own->data, tensor.argument)) return false;
  const uint32_t around = first_around(
      nested_, row, [&](uint32_t r) { return signature_of(table_.name_of(r)) != nullptr && shapes_.recorded(r); });
  if (around != kNoIndex) {
    const Signature* signature = signature_of(table_.name_of(around));
    bool as_data = false, as_parameter = false;
    for (const TensorShape& argument : shapes_.of_row(around)) {
      if (argument.dims != tensor.dims) continue;
      as_data |= in_mask(signature->data, argument.argument);
      as_parameter |= in_mask(signature->parameters, argument.argument);
    }
    if (as_data != as_parameter) return as_parameter;
  }
  return parameters_.contains(tensor.dims) && !data_.contains(tensor.dims);
}

/// A[m, k] B[k, n] whose k holds the batch and whose m and n do not.
bool BatchDimension::sums(uint32_t row) const {
  const std::string_view name = table_.name_of(row);
  if (name != "aten::mm" && name != "aten::addmm") return false;
  const int first = name == "aten::mm" ? 0 : 1;
  const TensorShape* a = tensor_of(shapes_.of_row(row), first);
  const TensorShape* b = tensor_of(shapes_.of_row(row), first + 1);
  if (a == nullptr || b == nullptr || a->dims.size() != 2 || b->dims.size() != 2) return false;
  return extents_.contains(a->dims[1]) && !extents_.contains(a->dims[0]) && !extents_.contains(b->dims[1]);
}

BatchUse BatchDimension::use_of(uint32_t launching_row) const {
  uint32_t op = kNoIndex;
  for (uint32_t at = launching_row; at != kNoIndex; at = nested_.parent[at]) {
    if (is_optimizer(table_.name_of(at))) return BatchUse::kNone;
    if (op == kNoIndex && shapes_.recorded(at)) op = at;
  }
  if (op == kNoIndex || size_ <= 0) return BatchUse::kUnknown;
  for (const TensorShape& tensor : shapes_.of_row(op)) {
    if (holds(tensor) && !is_parameter(op, tensor)) return sums(op) ? BatchUse::kSums : BatchUse::kHolds;
  }
  return BatchUse::kNone;
}

}  // namespace lumos
