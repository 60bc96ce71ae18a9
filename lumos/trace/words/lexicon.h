// What the names in a table mean, looked up once per distinct name: columns by NameId. Made by the reader for the names
// that rows have; read through EventTable, which looks up anew what is not here.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lumos/base/names.h"
#include "lumos/trace/words/kernel_meaning.h"
#include "lumos/trace/words/operator_meaning.h"
#include "lumos/trace/words/runtime_calls.h"

namespace lumos {

/// What "Collective name" and "dtype" mean; one text is never both.
struct MetadataMeaning {
  bool known = false;
  CollectiveHint hint;
  ElementType type = ElementType::kUnknown;
};

MetadataMeaning metadata_meaning(std::string_view text);

/// Immutable once made, so read from any thread. O(1) per lookup.
class Lexicon {
 public:
  explicit Lexicon(std::shared_ptr<const NamePool> names);

  void add_kernel(NameId name);
  void add_operator(NameId name);
  void add_call(NameId name);
  void add_metadata(NameId text);

  KernelMeaning kernel(const NamePool& names, NameId name) const {
    const KernelMeaning* found = entry(kernels_, names, name);
    return found != nullptr ? *found : kernel_meaning(names.text(name));
  }
  OperatorMeaning op(const NamePool& names, NameId name) const {
    const OperatorMeaning* found = entry(operators_, names, name);
    return found != nullptr ? *found : operator_meaning(names.text(name));
  }
  CallMeaning call(const NamePool& names, NameId name) const {
    const CallMeaning* found = entry(calls_, names, name);
    return found != nullptr ? *found : call_meaning(names.text(name));
  }
  MetadataMeaning metadata(const NamePool& names, NameId text) const {
    const MetadataMeaning* found = entry(metadata_, names, text);
    return found != nullptr ? *found : metadata_meaning(names.text(text));
  }

 private:
  /// Of the pool that this was made for; nullptr where nothing was looked up.
  template <class T>
  const T* entry(const std::vector<T>& column, const NamePool& names, NameId name) const {
    const auto index = static_cast<uint32_t>(name);
    return &names == names_.get() && index < column.size() && column[index].known ? &column[index] : nullptr;
  }

  std::shared_ptr<const NamePool> names_;
  std::vector<KernelMeaning> kernels_;
  std::vector<OperatorMeaning> operators_;
  std::vector<CallMeaning> calls_;
  std::vector<MetadataMeaning> metadata_;
};

}  // namespace lumos
