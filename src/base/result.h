// Errors as values. Result<T> is returned for whatever a user, a model, a candidate or a file can
// cause.
#pragma once

#include <fmt/format.h>

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace tw {

// Kinds of error; the number is the exit code of the command line (docs/exit-codes.md).
enum class Code {
  kInternal = 1,
  kUsage = 2,         // bad flag, bad input file, unknown workload
  kNoCandidate = 3,   // the run finished without a valid candidate
  kVerification = 4,  // numbers are wrong
  kEnvironment = 5,   // TVM, a compiler or a device is missing
  kRunDirectory = 6,  // run directory corrupt, in use, or of another machine
};

// An error a person can act on: what went wrong, where, and what to do.
struct Error {
  Code code = Code::kInternal;
  std::string message;
};

template <typename... Args>
Error Fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...)};
}

// Either a T or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const Error& error() const {
    assert(!ok());
    return std::get<1>(state_);
  }
  T& value() & {
    assert(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    assert(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    assert(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

struct Unit {};
// Success without a value.
using Status = Result<Unit>;
inline Status Ok() { return Unit{}; }

}  // namespace tw

#define TW_CONCAT_(a, b) a##b
#define TW_CONCAT(a, b) TW_CONCAT_(a, b)

// TW_TRY(declaration, expression): declares the value of a Result, or returns its error.
#define TW_TRY_(temporary, declaration, expression)         \
  auto temporary = (expression);                            \
  if (!temporary.ok()) return std::move(temporary).error(); \
  declaration = std::move(temporary).value()
#define TW_TRY(declaration, expression) \
  TW_TRY_(TW_CONCAT(result_, __LINE__), declaration, expression)

// TW_CHECK(expression): returns the error of a Status, goes on otherwise.
#define TW_CHECK(expression)                                                \
  do {                                                                      \
    if (auto status_ = (expression); !status_.ok()) return status_.error(); \
  } while (false)
