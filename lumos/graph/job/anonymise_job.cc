#include "lumos/graph/job/anonymise_job.h"

#include <memory>
#include <utility>

#include "lumos/trace/sets/anonymise.h"

namespace lumos {

LinkedJob anonymised(LinkedJob job) {
  Anonymiser anonymiser;
  for (const RankTasks& rank : job.linked.graph.ranks) anonymiser.learn(*rank.table);
  for (RankTasks& rank : job.linked.graph.ranks) {
    rank.table = std::make_shared<const EventTable>(anonymiser.replace(*rank.table));
    for (Step& step : rank.steps) step.name = anonymiser.replace(step.name);
  }
  for (CommGroup& group : job.matches.groups) {
    group.name = anonymiser.replace(group.name);
    group.description = anonymiser.replace(group.description);
  }
  for (TraceSet::Failure& failure : job.failures) {
    failure.file = anonymiser.replace(failure.file);
    failure.error.message = anonymiser.replace(failure.error.message);
  }
  return job;
}

}  // namespace lumos
