#include "lumos/whatif/times/batch_dimension.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "lumos/whatif/times/launching_operator.h"

namespace lumos {

namespace {

constexpr int kUsualFirst = -1;  // the first extent of data is usually the batch, or what it is flattened to
constexpr int kAnyFirst = -2;    // it may be anything: a product is also made of transposed operands

/// Operators whose arguments are known by position. Bits of masks are argument numbers.
struct Signature {
  std::string_view name;       ///< after "aten::" and the libraries' prefixes
  uint32_t data = 0;           ///< arguments that are activations
  uint32_t parameters = 0;     ///< arguments that are parameters or their statistics
  int batch_of = kUsualFirst;  ///< the argument whose first extent is the batch by definition, or one of the above
};

constexpr size_t kMostExtents = 5;  // of images in time; more would be too many products

constexpr uint32_t bit(uint32_t argument) { return 1u << argument; }

constexpr std::array<Signature, 23> kSignatures = {{
    {"mm", bit(0), 0, kAnyFirst},
    {"matmul", bit(0), 0, kAnyFirst},
    {"bmm", bit(0) | bit(1), 0, kAnyFirst},
    {"baddbmm", bit(1) | bit(2), 0, kAnyFirst},
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

/// A tensor is flattened to rows of its last extent, or of its channels: the batch times any of the others.
void add_products(const std::vector<int64_t>& dims, std::set<int64_t>& extents) {
  const size_t others = std::min<size_t>(dims.size() - 1, kMostExtents);
  for (size_t chosen = 0; chosen < size_t{1} << others; ++chosen) {
    int64_t product = dims.front();
    for (size_t i = 0; i < others; ++i) {
      if ((chosen >> i & 1u) != 0) product *= dims[i + 1];
    }
    extents.insert(product);
  }
}

}  // namespace

void BatchEvidence::add(const EventTable& table, const Nesting& nested, const ShapeTable& shapes,
                        const std::vector<LaunchWeight>& launches) {
  for (const LaunchWeight& launch : launches) {
    for (uint32_t at = launch.row; at != kNoIndex; at = nested.parent[at]) {
      const Signature* signature = signature_of(table.name_of(at));
      if (signature == nullptr || !shapes.recorded(at)) continue;
      const std::vector<TensorShape>& tensors = shapes.of_row(at);
      for (const TensorShape& tensor : tensors) {
        if (in_mask(signature->parameters, tensor.argument)) {
          parameters_.insert(tensor.dims);
          parameters_.insert(std::vector<int64_t>(tensor.dims.rbegin(), tensor.dims.rend()));
        }
        if (!in_mask(signature->data, tensor.argument)) continue;
        data_.insert(tensor.dims);
        if (tensor.dims.size() < 2) continue;
        if (signature->batch_of == kAnyFirst) continue;
        data_by_first_[tensor.dims.front()].insert(tensor.dims);
        of_linear_[tensor.dims.front()] += launch.weight_ns;
      }
      const TensorShape* definition = tensor_of(tensors, signature->batch_of);
      if (definition != nullptr && definition->dims.size() >= 2) {
        by_definition_[definition->dims.front()] += launch.weight_ns;
      }
    }
  }
}

int64_t BatchEvidence::batch_size() const { return heaviest(by_definition_.empty() ? of_linear_ : by_definition_); }

std::set<int64_t> BatchEvidence::extents(int64_t size) const {
  std::set<int64_t> extents = {size};
  if (const auto found = data_by_first_.find(size); found != data_by_first_.end()) {
    for (const std::vector<int64_t>& dims : found->second) add_products(dims, extents);
  }
  // Sequence-first layouts have the batch behind: [sequence, batch, width].
  for (const auto& [first, all] : data_by_first_) {
    for (const std::vector<int64_t>& dims : all) {
      if (dims.size() == 3 && dims[1] == size) extents.insert(dims[0] * size);
    }
  }
  // A batch of one is an extent of everything; only what it is flattened with tells.
  if (size == 1 && extents.size() > 1) extents.erase(1);
  return extents;
}

BatchDimension::BatchDimension(const EventTable& table, const Nesting& nested, const ShapeTable& shapes,
                               const std::vector<LaunchWeight>& launches, const BatchEvidence& evidence, int64_t size)
    : table_(table), nested_(nested), shapes_(shapes), evidence_(evidence), extents_(evidence.extents(size)) {
  for (const LaunchWeight& launch : launches) {
    const uint32_t op = first_around(nested_, launch.row, [&](uint32_t r) { return shapes_.recorded(r); });
    if (op == kNoIndex) continue;
    for (const TensorShape& tensor : shapes_.of_row(op)) {
      if (holds(tensor) && !is_parameter(op, tensor)) activation_elements_.insert(tensor.elements());
    }
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
  return evidence_.only_parameters_have(tensor.dims);
}

/// A product A[m, k] B[k, n] whose k holds the batch while m and n do not; or of operators of other names, as fused
/// weight gradients are, A[k, m] B[k, n].
bool BatchDimension::sums(uint32_t row) const {
  const std::string_view name = table_.name_of(row);
  const bool product = name == "aten::mm" || name == "aten::addmm";
  const int first = name == "aten::addmm" ? 1 : 0;
  const TensorShape* a = tensor_of(shapes_.of_row(row), first);
  const TensorShape* b = tensor_of(shapes_.of_row(row), first + 1);
  if (a == nullptr || b == nullptr || a->dims.size() != 2 || b->dims.size() != 2) return false;
  const auto holds_batch = [&](int64_t extent) { return extents_.contains(extent); };
  if (product) return holds_batch(a->dims[1]) && !holds_batch(a->dims[0]) && !holds_batch(b->dims[1]);
  return holds_batch(a->dims[0]) && a->dims[0] == b->dims[0] && !holds_batch(a->dims[1]) && !holds_batch(b->dims[1]);
}

BatchUse BatchDimension::use_of(uint32_t launching_row) const {
  uint32_t op = kNoIndex;
  for (uint32_t at = launching_row; at != kNoIndex; at = nested_.parent[at]) {
    if (is_optimizer(table_.name_of(at))) return BatchUse::kNone;
    if (op == kNoIndex && shapes_.recorded(at)) op = at;
  }
  if (op == kNoIndex) return BatchUse::kUnknown;
  for (const TensorShape& tensor : shapes_.of_row(op)) {
    if (holds(tensor) && !is_parameter(op, tensor)) return sums(op) ? BatchUse::kSums : BatchUse::kHolds;
  }
  return BatchUse::kNone;
}

}  // namespace lumos
