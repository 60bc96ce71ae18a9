#include "lumos/trace/words/tensor_shapes.h"

#include <algorithm>
#include <utility>

namespace lumos {

namespace {

constexpr int64_t kLargestExtent = INT64_MAX / 16;  // More elements than that are an attack, and their bytes overflow.

/// The type of every argument, of a list the first of its members: the first text within each item of the outer list.
std::vector<ElementType> parse_types(std::string_view text) {
  std::vector<ElementType> types;
  int depth = 0;
  bool told = false;  // of the present argument
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 1) told = false;
    if ((depth == 1 && types.empty()) || (c == ',' && depth == 1)) types.push_back(ElementType::kUnknown);
    if (c != '"' && c != '\'') continue;
    const size_t end = text.find(c, i + 1);
    if (end == std::string_view::npos) break;
    if (!told && !types.empty()) types.back() = type_of_argument(text.substr(i + 1, end - i - 1));
    told = true;
    i = end;
  }
  return types;
}

class ShapeParser {
 public:
  ShapeParser(std::string_view text, std::vector<ElementType> types) : text_(text), types_(std::move(types)) {}

  std::vector<TensorShape> run() {
    for (size_t i = 0; i < text_.size(); ++i) {
      if (!take(text_[i])) return {};
    }
    return depth_ == 0 ? std::move(out_) : std::vector<TensorShape>();
  }

 private:
  bool take(char c) {
    if (c >= '0' && c <= '9') {
      value_ = std::min(kLargestExtent, std::max<int64_t>(value_, 0) * 10 + (c - '0'));
      return depth_ > 0;
    }
    close_value();
    if (c == '[') {
      ++depth_;
      dims_.clear();
      is_shape_ = true;
    } else if (c == ']') {
      if (is_shape_ && !dims_.empty() && depth_ > 1) add();
      dims_.clear();
      is_shape_ = false;
      return --depth_ >= 0;
    } else if (c == ',') {
      if (depth_ == 1) ++argument_;
    } else if (c != ' ' && c != '\t' && c != '\n') {
      is_shape_ = false;  // a text, a fraction, a size below zero
    }
    return true;
  }

  void close_value() {
    if (value_ >= 0) dims_.push_back(value_);
    value_ = -1;
  }

  void add() {
    TensorShape shape;
    shape.dims = dims_;
    shape.argument = argument_;
    if (argument_ < types_.size()) shape.type = types_[argument_];
    if (shape.type != ElementType::kUnknown) shape.element_bytes = bytes_of(shape.type);
    out_.push_back(std::move(shape));
  }

  std::string_view text_;
  std::vector<ElementType> types_;
  std::vector<TensorShape> out_;
  std::vector<int64_t> dims_;  // of the innermost list
  int64_t value_ = -1;
  int depth_ = 0;
  uint32_t argument_ = 0;
  bool is_shape_ = false;  // the innermost list holds nothing but sizes so far
};

}  // namespace

int64_t TensorShape::elements() const {
  int64_t product = 1;
  for (int64_t extent : dims) {
    if (__builtin_mul_overflow(product, extent, &product)) return kLargestExtent;
  }
  return std::min(product, kLargestExtent);
}

std::vector<TensorShape> parse_shapes(std::string_view dims, std::string_view types) {
  return ShapeParser(dims, parse_types(types)).run();
}

const TensorShape* argument_of(const std::vector<TensorShape>& tensors, uint32_t position) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const TensorShape& tensor) { return tensor.argument == position; });
  return found == tensors.end() ? nullptr : &*found;
}

const std::vector<int64_t>& dims_of(const std::vector<TensorShape>& tensors, uint32_t position) {
  static const std::vector<int64_t> kNone;
  const TensorShape* tensor = argument_of(tensors, position);
  return tensor == nullptr ? kNone : tensor->dims;
}

int64_t bytes_of(const std::vector<TensorShape>& tensors) {
  int64_t sum = 0;
  for (const TensorShape& tensor : tensors) {
    if (tensor.type == ElementType::kUnknown) return -1;
    if (__builtin_add_overflow(sum, tensor.bytes(), &sum)) return INT64_MAX;
  }
  return tensors.empty() ? -1 : sum;
}

}  // namespace lumos
