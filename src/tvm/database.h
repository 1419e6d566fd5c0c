// MetaSchedule's JSON database: the pair of files that TVM's own Python tools read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "tvm/module.h"
#include "tvm/schedule.h"
#include "tvm/target.h"

namespace tw::tvm_api {

struct Record {
  std::string trace_json;
  std::vector<double> run_seconds;  // empty when the record has none
  std::string target_json;          // "" when the record has none
  int line = 0;                     // in the record file, from 1
  int workload = 0;                 // index into Database::workloads
  std::string error;                // why this line could not be read; then the rest is empty
};

struct Database {
  std::vector<Module> workloads;  // one a line; not defined() where the line could not be read
  std::vector<Record> records;
};

inline constexpr const char* kWorkloadFile = "database_workload.json";
inline constexpr const char* kRecordFile = "database_tuning_record.json";

// Reads DIR/database_workload.json and DIR/database_tuning_record.json. A broken line becomes a
// Record with an error (TVM's own reader gives up on the whole file); a missing file is kUsage.
Result<Database> ReadDatabase(const std::filesystem::path& directory);

// Writes the pair anew, whole and atomically (temporary file, fsync, rename), as TVM's JSONDatabase
// does.
struct NewRecord {
  std::string trace_json;  // with post-processing, as Schedule::GetTrace().ToJson() gives it
  std::vector<double> run_seconds;
};
Status WriteDatabase(const std::filesystem::path& directory, const Module& workload,
                     const Target& target, const std::vector<NewRecord>& records);

}  // namespace tw::tvm_api
