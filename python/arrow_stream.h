// A ColumnTable as an Arrow stream: the C data interface (arrow.apache.org/docs/format/CDataInterface.html), whose
// structs are a fixed ABI that needs no library. Whoever takes an array takes a share of what owns its memory.
#pragma once

#include <cstdint>
#include <memory>

#include "python/column_table.h"

// Names and layout are the interface's own; the guards let other headers define the same structs.
extern "C" {

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_NULLABLE 2

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
#endif
}

namespace lumos {

/// Fills `out` with a stream of the table's batches. The stream and its arrays share the table's memory and keep it
/// alive until the last of them is released.
void export_stream(std::shared_ptr<const ColumnTable> table, ArrowArrayStream* out);

}  // namespace lumos
