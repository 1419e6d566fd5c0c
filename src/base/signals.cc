#include "base/signals.h"

#include <signal.h>

namespace tw {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<int> stop_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void OnSignal(int number) {
  if (stop_requested.exchange(true)) {
    signal(number, SIG_DFL);
    raise(number);  // takes effect when the handler returns
    return;
  }
  stop_signal = number;
}

}  // namespace

void InstallStopSignals() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  // No SA_RESTART: a wait in poll must end at once.
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

const std::atomic<bool>& StopRequested() { return stop_requested; }
int StopSignal() { return stop_signal; }

}  // namespace tw
