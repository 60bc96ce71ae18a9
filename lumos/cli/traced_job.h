// The program of a traced job, as the commands that predict and search need it: traces read, checked against the job
// file, recovered.
#pragma once

#include <string>

#include "lumos/cli/read_arguments.h"
#include "lumos/program/plan.h"

namespace lumos {

/// Errors: those of reading and of recovery, and kUsage where the traces contradict the job of `job_file`.
Result<Recovery> recover_for(const ReadArguments& read, const Job& job, const std::string& job_file, Console& console);

/// The name of the cluster file that comes with Lumos for a traced GPU, such as dgx-h100; "" for one we do not know.
std::string cluster_of_device(const std::string& device);

}  // namespace lumos
