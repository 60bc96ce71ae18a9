// Ctrl-C for commands that can stop halfway and still have an answer. The first one asks the command to stop, a second
// one ends the program as it does elsewhere.
#pragma once

namespace lumos {

/// While one lives, SIGINT and SIGTERM only raise a flag. At most one at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool raised() const;

 private:
  void (*before_int_)(int);
  void (*before_term_)(int);
};

}  // namespace lumos
