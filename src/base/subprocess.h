// Child processes: spawned, never forked, each the leader of a process group of its own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tw {

// How a child ended.
struct ExitStatus {
  int code = 0;                  // when it exited
  int signal = 0;                // when a signal ended it, else 0
  std::string ToString() const;  // "exit code 3", "signal SIGSEGV"
};

class Subprocess {
 public:
  struct Options {
    std::filesystem::path program;
    std::vector<std::string> arguments;                            // without the program's name
    std::vector<std::pair<std::string, std::string>> environment;  // added to this process's
  };
  // Starts `program` with pipes on its stdin, stdout and stderr. Errors are kEnvironment.
  static Result<Subprocess> Spawn(const Options& options);

  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;
  ~Subprocess();  // kills the group and reaps the child

  pid_t pid() const { return pid_; }
  int input() const { return input_; }    // write end of its stdin, non-blocking
  int output() const { return output_; }  // read end of its stdout, non-blocking
  int errors() const { return errors_; }  // read end of its stderr, non-blocking

  void KillGroup();  // SIGKILL to the child and whatever it started
  void CloseInput();
  std::optional<ExitStatus> Poll();  // reaps without waiting
  ExitStatus Wait();                 // reaps, waiting

 private:
  Subprocess() = default;
  void Close();

  pid_t pid_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1;
  std::optional<ExitStatus> ended_;
};

// For programs started by Subprocess, first thing in main: die when the parent does. `parent` is
// the parent's process id, as it told the child. The kernel ties this to the thread that started
// the child, so start children from a thread that lives as long as they should.
void DieWithParent(pid_t parent);

// Runs a program to its end and collects what it printed. Errors are kEnvironment: not found, or
// killed after `deadline`.
struct Finished {
  ExitStatus status;
  std::string output;  // stdout and stderr
};
Result<Finished> RunProgram(const Subprocess::Options& options, std::chrono::seconds deadline);

std::string SignalName(int signal);  // "SIGSEGV"

}  // namespace tw
