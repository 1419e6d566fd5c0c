// Progress on stderr: one line that is redrawn on a terminal, a plain line every few seconds
// elsewhere.
#pragma once

#include <chrono>
#include <string>

#include "tune/session.h"

namespace tw::cli {

class ProgressPrinter : public tune::Listener {
 public:
  explicit ProgressPrinter(bool quiet);
  ~ProgressPrinter() override;
  void OnNote(const std::string& text) override;
  void OnProgress(const tune::Progress& progress) override;

 private:
  void Clear();

  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace tw::cli
