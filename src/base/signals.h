// Stopping on request: the first SIGINT or SIGTERM asks, the second one, whichever it is, ends the
// process at once.
#pragma once

#include <atomic>

namespace tw {

void InstallStopSignals();
const std::atomic<bool>& StopRequested();
int StopSignal();  // the number of the signal that asked; 0 when none did

}  // namespace tw
