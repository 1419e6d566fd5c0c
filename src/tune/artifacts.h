// The files of a run directory that are made from its database, for people and for other tools.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "tune/options.h"
#include "tune/run_directory.h"

namespace tw::tune {

// run.toml: what was asked, resolved, without secrets.
Status WriteRunToml(const RunDirectory& run, const Options& options, const std::string& target);

// database_workload.json and database_tuning_record.json: every valid measurement, in
// MetaSchedule's format.
Status WriteTuningDatabase(RunDirectory& run, const tvm_api::Module& workload,
                           const tvm_api::Target& target);

// failures/KIND: the first failed candidate of each kind, as a MetaSchedule database of one record
// with the error beside it; `tensorwright verify --database failures/KIND` runs it again.
Status WriteFailures(RunDirectory& run, const tvm_api::Module& workload,
                     const tvm_api::Target& target);

// best.json, best.py (TVMScript), best.leir (the program that was tuned, when it came as LEIR) and
// best.so.
Status WriteBest(RunDirectory& run, const std::string& leir_text);

}  // namespace tw::tune
