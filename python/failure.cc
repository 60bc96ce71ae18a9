#include "python/failure.h"

#include <string>

namespace nb = nanobind;

namespace lumos {

namespace {

/// A new exception class that carries the exit code of the command with the same error.
void add_class(nb::module_& module, const char* name, nb::handle bases, ErrorKind kind, const char* doc) {
  const std::string full = fmt::format("lumos.{}", name);
  nb::dict members;
  members["exit_code"] = static_cast<int>(kind);
  nb::object made = nb::steal(PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), members.ptr()));
  if (!made.is_valid()) nb::raise_python_error();
  module.attr(name) = made;
}

const char* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kFailed:
      return "LumosError";
    case ErrorKind::kUsage:
      return "UsageError";
    case ErrorKind::kUnreadable:
      return "UnreadableError";
    case ErrorKind::kInterrupted:
      break;
  }
  return "Interrupted";
}

}  // namespace

void bind_failures(nb::module_& module) {
  add_class(module, "LumosError", PyExc_Exception, ErrorKind::kFailed, "The work could not be done.");
  const nb::object base = module.attr("LumosError");
  add_class(module, "UsageError", nb::make_tuple(base, nb::handle(PyExc_ValueError)), ErrorKind::kUsage,
            "An argument or a job file is wrong.");
  add_class(module, "UnreadableError", nb::make_tuple(base, nb::handle(PyExc_OSError)), ErrorKind::kUnreadable,
            "An input cannot be read.");
  // Not a LumosError: who catches errors does not want to catch ctrl-C.
  add_class(module, "Interrupted", PyExc_KeyboardInterrupt, ErrorKind::kInterrupted, "Stopped by ctrl-C.");
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      const nb::object made = nb::module_::import_("lumos._lumos").attr(class_of(failure.error.kind));
      PyErr_SetString(made.ptr(), failure.error.message.c_str());
    }
  });
}

}  // namespace lumos
