// SQLite handles that close themselves, with errors as values.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tw::store {

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

// What SQLite reports, with the path and what to do about it. Always kRunDirectory.
Error DatabaseError(sqlite3* db, const std::string& path, std::string_view doing);

// One prepared statement. Bind by position from 1; Step returns whether there is a row.
class Statement {
 public:
  static Result<Statement> Prepare(sqlite3* db, const std::string& path, std::string_view sql);

  Statement& Bind(int at, int64_t value);
  Statement& Bind(int at, double value);
  Statement& Bind(int at, std::string_view text);
  Statement& BindBlob(int at, std::string_view bytes);
  Result<bool> Step();
  Status Run();  // to the end, then ready to be bound again

  int64_t Integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  double Real(int column) const { return sqlite3_column_double(handle_.get(), column); }
  std::string Text(int column) const;  // text or blob

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Statement(sqlite3* db, std::string path, sqlite3_stmt* handle)
      : db_(db), path_(std::move(path)), handle_(handle) {}

  sqlite3* db_;
  std::string path_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

Status Execute(sqlite3* db, const std::string& path, const char* sql);

}  // namespace tw::store
