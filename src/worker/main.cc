// tensorwright-worker PARENT [CPUS]: builds, checks and times candidates for the tuner that started
// it. Not for people: it speaks the frames of measure/protocol.h on stdin and stdout.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/subprocess.h"
#include "measure/protocol.h"
#include "tvm/runtime.h"
#include "worker/worker.h"

namespace tw::worker {
namespace {

void PinTo(const std::string& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  std::size_t start = 0;
  while (start < cpus.size()) {
    const std::size_t end = std::min(cpus.find(',', start), cpus.size());
    CPU_SET(std::atoi(cpus.substr(start, end - start).c_str()), &set);
    start = end + 1;
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    std::fprintf(stderr, "cannot run on CPUs %s: no such CPU here\n", cpus.c_str());
    _exit(static_cast<int>(Code::kUsage));
  }
}

// Candidates crash: no core files of gigabytes. And when memory runs out, the kernel is to kill
// this process and not the tuner.
void ExpectTheWorst() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd >= 0) {
    (void)measure::WriteBytes(fd, "500").ok();
    close(fd);
  }
  signal(SIGPIPE, SIG_IGN);
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "tensorwright-worker is started by tensorwright\n");
    return static_cast<int>(Code::kUsage);
  }
  DieWithParent(std::atoi(argv[1]));
  ExpectTheWorst();
  PinTo(argc > 2 ? argv[2] : "");
  // Frames keep the real stdout; what a kernel or TVM prints goes to stderr.
  const int frames_fd = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);

  const Result<tvm_api::Versions> loaded = tvm_api::Load();
  Worker worker(frames_fd);
  measure::FrameReader reader(measure::kMaxFrameBytes);
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got <= 0) return 0;  // the tuner is gone or done
    reader.Append({buffer, static_cast<std::size_t>(got)});
    while (true) {
      Result<std::optional<measure::Json>> message = reader.Next();
      if (!message.ok()) return static_cast<int>(Code::kInternal);
      if (!*message) break;
      const measure::Json answer = loaded.ok() ? worker.Handle(**message)
                                               : measure::Json{{"failure", "build-error"},
                                                               {"message", loaded.error().message}};
      if (!measure::WriteBytes(frames_fd, measure::EncodeFrame(answer)).ok()) return 0;
    }
  }
}

}  // namespace
}  // namespace tw::worker

int main(int argc, char** argv) { return tw::worker::Main(argc, argv); }
