#include "store/store.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "store/sqlite.h"

namespace tw::store {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int kApplicationId = 0x74777274;  // "twrt"
// A measurement this slow is TVM's mark for "failed" (1e10 s); no candidate is given that long.
constexpr double kNotALatency = 1e9;
// Readers such as `best` hold the file for moments; who holds it longer is another tuner.
constexpr int kBusyMs = 2000;
constexpr int kHeaderBytes = 100;  // of a SQLite file

constexpr const char* kSchema = R"(
create table facts (name text primary key, value text not null) without rowid;
create table blobs (name text primary key, bytes blob not null) without rowid;
create table nodes (
  id integer primary key, parent integer not null, state text not null, key text not null unique,
  sequence text not null, rationale text not null, source text not null, predicted real not null,
  visits integer not null, value real not null, reward real not null, proposed integer not null);
create table measurements (
  trial integer primary key, node integer not null, key text not null unique,
  failure text not null, message text not null, trace_json text not null, seconds text not null,
  median_s real not null, spread_s real not null, max_error real not null, build_s real not null,
  check_s real not null, time_s real not null, finished_at text not null);
)";

constexpr const char* kMeasurementColumns =
    "trial, node, key, failure, message, trace_json, seconds, median_s, spread_s, max_error, "
    "build_s, check_s, time_s, finished_at";

// SQLite stores NaN as null, which the schema refuses. A latency or an error that is no number
// counts as a very large one, and never wins.
double FiniteOrHuge(double value) { return std::isfinite(value) ? value : 1e300; }
// A score that is no number counts for nothing.
double FiniteOrZero(double value) { return std::isfinite(value) ? value : 0; }

// The first bytes of the file, where SQLite keeps sizes (sqlite.org/fileformat, section 1.3).
std::string HeaderOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string header(kHeaderBytes, '\0');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  header.resize(static_cast<std::size_t>(file.gcount()));
  return header;
}

int64_t BigEndian32(std::string_view bytes) {
  int64_t value = 0;
  for (int i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  return value;
}

Measurement ReadMeasurement(const Statement& row) {
  Measurement m;
  m.trial = row.Integer(0);
  m.node = row.Integer(1);
  m.key = row.Text(2);
  m.failure = row.Text(3);
  m.message = row.Text(4);
  m.trace_json = row.Text(5);
  const nlohmann::json seconds = nlohmann::json::parse(row.Text(6), nullptr, false);
  if (seconds.is_array()) {
    for (const auto& s : seconds) {
      if (s.is_number()) m.seconds.push_back(s.get<double>());
    }
  }
  m.median_s = row.Real(7);
  m.spread_s = row.Real(8);
  m.max_error = row.Real(9);
  m.build_s = row.Real(10);
  m.check_s = row.Real(11);
  m.time_s = row.Real(12);
  m.finished_at = row.Text(13);
  return m;
}

void BindMeasurement(Statement& s, const Measurement& m) {
  s.Bind(1, m.trial).Bind(2, m.node).Bind(3, m.key).Bind(4, m.failure).Bind(5, m.message);
  s.Bind(6, m.trace_json)
      .Bind(7, nlohmann::json(m.seconds).dump())
      .Bind(8, FiniteOrHuge(m.median_s));
  s.Bind(9, FiniteOrHuge(m.spread_s))
      .Bind(10, FiniteOrHuge(m.max_error))
      .Bind(11, FiniteOrZero(m.build_s));
  s.Bind(12, FiniteOrZero(m.check_s)).Bind(13, FiniteOrZero(m.time_s)).Bind(14, m.finished_at);
}

}  // namespace

struct Store::Impl {
  Database db;
  std::string path;

  Result<Statement> Prepare(std::string_view sql) const {
    return Statement::Prepare(db.get(), path, sql);
  }
  Status Exec(const char* sql) const { return Execute(db.get(), path, sql); }

  Result<int64_t> Pragma(const char* sql) const {
    TW_TRY(Statement s, Prepare(sql));
    TW_TRY(bool row, s.Step());
    return row ? s.Integer(0) : 0;
  }

  // A file that was cut off: shorter than its own header says, with no log to make up for it.
  // SQLite would read zeros there, and where these fall into a blob no check of its own finds them.
  Status CheckWhole() const {
    std::error_code error;
    const auto log_bytes = std::filesystem::file_size(path + "-wal", error);
    if (!error && log_bytes > 0) return Ok();
    TW_TRY(int64_t pages, Pragma("pragma page_count"));
    TW_TRY(int64_t page_bytes, Pragma("pragma page_size"));
    const auto bytes = std::filesystem::file_size(path, error);
    const int64_t size = error ? 0 : static_cast<int64_t>(bytes);
    const std::string header = HeaderOf(path);
    const int64_t stated = header.size() < 32 ? pages : BigEndian32(header.substr(28));
    const int64_t whole = std::max(pages, stated) * page_bytes;
    if (size >= whole) return Ok();
    return CutOff(size, whole);
  }
  Error CutOff(int64_t bytes, int64_t whole) const {
    return Fail(
        Code::kRunDirectory,
        "{}: the file is cut off ({} bytes of at least {}); restore a copy or choose another "
        "--run-dir",
        path, bytes, whole);
  }

