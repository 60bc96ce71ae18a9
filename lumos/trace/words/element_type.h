// Number types of tensors, by the names that PyTorch writes: of collectives "BFloat16", of operators' arguments
// "c10::BFloat16". The one table of them; read by whoever counts bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace lumos {

enum class ElementType : uint8_t {
  kUnknown,
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kFloat8,  ///< e4m3 and e5m2 with all their variants
  kInt8,    ///< and all other types of one byte that are no floats
  kInt16,
  kInt32,
  kInt64,
  kComplex64,
  kComplex128,
};

/// The type that "dtype" of a collective's metadata tells, "BFloat16".
ElementType type_of_collective(std::string_view dtype);

/// The type that an argument of "Input type" tells, "c10::BFloat16"; kUnknown of what is no tensor.
ElementType type_of_argument(std::string_view type);

/// Bytes of one element; 0 if unknown.
int64_t bytes_of(ElementType type);

/// The type as job files spell it, "bf16"; "" where they have no word.
std::string_view job_spelling(ElementType type);

}  // namespace lumos
