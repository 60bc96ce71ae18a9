#include "lumos/trace/words/element_type.h"

namespace lumos {

namespace {

struct TypeRow {
  std::string_view collective;  ///< c10::toString of the scalar type
  std::string_view argument;    ///< the C++ type of an operator's argument
  ElementType type;
};

constexpr TypeRow kTypes[] = {
    {"Float", "float", ElementType::kFloat32},
    {"Double", "double", ElementType::kFloat64},
    {"Half", "c10::Half", ElementType::kFloat16},
    {"BFloat16", "c10::BFloat16", ElementType::kBFloat16},
    {"Int", "int", ElementType::kInt32},
    {"Long", "long", ElementType::kInt64},
    {"Long", "long int", ElementType::kInt64},
    {"Short", "short", ElementType::kInt16},
    {"Short", "short int", ElementType::kInt16},
    {"Byte", "unsigned char", ElementType::kInt8},
    {"Char", "signed char", ElementType::kInt8},
    {"Bool", "bool", ElementType::kInt8},
    {"QInt8", "c10::qint8", ElementType::kInt8},
    {"UInt16", "unsigned short", ElementType::kInt16},
    {"UInt32", "unsigned int", ElementType::kInt32},
    {"UInt64", "unsigned long", ElementType::kInt64},
    {"ComplexFloat", "c10::complex<float>", ElementType::kComplex64},
    {"ComplexDouble", "c10::complex<double>", ElementType::kComplex128},
    {"Float8_e4m3fn", "c10::Float8_e4m3fn", ElementType::kFloat8},
    {"Float8_e5m2", "c10::Float8_e5m2", ElementType::kFloat8},
    {"Float8_e4m3fnuz", "c10::Float8_e4m3fnuz", ElementType::kFloat8},
    {"Float8_e5m2fnuz", "c10::Float8_e5m2fnuz", ElementType::kFloat8},
};

ElementType find(std::string_view TypeRow::*column, std::string_view text) {
  for (const TypeRow& row : kTypes) {
    if (row.*column == text) return row.type;
  }
  return ElementType::kUnknown;
}

}  // namespace

ElementType type_of_collective(std::string_view dtype) { return find(&TypeRow::collective, dtype); }

ElementType type_of_argument(std::string_view type) { return find(&TypeRow::argument, type); }

int64_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::kUnknown:
      return 0;
    case ElementType::kFloat8:
    case ElementType::kInt8:
      return 1;
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
    case ElementType::kInt16:
      return 2;
    case ElementType::kFloat32:
    case ElementType::kInt32:
      return 4;
    case ElementType::kFloat64:
    case ElementType::kInt64:
    case ElementType::kComplex64:
      return 8;
    case ElementType::kComplex128:
      return 16;
  }
  return 0;
}

std::string_view job_spelling(ElementType type) {
  switch (type) {
    case ElementType::kBFloat16:
      return "bf16";
    case ElementType::kFloat16:
      return "fp16";
    case ElementType::kFloat32:
      return "fp32";
    default:
      return "";
  }
}

}  // namespace lumos