  // Refuses what is not ours before anything is written to it.
  Status CheckKind() const {
    TW_CHECK(CheckWhole());
    TW_TRY(int64_t id, Pragma("pragma application_id"));
    TW_TRY(int64_t version, Pragma("pragma user_version"));
    if (id != kApplicationId) {
      return Fail(Code::kRunDirectory,
                  "{}: not a Tensorwright run database; choose another --run-dir", path);
    }
    if (version != kSchemaVersion) {
      return Fail(Code::kRunDirectory,
                  "{}: written with schema version {}, this program reads version {}; use the "
                  "Tensorwright that made it, or another --run-dir",
                  path, version, kSchemaVersion);
    }
    TW_TRY(Statement s, Prepare("pragma quick_check(1)"));
    TW_TRY(bool row, s.Step());
    const std::string verdict = row ? s.Text(0) : "no answer";
    if (verdict != "ok") {
      return Fail(Code::kRunDirectory,
                  "{}: the file is damaged ({}); restore a copy or choose another --run-dir", path,
                  verdict);
    }
    return Ok();
  }

  // A transaction that is rolled back unless it was committed.
  template <typename Body>
  Status InTransaction(Body&& body) const {
    TW_CHECK(Exec("begin immediate"));
    Status status = body();
    if (status.ok()) status = Exec("commit");
    // SQLite rolls back by itself on some errors; a second rollback then does nothing.
    if (!status.ok()) sqlite3_exec(db.get(), "rollback", nullptr, nullptr, nullptr);
    return status;
  }
};

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::Open(const std::filesystem::path& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path.string();
  // SQLite would take a file of one byte for an empty database, and write over it.
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(path, missing);
  if (!missing && bytes > 0 && bytes < kHeaderBytes) {
    return impl->CutOff(static_cast<int64_t>(bytes), kHeaderBytes);
  }
  sqlite3* db = nullptr;
  const int opened =
      sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  impl->db.reset(db);
  if (opened != SQLITE_OK) return DatabaseError(db, impl->path, "open the run database");
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, kBusyMs);
  TW_TRY(int64_t id, impl->Pragma("pragma application_id"));
  TW_TRY(int64_t version, impl->Pragma("pragma user_version"));
  TW_TRY(int64_t tables, impl->Pragma("select count(*) from sqlite_master"));
  // A new file, or what a process leaves that is killed between creating it and its first commit.
  const bool empty = id == 0 && version == 0 && tables == 0;
  if (!empty) TW_CHECK(impl->CheckKind());
  TW_CHECK(impl->Exec("pragma journal_mode = wal"));
  // WAL with synchronous=normal loses nothing when the process dies, and at most the last commits
  // when the power goes; a measurement costs more than that.
  TW_CHECK(impl->Exec("pragma synchronous = normal"));
  if (empty) {
    TW_CHECK(impl->InTransaction([&]() -> Status {
      TW_CHECK(impl->Exec(kSchema));
      TW_CHECK(impl->Exec(fmt::format("pragma application_id = {}", kApplicationId).c_str()));
      return impl->Exec(fmt::format("pragma user_version = {}", kSchemaVersion).c_str());
    }));
  }
  return Store(std::move(impl));
}

Result<Store> Store::OpenReadOnly(const std::filesystem::path& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path.string();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Fail(Code::kRunDirectory, "{}: there is no run database; give the directory of a run",
                impl->path);
  }
  sqlite3* db = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr);
  impl->db.reset(db);
  if (opened != SQLITE_OK) return DatabaseError(db, impl->path, "open the run database");
  sqlite3_busy_timeout(db, kBusyMs);
  TW_CHECK(impl->CheckKind());
  return Store(std::move(impl));
}

Status Store::SetFact(const std::string& name, const std::string& value) {
  TW_TRY(Statement s, impl_->Prepare("insert into facts values (?, ?) on conflict (name) do update "
                                     "set value = excluded.value"));
  return s.Bind(1, name).Bind(2, value).Run();
}

Result<std::optional<std::string>> Store::Fact(const std::string& name) const {
  TW_TRY(Statement s, impl_->Prepare("select value from facts where name = ?"));
  s.Bind(1, name);
  TW_TRY(bool row, s.Step());
  return row ? std::optional(s.Text(0)) : std::nullopt;
}

