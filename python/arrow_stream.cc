#include "python/arrow_stream.h"

#include <utility>
#include <vector>

namespace lumos {

namespace {

const char* format_of(ColumnType type) {
  switch (type) {
    case ColumnType::kInt8:
      return "c";
    case ColumnType::kInt32:
      return "i";
    case ColumnType::kUint32:
      return "I";
    case ColumnType::kInt64:
      return "l";
    case ColumnType::kDouble:
      break;
  }
  return "g";
}

/// What a schema or an array owns beside the memory of the values.
template <class Node>
struct Holder {
  std::string name;
  std::vector<Node> children;
  std::vector<Node*> child_pointers;
  Node dictionary = {};
  const void* buffers[3] = {nullptr, nullptr, nullptr};
  Column column;
};

/// Releases what the consumer has not moved away, as the interface asks for.
template <class Node>
void release_node(Node* node) {
  auto* holder = static_cast<Holder<Node>*>(node->private_data);
  for (Node& child : holder->children) {
    if (child.release != nullptr) child.release(&child);
  }
  if (node->dictionary != nullptr && node->dictionary->release != nullptr) node->dictionary->release(node->dictionary);
  delete holder;
  node->release = nullptr;
}

template <class Node>
void point_to_children(Node* node, Holder<Node>* holder) {
  for (Node& child : holder->children) holder->child_pointers.push_back(&child);
  node->n_children = static_cast<int64_t>(holder->children.size());
  node->children = holder->child_pointers.data();
}

void init_schema(ArrowSchema* schema, const char* format, std::string name, int64_t flags,
                 Holder<ArrowSchema>* holder) {
  holder->name = std::move(name);
  *schema = {};
  schema->format = format;
  schema->name = holder->name.c_str();
  schema->flags = flags;
  schema->release = release_node<ArrowSchema>;
  schema->private_data = holder;
}

void export_schema(const Column& column, ArrowSchema* schema) {
  auto* holder = new Holder<ArrowSchema>;
  init_schema(schema, format_of(column.type), column.name, ARROW_FLAG_NULLABLE, holder);
  if (column.texts == nullptr) return;
  init_schema(&holder->dictionary, "u", "", 0, new Holder<ArrowSchema>);
  schema->dictionary = &holder->dictionary;
}

void init_array(ArrowArray* array, int64_t length, int64_t nulls, int64_t buffers, Holder<ArrowArray>* holder) {
  *array = {};
  array->length = length;
  array->null_count = nulls;
  array->n_buffers = buffers;
  array->buffers = holder->buffers;
  array->release = release_node<ArrowArray>;
  array->private_data = holder;
}

void export_texts(std::shared_ptr<const TextArray> texts, ArrowArray* array) {
  auto* holder = new Holder<ArrowArray>;
  holder->buffers[1] = texts->offsets.data();
  holder->buffers[2] = texts->bytes.data();
  init_array(array, texts->size(), 0, 3, holder);
  holder->column.texts = std::move(texts);
}

void export_column(const Column& column, ArrowArray* array) {
  auto* holder = new Holder<ArrowArray>;
  holder->column = column;
  holder->buffers[0] = holder->column.valid.empty() ? nullptr : holder->column.valid.data();
  holder->buffers[1] = column.data;
  init_array(array, column.length, column.nulls, 2, holder);
  if (column.texts == nullptr) return;
  export_texts(column.texts, &holder->dictionary);
  array->dictionary = &holder->dictionary;
}

struct StreamState {
  std::shared_ptr<const ColumnTable> table;
  size_t next = 0;
};

StreamState& state_of(ArrowArrayStream* stream) { return *static_cast<StreamState*>(stream->private_data); }

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  auto* holder = new Holder<ArrowSchema>;
  init_schema(out, "+s", "", 0, holder);
  const ColumnTable& table = *state_of(stream).table;
  if (!table.batches.empty()) {
    holder->children.resize(table.batches.front().size());
    for (size_t i = 0; i < holder->children.size(); ++i) {
      export_schema(table.batches.front()[i], &holder->children[i]);
    }
  }
  point_to_children(out, holder);
  return 0;
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  StreamState& state = state_of(stream);
  *out = {};
  if (state.next == state.table->batches.size()) return 0;
  const std::vector<Column>& batch = state.table->batches[state.next++];
  auto* holder = new Holder<ArrowArray>;
  init_array(out, batch.empty() ? 0 : batch.front().length, 0, 1, holder);
  holder->children.resize(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) export_column(batch[i], &holder->children[i]);
  point_to_children(out, holder);
  return 0;
}

const char* get_last_error(ArrowArrayStream*) { return nullptr; }

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamState*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

void export_stream(std::shared_ptr<const ColumnTable> table, ArrowArrayStream* out) {
  *out = {get_schema, get_next, get_last_error, release_stream, new StreamState{std::move(table)}};
}

}  // namespace lumos
