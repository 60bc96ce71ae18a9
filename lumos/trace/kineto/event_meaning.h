// What an event is whose producer gives it no category. Read by trace/kineto/event_parser; categories are
// trace/table/vocabulary's.
#pragma once

#include "lumos/trace/kineto/event_fields.h"

namespace lumos {

/// Told by the event's arguments (Ascend) or the last words of its name (AIU).
CategoryMeaning meaning_without_category(const EventFields& fields);

}  // namespace lumos
