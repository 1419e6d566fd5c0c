#include "store/sqlite.h"

namespace tw::store {

Error DatabaseError(sqlite3* db, const std::string& path, std::string_view doing) {
  const int code = db == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(db);
  std::string advice;
  switch (code & 0xff) {
    case SQLITE_FULL:
      advice = "the disk is full; make room, then repeat the command: nothing finished is lost";
      break;
    case SQLITE_CANTOPEN:
      advice = "is there such a directory, and may you write to it?";
      break;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      advice = "it is open for reading only; is the directory writable for you?";
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      advice = "in use by another process; stop that one, or wait for it";
      break;
    case SQLITE_CONSTRAINT:
      advice = "it is recorded already; nothing was written";
      break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      advice = "the file is damaged; restore a copy or choose another --run-dir";
      break;
    case SQLITE_IOERR:
      // A file system without room reports a failed write or truncation rather than SQLITE_FULL.
      advice = "reading or writing failed; is the disk full or gone?";
      break;
    default:
      advice = "see the message of SQLite";
  }
  return Fail(Code::kRunDirectory, "{}: cannot {}: {} ({})", path, doing,
              db == nullptr ? "out of memory" : sqlite3_errmsg(db), advice);
}

Result<Statement> Statement::Prepare(sqlite3* db, const std::string& path, std::string_view sql) {
  sqlite3_stmt* handle = nullptr;
  if (sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &handle, nullptr) !=
      SQLITE_OK) {
    return DatabaseError(db, path, "read the run database");
  }
  return Statement(db, path, handle);
}

Statement& Statement::Bind(int at, int64_t value) {
  sqlite3_bind_int64(handle_.get(), at, value);
  return *this;
}
Statement& Statement::Bind(int at, double value) {
  sqlite3_bind_double(handle_.get(), at, value);
  return *this;
}
Statement& Statement::Bind(int at, std::string_view text) {
  sqlite3_bind_text64(handle_.get(), at, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}
Statement& Statement::BindBlob(int at, std::string_view bytes) {
  sqlite3_bind_blob64(handle_.get(), at, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Result<bool> Statement::Step() {
  switch (sqlite3_step(handle_.get())) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      return false;
    default:
      return DatabaseError(db_, path_,
                           sqlite3_stmt_readonly(handle_.get()) != 0 ? "read" : "write");
  }
}

Status Statement::Run() {
  while (true) {
    TW_TRY(bool row, Step());
    if (!row) break;
  }
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
  return Ok();
}

std::string Statement::Text(int column) const {
  const void* bytes = sqlite3_column_blob(handle_.get(), column);
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return bytes == nullptr
             ? std::string()
             : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

Status Execute(sqlite3* db, const std::string& path, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return DatabaseError(db, path, "use the run database");
  }
  return Ok();
}

}  // namespace tw::store
