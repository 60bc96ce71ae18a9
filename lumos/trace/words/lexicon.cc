#include "lumos/trace/words/lexicon.h"

#include <utility>

namespace lumos {

namespace {

template <class T, class LookUp>
void add(std::vector<T>& column, const NamePool& names, NameId name, LookUp look_up) {
  T& entry = column[static_cast<uint32_t>(name)];
  if (!entry.known) entry = look_up(names.text(name));
}

}  // namespace

MetadataMeaning metadata_meaning(std::string_view text) {
  return {true, hint_of_metadata(text), type_of_collective(text)};
}

Lexicon::Lexicon(std::shared_ptr<const NamePool> names)
    : names_(std::move(names)),
      kernels_(names_->size()),
      operators_(names_->size()),
      calls_(names_->size()),
      metadata_(names_->size()) {}

void Lexicon::add_kernel(NameId name) { add(kernels_, *names_, name, kernel_meaning); }

void Lexicon::add_operator(NameId name) { add(operators_, *names_, name, operator_meaning); }

void Lexicon::add_call(NameId name) { add(calls_, *names_, name, call_meaning); }

void Lexicon::add_metadata(NameId text) { add(metadata_, *names_, text, metadata_meaning); }

}  // namespace lumos
