#include "lumos/base/result.h"

#include <cstdio>
#include <cstdlib>

namespace lumos {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "lumos: internal error: %s at %s:%d; please report it with the command you ran\n", expression,
               file, line);
  std::abort();
}

}  // namespace lumos
