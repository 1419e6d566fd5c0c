// Text that keeps numbers and strings, to save the inner state of searchers and proposers. What is
// read must be asked for in the order in which it was put.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tw::search {

class StateWriter {
 public:
  StateWriter& Put(int64_t value);
  StateWriter& Put(uint64_t value);
  StateWriter& Put(int value) { return Put(static_cast<int64_t>(value)); }
  StateWriter& Put(double value);  // read back to the last bit
  StateWriter& Put(std::string_view text);
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// After anything that is not as expected, ok() is false and all values are 0 or empty.
class StateReader {
 public:
  explicit StateReader(std::string_view text) : text_(text) {}

  int64_t Integer();
  uint64_t Unsigned();
  double Real();
  std::string Text();
  // How many items follow; never more than there are characters left, so that loops over it end.
  int64_t Count();
  bool ok() const { return ok_; }
  bool AtEnd() const { return ok_ && text_.empty(); }

 private:
  std::string_view Word();
  template <typename T>
  T Number();

  std::string_view text_;
  bool ok_ = true;
};

}  // namespace tw::search
