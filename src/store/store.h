// The run database: SQLite in WAL mode, one writer. It is the truth of a run; everything else in
// the run directory can be made from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tw::store {

// A program of the search tree (search::NodeRecord, flattened).
struct Node {
  int64_t id = 0;
  int64_t parent = -1;
  std::string state;
  std::string key;
  std::string sequence;  // transformations, one line each
  std::string rationale;
  std::string source;
  double predicted = 0;
  int64_t visits = 0;
  double value = 0;
  double reward = 0;
  bool proposed = false;
};

struct Measurement {
  int64_t trial = 0;    // 1, 2, ... in order of finishing; 0 is the baseline
  int64_t node = -1;    // -1 for the baseline
  std::string key;      // canonical key of the program
  std::string failure;  // "" when valid, else measure::Name(kind)
  std::string message;
  std::string trace_json;
  std::vector<double> seconds;
  double median_s = 0;
  double spread_s = 0;
  double max_error = 0;
  double build_s = 0;
  double check_s = 0;
  double time_s = 0;
  std::string finished_at;  // ISO 8601, UTC
};

class Store {
 public:
  // Opens or creates `path`. Errors are kRunDirectory: not a database, damaged (integrity check),
  // another schema version, read-only, disk full.
  static Result<Store> Open(const std::filesystem::path& path);
  static Result<Store> OpenReadOnly(const std::filesystem::path& path);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  // Facts about the run: workload, target, machine fingerprint, versions, seed...
  Status SetFact(const std::string& name, const std::string& value);
  Result<std::optional<std::string>> Fact(const std::string& name) const;
  Result<std::map<std::string, std::string>> Facts() const;

  // One transaction: nodes inserted or updated by id, measurements appended, blobs set. A trial
  // number or a key of a measurement that is there already is an error and nothing is written.
  Status Commit(const std::vector<Node>& nodes, const std::vector<Measurement>& measurements,
                const std::map<std::string, std::string>& blobs = {});

  // Replaces the verdict and the timing of a trial that was measured once more.
  Status Amend(const Measurement& measurement);

  Result<std::vector<Node>> Nodes() const;                // by id
  Result<std::vector<Measurement>> Measurements() const;  // by trial, the baseline first
  Result<std::optional<Measurement>> Best() const;        // fastest valid, not the baseline

  // Blobs: the trained cost model and other bytes by name.
  Status SetBlob(const std::string& name, const std::string& bytes);
  Result<std::optional<std::string>> Blob(const std::string& name) const;

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tw::store
