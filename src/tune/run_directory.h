// A run directory (docs/run-directory.md): the database, its lock, and the files made from it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/lock.h"
#include "base/result.h"
#include "store/store.h"
#include "tune/options.h"
#include "tune/workload.h"
#include "tvm/schedule.h"
#include "tvm/target.h"

namespace tw::tune {

class RunDirectory {
 public:
  // Creates the directory, or opens it to go on with the run in it. Holds its lock until destroyed.
  // `identity` is what makes two runs the same one (workload, target, machine, search, seed ...),
  // name and value: a directory of another run is refused with the first that differs. Errors are
  // kRunDirectory.
  using Identity = std::vector<std::pair<std::string, std::string>>;
  static Result<RunDirectory> Open(const std::filesystem::path& path, const Identity& identity);
  // Opens a finished or running one to read from. Takes no lock.
  static Result<RunDirectory> OpenReadOnly(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  store::Store& store() { return store_; }
  bool resumed() const { return resumed_; }

 private:
  RunDirectory(std::filesystem::path path, std::optional<FileLock> lock, store::Store store,
               bool resumed)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        store_(std::move(store)),
        resumed_(resumed) {}

  std::filesystem::path path_;
  std::optional<FileLock> lock_;
  store::Store store_;
  bool resumed_;
};

// The run's best valid program, put together from the database.
struct BestProgram {
  std::string workload;
  store::Measurement measurement;
  std::optional<double> baseline_s;
  tvm_api::Target target;
  tvm_api::Module unscheduled;
  tvm_api::Schedule schedule;
  std::vector<store::Node> chain;  // from the root to the winner
  std::map<std::string, std::string> facts;
};
// kNoCandidate when the run has no valid measurement.
Result<BestProgram> ReadBest(RunDirectory& run);

// runs/20261201-140746-NAME under the current directory.
std::filesystem::path DatedRunDirectory(const std::string& workload);

}  // namespace tw::tune
