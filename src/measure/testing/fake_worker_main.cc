// fake-worker PARENT [CPUS]: a worker for the tests of WorkerPool. It speaks the protocol and does
// on request what candidates do to real workers.
//
// The workload's module is "LOG [HOW]": a file to which it appends what it does, and how loading
// goes wrong (refuse, exit, deaf, nonsense). A job's trace is "MODE@STAGE": what happens in stage
// build, check or time.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "base/subprocess.h"
#include "measure/protocol.h"

namespace tw::measure {
namespace {

void SleepForever() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

class FakeWorker {
 public:
  explicit FakeWorker(int frames_fd) : frames_fd_(frames_fd) {}

  Json Handle(const Json& message) {
    const std::string op = message.at("op");
    if (op == "load") return Load(message);
    if (op == "build") return Build(message);
    if (op == "time") return Time(message);
    if (op == "save") return Save(message);
    return {{"failure", "garbage"}, {"message", "no such request"}};
  }
  void Send(const Json& message) const { SendBytes(EncodeFrame(message)); }

 private:
  void SendBytes(const std::string& bytes) const {
    if (!WriteBytes(frames_fd_, bytes).ok()) _exit(0);
  }

  void Log(const std::string& line) const {
    const int fd = open(log_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || !WriteBytes(fd, line + "\n").ok()) _exit(9);
    close(fd);
  }

  Json Load(const Json& message) {
    const std::string module = message.at("module");
    const std::size_t blank = module.find(' ');
    log_ = module.substr(0, blank);
    const std::string how = blank == std::string::npos ? "" : module.substr(blank + 1);
    Log("load");
    if (how == "refuse") return {{"failure", "build-error"}, {"message", "no such tensor"}};
    if (how == "nonsense") return {{"failure", 7}};
    if (how == "exit") {
      std::fprintf(stderr, "cannot load\nthe library\n");
      _exit(5);
    }
    return Json::object();
  }

  Json Build(const Json& message) {
    const std::string trace = message.at("trace");
    traces_[message.at("id")] = trace;
    Recall(message.at("id"));
    Json answer{{"module_hash", 42}, {"build_s", 0.5}, {"check_s", 0.25}, {"max_error", 0.125}};
    Log(fmt::format("build {}", id_));
    Stage("build", "building", answer);
    if (!answer.contains("failure")) Stage("check", "checking", answer);
    Log(fmt::format("built {}", id_));
    return answer;
  }

  // The mode and the stage of a job that was built here.
  void Recall(int64_t id) {
    id_ = id;
    const std::string& trace = traces_.at(id);
    const std::size_t at = std::min(trace.find('@'), trace.size());
    mode_ = trace.substr(0, at);
    stage_ = trace.substr(at == trace.size() ? at : at + 1);
  }

  Json Time(const Json& message) {
    Json answer{{"seconds", {3e-3, 2e-3, 4e-3}},
                {"median_s", 3e-3},
                {"spread_s", 5e-4},
                {"calls", 3},
                {"time_s", 0.75},
                {"max_error", 0.5}};
    Recall(message.at("id"));
    Log(fmt::format("time {} {}", id_, message.at("cutoff_s").get<double>()));
    Stage("time", "timing", answer);
    Log(fmt::format("timed {}", id_));
    return answer;
  }

  Json Save(const Json& message) const {
    const std::string path = message.at("path");
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return {{"failure", "run-error"}, {"message", path + ": cannot write"}};
    close(fd);
    return Json::object();
  }

  // Announces the phase, then does what the job asks for in this stage.
  void Stage(const std::string& stage, const char* phase, Json& answer) {
    Send({{"phase", phase}});
    if (stage != stage_) return;
    Die();
    Misbehave();
    Answer(answer);
  }

