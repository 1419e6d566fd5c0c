#include "cli/progress.h"

#include <unistd.h>

#include "cli/format.h"

namespace tw::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kPlainLine{5};

std::string Line(const tune::Progress& p) {
  std::string line = fmt::format("{}/{} trials", p.done, p.trials);
  if (p.best_s) {
    line += fmt::format("  best {}", Milliseconds(*p.best_s));
    if (p.baseline_s) line += fmt::format(" ({:.3g}x)", *p.baseline_s / *p.best_s);
  }
  if (!p.failures.empty()) line += fmt::format("  failed: {}", Counts(p.failures));
  line += fmt::format("  {:.0f} s", p.elapsed_s);
  if (p.done < p.trials && p.left_s > 0) line += fmt::format(", about {:.0f} s left", p.left_s);
  return line;
}

}  // namespace

ProgressPrinter::ProgressPrinter(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO)) {}

ProgressPrinter::~ProgressPrinter() {
  if (drawn_) fmt::print(stderr, "\n");
}

void ProgressPrinter::Clear() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

void ProgressPrinter::OnNote(const std::string& text) {
  if (quiet_) return;
  Clear();
  fmt::print(stderr, "{}\n", text);
}

void ProgressPrinter::OnProgress(const tune::Progress& progress) {
  if (quiet_) return;
  const Clock::time_point now = Clock::now();
  const bool last = progress.done == progress.trials;
  if (!last && now - last_ < (terminal_ ? Clock::duration(kRedraw) : kPlainLine)) return;
  last_ = now;
  if (terminal_) {
    Clear();
    fmt::print(stderr, "{}", Line(progress));
    std::fflush(stderr);
    drawn_ = true;
  } else {
    fmt::print(stderr, "{}\n", Line(progress));
  }
}

}  // namespace tw::cli
