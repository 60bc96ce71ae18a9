#include "lumos/whatif/times/batch_dimension.h"

#include <algorithm>
#include <array>

#include "lumos/trace/table/row_meaning.h"
#include "lumos/whatif/times/launching_operator.h"

namespace lumos {

namespace {

constexpr int kUsualFirst = -1;  // the first extent of data is usually the batch, or what it is flattened to
constexpr int kAnyFirst = -2;    // it may be anything: a product is also made of transposed operands

/// What the arguments of an operator are. Bits of masks are argument numbers.
struct Signature {
  Operator op;
  uint32_t data = 0;           ///< arguments that are activations
  uint32_t parameters = 0;     ///< arguments that are parameters or their statistics
  int batch_of = kUsualFirst;  ///< the argument whose first extent is the batch by definition, or one of the above
};

constexpr size_t kMostExtents = 5;  // of images in time; more would be too many products

constexpr uint32_t bit(uint32_t argument) { return 1u << argument; }

constexpr std::array<Signature, 16> kSignatures = {{
    {Operator::kMm, bit(0), 0, kAnyFirst},
    {Operator::kMatmul, bit(0), 0, kAnyFirst},
    {Operator::kBmm, bit(0) | bit(1), 0, kAnyFirst},
    {Operator::kBaddbmm, bit(1) | bit(2), 0, kAnyFirst},
    {Operator::kLinear, bit(0), bit(1) | bit(2)},
    {Operator::kAddmm, bit(1), bit(0) | bit(2)},
    {Operator::kConvolution, bit(0), bit(1) | bit(2), 0},
    {Operator::kCudnnConvolution, bit(0), bit(1), 0},
    {Operator::kConvolutionBackward, bit(0) | bit(1), bit(2), 1},
    {Operator::kBatchNorm, bit(0), bit(1) | bit(2) | bit(3) | bit(4), 0},
    {Operator::kLayerNorm, bit(0), bit(2) | bit(3)},
    {Operator::kGroupNorm, bit(0), bit(2) | bit(3), 0},
    {Operator::kRmsNorm, bit(0), bit(2)},
    {Operator::kEmbedding, bit(1), bit(0), 1},
    {Operator::kEmbeddingBag, bit(1), bit(0)},
    {Operator::kScaledDotProduct, bit(0) | bit(1) | bit(2), 0, 0},
}};

const Signature* signature_of(Operator op) {
  const auto found =
      std::find_if(kSignatures.begin(), kSignatures.end(), [&](const Signature& one) { return one.op == op; });
  return found == kSignatures.end() ? nullptr : &*found;
}

const Signature* signature_of_row(const EventTable& table, uint32_t row) {
  return signature_of(operator_of(table, row).op);
}

bool in_mask(uint32_t mask, uint32_t argument) { return argument < 32 && (mask >> argument & 1u) != 0; }

/// The argument that defines the batch, or nullptr.
const TensorShape* batch_argument(const std::vector<TensorShape>& tensors, const Signature& signature) {
  return signature.batch_of < 0 ? nullptr : argument_of(tensors, static_cast<uint32_t>(signature.batch_of));
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
      const Signature* signature = signature_of_row(table, at);
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
      const TensorShape* definition = batch_argument(tensors, *signature);
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
  const Signature* own = signature_of_row(table_, row);
  if (own != nullptr && in_mask(own->parameters, tensor.argument)) return true;
  if (own != nullptr && in_mask(own->data, tensor.argument)) return false;
  const uint32_t around = first_around(
      nested_, row, [&](uint32_t r) { return signature_of_row(table_, r) != nullptr && shapes_.recorded(r); });
  if (around != kNoIndex) {
    const Signature* signature = signature_of_row(table_, around);
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
  const Operator op = operator_of(table_, row).op;
  const bool product = op == Operator::kMm || op == Operator::kAddmm;
  const uint32_t first = op == Operator::kAddmm ? 1 : 0;
  const TensorShape* a = argument_of(shapes_.of_row(row), first);
  const TensorShape* b = argument_of(shapes_.of_row(row), first + 1);
  if (a == nullptr || b == nullptr || a->dims.size() != 2 || b->dims.size() != 2) return false;
  const auto holds_batch = [&](int64_t extent) { return extents_.contains(extent); };
  if (product) return holds_batch(a->dims[1]) && !holds_batch(a->dims[0]) && !holds_batch(b->dims[1]);
  return holds_batch(a->dims[0]) && a->dims[0] == b->dims[0] && !holds_batch(a->dims[1]) && !holds_batch(b->dims[1]);
}

BatchUse BatchDimension::use_of(uint32_t launching_row) const {
  uint32_t op = kNoIndex;
  for (uint32_t at = launching_row; at != kNoIndex; at = nested_.parent[at]) {
    if (operator_of(table_, at).is(OperatorTrait::kParameters)) return BatchUse::kNone;
    if (op == kNoIndex && shapes_.recorded(at)) op = at;
  }
  if (op == kNoIndex) return BatchUse::kUnknown;
  for (const TensorShape& tensor : shapes_.of_row(op)) {
    if (holds(tensor) && !is_parameter(op, tensor)) return sums(op) ? BatchUse::kSums : BatchUse::kHolds;
  }
  return BatchUse::kNone;
}

}  // namespace lumos
