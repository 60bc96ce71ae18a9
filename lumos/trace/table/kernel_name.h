// What people call a kernel. The trace has the compiler's full signature, which fits no table and no slice.
#pragma once

#include <string>
#include <string_view>

namespace lumos {

/// `name` without return type, namespaces, template arguments and parameters: "vectorized_elementwise_kernel".
std::string short_kernel_name(std::string_view name);

}  // namespace lumos
