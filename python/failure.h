// An Error on its way to Python: thrown by the bindings alone, turned into the exception class of its exit code.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <utility>

#include "lumos/base/result.h"

namespace lumos {

struct Failure : std::exception {
  Error error;

  explicit Failure(Error why) : error(std::move(why)) {}
  const char* what() const noexcept override { return error.message.c_str(); }
};

/// The value of a Result; throws its error.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw Failure(std::move(result).error());
  return std::move(*result);
}

/// Makes the classes LumosError (1), UsageError (2), UnreadableError (3) and Interrupted (130) in `module`, and lets
/// Failure become them.
void bind_failures(nanobind::module_& module);

}  // namespace lumos