Result<std::map<std::string, std::string>> Store::Facts() const {
  std::map<std::string, std::string> facts;
  TW_TRY(Statement s, impl_->Prepare("select name, value from facts"));
  while (true) {
    TW_TRY(bool row, s.Step());
    if (!row) return facts;
    facts[s.Text(0)] = s.Text(1);
  }
}

Status Store::Commit(const std::vector<Node>& nodes, const std::vector<Measurement>& measurements,
                     const std::map<std::string, std::string>& blobs) {
  return impl_->InTransaction([&]() -> Status {
    TW_TRY(Statement put,
           impl_->Prepare(
               "insert into nodes values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do "
               "update set "
               "predicted = excluded.predicted, visits = excluded.visits, value = excluded.value, "
               "reward = excluded.reward, proposed = excluded.proposed"));
    for (const Node& n : nodes) {
      put.Bind(1, n.id).Bind(2, n.parent).Bind(3, n.state).Bind(4, n.key).Bind(5, n.sequence);
      put.Bind(6, n.rationale)
          .Bind(7, n.source)
          .Bind(8, FiniteOrZero(n.predicted))
          .Bind(9, n.visits);
      put.Bind(10, FiniteOrZero(n.value)).Bind(11, FiniteOrZero(n.reward));
      put.Bind(12, static_cast<int64_t>(n.proposed));
      TW_CHECK(put.Run());
    }
    TW_TRY(Statement add,
           impl_->Prepare(fmt::format(
               "insert into measurements ({}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
               kMeasurementColumns)));
    for (const Measurement& m : measurements) {
      BindMeasurement(add, m);
      TW_CHECK(add.Run());
    }
    for (const auto& [name, bytes] : blobs) TW_CHECK(SetBlob(name, bytes));
    return Ok();
  });
}

Status Store::Amend(const Measurement& m) {
  TW_TRY(Statement s, impl_->Prepare("update measurements set failure = ?, message = ?, seconds = "
                                     "?, median_s = ?, spread_s = ?, "
                                     "max_error = ? where trial = ? and key = ?"));
  s.Bind(1, m.failure).Bind(2, m.message).Bind(3, nlohmann::json(m.seconds).dump());
  s.Bind(4, FiniteOrHuge(m.median_s))
      .Bind(5, FiniteOrHuge(m.spread_s))
      .Bind(6, FiniteOrHuge(m.max_error));
  s.Bind(7, m.trial).Bind(8, m.key);
  TW_CHECK(s.Run());
  if (sqlite3_changes(impl_->db.get()) == 1) return Ok();
  return Fail(Code::kInternal, "{}: there is no trial {} to amend", impl_->path, m.trial);
}

Result<std::vector<Node>> Store::Nodes() const {
  std::vector<Node> nodes;
  TW_TRY(
      Statement s,
      impl_->Prepare(
          "select id, parent, state, key, sequence, rationale, source, predicted, visits, value, "
          "reward, proposed from nodes order by id"));
  while (true) {
    TW_TRY(bool row, s.Step());
    if (!row) return nodes;
    nodes.push_back({s.Integer(0), s.Integer(1), s.Text(2), s.Text(3), s.Text(4), s.Text(5),
                     s.Text(6), s.Real(7), s.Integer(8), s.Real(9), s.Real(10),
                     s.Integer(11) != 0});
  }
}

Result<std::vector<Measurement>> Store::Measurements() const {
  std::vector<Measurement> all;
  TW_TRY(Statement s, impl_->Prepare(fmt::format("select {} from measurements order by trial",
                                                 kMeasurementColumns)));
  while (true) {
    TW_TRY(bool row, s.Step());
    if (!row) return all;
    all.push_back(ReadMeasurement(s));
  }
}

Result<std::optional<Measurement>> Store::Best() const {
  TW_TRY(Statement s,
         impl_->Prepare(fmt::format(
             "select {} from measurements where trial > 0 and failure = '' and median_s > 0 and "
             "median_s < {} order by median_s, trial limit 1",
             kMeasurementColumns, kNotALatency)));
  TW_TRY(bool row, s.Step());
  return row ? std::optional(ReadMeasurement(s)) : std::nullopt;
}

Status Store::SetBlob(const std::string& name, const std::string& bytes) {
  TW_TRY(Statement s, impl_->Prepare("insert into blobs values (?, ?) on conflict (name) do update "
                                     "set bytes = excluded.bytes"));
  return s.Bind(1, name).BindBlob(2, bytes).Run();
}

Result<std::optional<std::string>> Store::Blob(const std::string& name) const {
  TW_TRY(Statement s, impl_->Prepare("select bytes from blobs where name = ?"));
  s.Bind(1, name);
  TW_TRY(bool row, s.Step());
  return row ? std::optional(s.Text(0)) : std::nullopt;
}

}  // namespace tw::store