  void Die() const {
    if (mode_ == "segv") raise(SIGSEGV);
    if (mode_ == "fpe") raise(SIGFPE);
    if (mode_ == "exit") {
      std::fprintf(stderr, "giving up\n");
      _exit(3);
    }
    if (mode_ == "kill") raise(SIGKILL);
    if (mode_ == "grandchild") {  // which keeps the pipes open
      (void)std::system("sleep 1000 & exit 0");
      raise(SIGSEGV);
    }
    if (mode_ == "loud") {  // dies with more to say than a pipe or a message holds
      for (int i = 0; i < 20'000; ++i) std::fprintf(stderr, "line %d\n", i);
      raise(SIGABRT);
    }
  }

  void Misbehave() {
    if (mode_ == "stubborn") signal(SIGTERM, SIG_IGN);
    // From here on these touch no pipe, so the end of the tuner does not show in one.
    if (mode_ == "hang" || mode_ == "stop" || mode_ == "stubborn")
      Log(fmt::format("stuck {}", id_));
    if (mode_ == "stop") raise(SIGSTOP);
    if (mode_ == "hang" || mode_ == "stubborn") SleepForever();
    if (mode_ == "leak") {
      std::vector<std::vector<char>> hoard;
      while (true) hoard.emplace_back(std::size_t{8} << 20, 'x');
    }
    if (mode_ == "print") {
      std::printf("a kernel prints this\n");
      std::fflush(stdout);
    }
    if (mode_ == "then-deaf") deaf_ = true;
    if (mode_ == "then-die") then_die_ = true;
    if (mode_ == "text") SendBytes("this is no frame, and it is longer than a header");
    if (mode_ == "huge") SendBytes(std::string("TWF1\xff\xff\xff\x7f", 8) + std::string(8, '\0'));
    if (mode_ == "checksum") {
      std::string frame = EncodeFrame({{"message", "fine"}});
      frame.back() = ']';
      SendBytes(frame);
    }
    if (mode_ == "array") SendBytes(EncodeFrame(Json::array({1, 2})));
    if (mode_ == "mute") {
      close(frames_fd_);
      SleepForever();
    }
  }

  void Answer(Json& answer) const {
    if (mode_ == "fail") {
      answer["failure"] = stage_ == "build" ? "build-error" : "run-error";
      answer["message"] = "refused";
    }
    if (mode_ == "schedule") answer.update({{"failure", "schedule-error"}, {"message", "step 3"}});
    if (mode_ == "wrong") answer.update({{"failure", "wrong-numbers"}, {"message", "C[0]"}});
    if (mode_ == "memory") answer.update({{"failure", "out-of-memory"}, {"message", "none left"}});
    if (mode_ == "unknown") answer["failure"] = "bad-luck";
    if (mode_ == "types") answer["build_s"] = "soon";
    if (mode_ == "zero") answer["median_s"] = 0;
    if (mode_ == "negative") answer["median_s"] = -1e-3;
    if (mode_ == "null") answer["median_s"] = nullptr;
    if (mode_ == "untimed") answer.erase("seconds");
    if (mode_ == "fast") answer["median_s"] = 1e-3;
  }

 public:
  // After an answer: true when nothing further is to be read.
  bool Deaf() const { return deaf_; }
  bool ThenDie() const { return then_die_; }

 private:
  int frames_fd_;
  std::string log_ = "/dev/null";
  std::map<int64_t, std::string> traces_;
  std::string mode_, stage_;  // of job id_
  int64_t id_ = 0;
  bool deaf_ = false;
  bool then_die_ = false;
};

int Main(int argc, char** argv) {
  if (argc < 2) return 2;
  DieWithParent(std::atoi(argv[1]));
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // Sanitizers catch these; the tests are about dying of them.
  for (int number : {SIGSEGV, SIGFPE, SIGABRT}) signal(number, SIG_DFL);
  const int frames_fd = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  FakeWorker worker(frames_fd);
  FrameReader reader(kMaxFrameBytes);
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got <= 0) return 0;
    reader.Append({buffer, static_cast<std::size_t>(got)});
    while (true) {
      const Result<std::optional<Json>> message = reader.Next();
      if (!message.ok()) return 1;
      if (!*message) break;
      const Json answer = worker.Handle(**message);
      worker.Send(answer);
      if (worker.Deaf() && answer.contains("seconds")) SleepForever();
      if (worker.ThenDie() && answer.contains("seconds")) raise(SIGSEGV);
    }
  }
}

}  // namespace
}  // namespace tw::measure

int main(int argc, char** argv) { return tw::measure::Main(argc, argv); }
