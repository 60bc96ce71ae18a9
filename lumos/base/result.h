// Errors as values. Everything that a user, a file or a machine can get wrong returns Result<T>;
// what only our own bug can break is a CHECK. Every folder uses this header.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace lumos {

/// What went wrong, by the exit code that the command ends with.
enum class ErrorKind : uint8_t {
  kFailed = 1,         ///< the work could not be done
  kUsage = 2,          ///< wrong arguments or a wrong job file
  kUnreadable = 3,     ///< an input that cannot be read
  kInterrupted = 130,  ///< ctrl-C
};

/// One message for a person: what, where, and what to do next.
struct Error {
  ErrorKind kind = ErrorKind::kFailed;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

template <class... Args>
tl::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{kind, fmt::format(format, std::forward<Args>(args)...)});
}

/// What work that was asked to stop ends with.
inline tl::unexpected<Error> fail_interrupted() { return fail(ErrorKind::kInterrupted, "interrupted"); }

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace lumos

/// The value of a Result, or return its error from the enclosing function.
#define TRY(expression)                                                                      \
  ({                                                                                         \
    auto&& try_result_ = (expression);                                                       \
    if (!try_result_) return tl::unexpected<::lumos::Error>(std::move(try_result_).error()); \
    std::move(try_result_).value();                                                          \
  })

/// The same for a Status, which has no value.
#define TRY_STATUS(expression)                                                               \
  do {                                                                                       \
    auto&& try_status_ = (expression);                                                       \
    if (!try_status_) return tl::unexpected<::lumos::Error>(std::move(try_status_).error()); \
  } while (0)

#define CHECK(condition) ((condition) ? void(0) : ::lumos::check_failed(#condition, __FILE__, __LINE__))
