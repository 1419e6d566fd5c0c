#include "tvm/database.h"

#include <tvm/ffi/extra/base64.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "tvm/ffi.h"

namespace tw::tvm_api {
namespace {

namespace fs = std::filesystem;
// Keeps the order of a map's keys, and numbers as they are written.
using Json = nlohmann::ordered_json;

Result<std::vector<std::string>> ReadLines(const fs::path& path) {
  Result<std::string> text = ReadFile(path, Code::kUsage);
  if (!text) {
    return Fail(Code::kUsage, "{}; a MetaSchedule database is a folder with {} and {}",
                text.error().message, kWorkloadFile, kRecordFile);
  }
  std::vector<std::string> lines;
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

// Checks what TVM's decoder trusts.
bool IsBase64(std::string text) {
  if (text.size() % 4 != 0) return false;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.pop_back();
  return text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") ==
         std::string::npos;
}

// A workload line is [structural hash, base64 of the module's JSON graph behind its length in 8
// bytes].
Result<Module> ReadWorkload(const std::string& line) {
  constexpr std::size_t kLengthBytes = 8;
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array() || json.size() != 2 || !json[1].is_string()) {
    return Fail(Code::kUsage, "is not [hash, module]");
  }
  const std::string text = json[1];
  if (!IsBase64(text)) return Fail(Code::kUsage, "the module is not base64");
  const ffi::Bytes bytes = ffi::Base64Decode(ffi::String(text));
  if (bytes.size() <= kLengthBytes) return Fail(Code::kUsage, "the module is empty");
  return Module::FromJson(std::string(bytes.data() + kLengthBytes, bytes.size() - kLengthBytes));
}

// A record line is [workload index, [trace, seconds of each run, target, argument shapes]].
Status ReadRecord(const std::string& line, const std::vector<std::string>& workload_errors,
                  Record* record) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Fail(Code::kUsage, "is not valid JSON");
  if (!json.is_array() || json.size() != 2 || !json[0].is_number_integer() || !json[1].is_array() ||
      json[1].size() != 4) {
    return Fail(Code::kUsage, "is not [workload, [trace, seconds, target, arguments]]");
  }
  if (json[0] < 0 || json[0] >= workload_errors.size()) {
    return Fail(Code::kUsage, "workload {} is not in {}, which has {}", json[0].dump(),
                kWorkloadFile, workload_errors.size());
  }
  const std::size_t workload = json[0];
  if (!workload_errors[workload].empty()) {
    return Fail(Code::kUsage, "its workload, line {} of {}, {}", workload + 1, kWorkloadFile,
                workload_errors[workload]);
  }
  const Json& trace = json[1][0];
  if (!trace.is_array() || trace.size() != 2 || !trace[0].is_array() || !trace[1].is_array()) {
    return Fail(Code::kUsage, "its trace is not [instructions, decisions]");
  }
  const Json& seconds = json[1][1];
  if (!seconds.is_null() && !seconds.is_array()) {
    return Fail(Code::kUsage, "its run times are not a list");
  }
  std::vector<double> run_seconds;
  for (const Json& value : seconds) {
    if (!value.is_number()) return Fail(Code::kUsage, "a run time is not a number");
    run_seconds.push_back(value);
  }
  const Json& target = json[1][2];
  if (!target.is_null() && !target.is_object()) {
    return Fail(Code::kUsage, "its target is not a map");
  }
  record->trace_json = trace.dump();
  record->run_seconds = std::move(run_seconds);
  record->target_json = target.is_null() ? "" : target.dump();
  record->workload = static_cast<int>(workload);
  return Ok();
}

std::string Stringify(const Any& json) {
  return Call("ffi.json.Stringify", json, nullptr).cast<std::string>();
}

std::string WorkloadLine(const Module& workload) {
  return Stringify(Call("s_tir.meta_schedule.WorkloadAsJSON",
                        Call("s_tir.meta_schedule.Workload", Get(workload))));
}

std::string ArgumentsJson(const Module& workload) {
  ffi::Array<Any> json;
  const Any arguments = Call("s_tir.meta_schedule.ArgInfoFromEntryFunc", Get(workload),
                             /*remove_preproc=*/false);
  for (const Any& argument : arguments.cast<ffi::Array<Any>>()) {
    json.push_back(Call("s_tir.meta_schedule.ArgInfoAsJSON", argument));
  }
  return Stringify(json);
}

}  // namespace

Result<Database> ReadDatabase(const fs::path& directory) {
  TW_TRY(const auto workload_lines, ReadLines(directory / kWorkloadFile));
  TW_TRY(const auto record_lines, ReadLines(directory / kRecordFile));
  Database database;
  std::vector<std::string> workload_errors;
  for (const std::string& line : workload_lines) {
    Result<Module> module = Catch(Code::kUsage, "TVM", [&] { return ReadWorkload(line); });
    workload_errors.push_back(module ? "" : module.error().message);
    database.workloads.push_back(module ? *module : Module());
  }
  for (std::size_t i = 0; i < record_lines.size(); ++i) {
    Record record;
    const Status status = ReadRecord(record_lines[i], workload_errors, &record);
    if (!status) record.error = status.error().message;
    record.line = static_cast<int>(i) + 1;
    database.records.push_back(std::move(record));
  }
  return database;
}

Status WriteDatabase(const fs::path& directory, const Module& workload, const Target& target,
                     const std::vector<NewRecord>& records) {
  std::string lines;
  std::string workload_line;
  TW_CHECK(Catch(Code::kInternal, "writing the database", [&]() -> Status {
    workload_line = WorkloadLine(workload) + "\n";
    const Json arguments = Json::parse(ArgumentsJson(workload));
    const Json target_json = Json::parse(target.ToJson());
    for (const NewRecord& record : records) {
      Json trace = Json::parse(record.trace_json, nullptr, /*allow_exceptions=*/false);
      if (!trace.is_array()) {
        return Fail(Code::kInternal, "the trace of a record is not JSON: {}", record.trace_json);
      }
      const Json seconds = record.run_seconds.empty() ? Json() : Json(record.run_seconds);
      lines += Json::array({0, Json::array({trace, seconds, target_json, arguments})}).dump();
      lines += "\n";
    }
    return Ok();
  }));
  // The workload first: records that refer to a workload which is not there cannot be read.
  TW_CHECK(WriteFileAtomic(directory / kWorkloadFile, workload_line, Code::kUsage));
  return WriteFileAtomic(directory / kRecordFile, lines, Code::kUsage);
}

}  // namespace tw::tvm_api
