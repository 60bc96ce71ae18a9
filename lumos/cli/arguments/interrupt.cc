#include "lumos/cli/arguments/interrupt.h"

#include <csignal>

namespace lumos {
namespace {

// A signal handler can reach nothing but a global.
volatile std::sig_atomic_t interrupted = 0;

extern "C" void raise_flag(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptWatch::InterruptWatch()
    : before_int_(std::signal(SIGINT, raise_flag)), before_term_(std::signal(SIGTERM, raise_flag)) {
  interrupted = 0;
}

InterruptWatch::~InterruptWatch() {
  std::signal(SIGINT, before_int_);
  std::signal(SIGTERM, before_term_);
}

bool InterruptWatch::raised() const { return interrupted != 0; }

}  // namespace lumos
