#include "lumos/whatif/times/tensor_shapes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lumos/base/json_value.h"

namespace lumos {

namespace {

int64_t bytes_of_type(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, int64_t>, 14> kTypes = {{{"double", 8},
                                                                            {"long", 8},
                                                                            {"long int", 8},
                                                                            {"c10::complex<float>", 8},
                                                                            {"c10::Half", 2},
                                                                            {"c10::BFloat16", 2},
                                                                            {"short", 2},
                                                                            {"short int", 2},
                                                                            {"bool", 1},
                                                                            {"signed char", 1},
                                                                            {"unsigned char", 1},
                                                                            {"c10::Float8_e4m3fn", 1},
                                                                            {"c10::Float8_e5m2", 1},
                                                                            {"c10::Float8_e4m3fnuz", 1}}};
  for (const auto& [name, bytes] : kTypes) {
    if (name == type) return bytes;
  }
  return 4;
}

/// Whether `value` is the extents of one tensor: numbers, at least one.
bool is_shape(const Value::Array& items) {
  return !items.empty() &&
         std::all_of(items.begin(), items.end(), [](const Value& extent) { return extent.get<int64_t>() != nullptr; });
}

void add_tensors(const Value& value, uint32_t argument, int64_t element_bytes, std::vector<TensorShape>& out) {
  const auto* items = value.get<Value::Array>();
  if (items == nullptr) return;
  if (!is_shape(*items)) {
    for (const Value& item : *items) add_tensors(item, argument, element_bytes, out);
    return;
  }
  TensorShape shape;
  for (const Value& extent : *items) shape.dims.push_back(*extent.get<int64_t>());
  shape.argument = argument;
  shape.element_bytes = element_bytes;
  out.push_back(std::move(shape));
}

/// The type of argument i, of a list the first of its members.
std::string_view type_of(const Value* types, size_t argument) {
  const auto* items = types == nullptr ? nullptr : types->get<Value::Array>();
  if (items == nullptr || argument >= items->size()) return {};
  const Value* type = &(*items)[argument];
  while (const auto* list = type->get<Value::Array>()) {
    if (list->empty()) return {};
    type = &list->front();
  }
  const auto* text = type->get<std::string>();
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

}  // namespace

int64_t TensorShape::elements() const {
  int64_t product = 1;
  for (int64_t extent : dims) product *= extent;
  return product;
}

std::vector<TensorShape> parse_shapes(std::string_view dims, std::string_view types) {
  std::vector<TensorShape> out;
  const Result<Value> shapes = parse_json(dims, "Input Dims");
  const auto* arguments = shapes ? shapes->get<Value::Array>() : nullptr;
  if (arguments == nullptr) return out;
  const Result<Value> names = parse_json(types, "Input type");
  for (size_t i = 0; i < arguments->size(); ++i) {
    add_tensors((*arguments)[i], static_cast<uint32_t>(i), bytes_of_type(type_of(names ? &*names : nullptr, i)), out);
  }
  return out;
}

ShapeTable::ShapeTable(const EventTable& table) : table_(table) {
  for (const OpDetail& detail : table.ops) {
    const auto text = [&](NameId id) { return id == kNoName ? std::string_view() : table.text(id); };
    of_detail_.push_back(detail.input_dims == kNoName
                             ? std::vector<TensorShape>()
                             : parse_shapes(text(detail.input_dims), text(detail.input_types)));
  }
}

bool ShapeTable::recorded(uint32_t row) const {
  const OpDetail* detail = table_.op_detail(row);
  return detail != nullptr && detail->input_dims != kNoName;
}

const std::vector<TensorShape>& ShapeTable::of_row(uint32_t row) const {
  return recorded(row) ? of_detail_[table_.detail[row]] : none_;
}

}  // namespace lumos
