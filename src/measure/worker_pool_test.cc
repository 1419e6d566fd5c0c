#include "measure/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/files.h"
#include "base/subprocess.h"

namespace tw::measure {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

constexpr double kShort = 1;   // a limit that a hanging worker reaches
constexpr double kLong = 100;  // one that only a broken pool reaches

// This process adopts what workers leave behind, so that tests can see whether they do.
class WorkerPoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    std::string name = ::testing::TempDir() + "tw_pool_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  // No worker, nor anything that one started, survives a pool. Killed grandchildren wait to be
  // reaped here; a living one would make waitpid wait, and the test run into its timeout.
  void TearDown() override {
    pool_.reset();
    while (waitpid(-1, nullptr, 0) > 0) {
    }
    EXPECT_EQ(errno, ECHILD);
    std::filesystem::remove_all(folder_);
  }

  PoolOptions Options(int workers, double timeout_s = kLong) const {
    PoolOptions options;
    options.program = TW_FAKE_WORKER;
    options.workers = workers;
    options.timeout_s = timeout_s;
    options.start_timeout_s = kLong;
    return options;
  }
  std::string Log() const { return folder_ / "log"; }
  void Start(const PoolOptions& options) {
    pool_ = std::make_unique<WorkerPool>(options);
    const Status status = pool_->Load({.module_json = Log(), .target_json = "", .references = {}});
    ASSERT_TRUE(status.ok()) << status.error().message;
  }

  // Measures jobs 1, 2, ... and returns their outcomes.
  std::vector<Outcome> Measure(const std::vector<std::string>& traces, double best_s = 0) {
    std::vector<Job> jobs;
    for (const std::string& trace : traces) {
      jobs.push_back({static_cast<int64_t>(jobs.size()) + 1, trace, ""});
    }
    std::vector<Outcome> outcomes;
    const Status status = pool_->Measure(
        jobs, best_s,
        [&](const Outcome& outcome) {
          outcomes.push_back(outcome);
          return Ok();
        },
        never_);
    EXPECT_TRUE(status.ok()) << status.error().message;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      EXPECT_EQ(outcomes[i].id, static_cast<int64_t>(i) + 1);
      EXPECT_EQ(outcomes[i].failure == FailureKind::kNone, outcomes[i].timing.median_s > 0);
    }
    EXPECT_EQ(outcomes.size(), jobs.size());
    return outcomes;
  }
  Outcome MeasureOne(const std::string& trace) { return Measure({trace}).at(0); }

  std::vector<std::string> Events() const {
    std::ifstream file(Log());
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  std::filesystem::path folder_;
  std::unique_ptr<WorkerPool> pool_;
  std::atomic<bool> never_{false};
};

TEST_F(WorkerPoolTest, OutcomeHasWhatTheWorkerSaid) {
  Start(Options(1));
  const Outcome outcome = MeasureOne("ok");
  EXPECT_EQ(outcome.failure, FailureKind::kNone) << outcome.message;
  EXPECT_EQ(outcome.module_hash, 42U);
  EXPECT_EQ(outcome.timing.seconds, (std::vector<double>{3e-3, 2e-3, 4e-3}));
  EXPECT_EQ(outcome.timing.median_s, 3e-3);
  EXPECT_EQ(outcome.timing.spread_s, 5e-4);
  EXPECT_EQ(outcome.timing.calls, 3);
  EXPECT_EQ(outcome.max_error, 0.5) << "the larger one of check and timing";
  EXPECT_EQ(outcome.build_s, 0.5);
  EXPECT_EQ(outcome.check_s, 0.25);
  EXPECT_EQ(outcome.time_s, 0.75);
  EXPECT_GT(outcome.worker_pid, 0);
}

struct Case {
  const char* trace;
  FailureKind failure;
  const char* message;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.trace; }

class FailureTest : public WorkerPoolTest, public ::testing::WithParamInterface<Case> {};

// Each fault is named for what it is, and costs neither its neighbour in the wave nor the jobs that
// follow.
TEST_P(FailureTest, IsClassifiedAndCostsNoOtherJob) {
  const bool hangs = GetParam().failure == FailureKind::kTimeout;
  PoolOptions options = Options(2, hangs ? kShort : kLong);
  options.memory_limit_bytes = int64_t{512} << 20;
  Start(options);
  const std::vector<Outcome> outcomes = Measure({GetParam().trace, "ok", "ok", "ok"});
  EXPECT_EQ(Name(outcomes[0].failure), Name(GetParam().failure)) << outcomes[0].message;
  EXPECT_THAT(outcomes[0].message, HasSubstr(GetParam().message));
  EXPECT_THAT(outcomes[0].message, SizeIs(Le(600)));
  EXPECT_THAT(outcomes[0].message, Not(HasSubstr("\n")));
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(outcomes[i].failure, FailureKind::kNone) << outcomes[i].message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Died, FailureTest,
    ::testing::Values(Case{"segv@build", FailureKind::kCrash, "died of SIGSEGV"},
                      Case{"segv@check", FailureKind::kCrash, "died of SIGSEGV"},
                      Case{"segv@time", FailureKind::kCrash, "died of SIGSEGV"},
                      Case{"fpe@check", FailureKind::kCrash, "died of SIGFPE"},
                      Case{"kill@check", FailureKind::kCrash, "died of SIGKILL"},
                      Case{"grandchild@check", FailureKind::kCrash, "died of SIGSEGV"},
                      Case{"loud@build", FailureKind::kCrash, "line 19999"},
                      Case{"exit@build", FailureKind::kGarbage, "exit code 3; it said: giving up"},
                      Case{"exit@time", FailureKind::kGarbage, "exit code 3"}));
INSTANTIATE_TEST_SUITE_P(
    Killed, FailureTest,
    ::testing::Values(
        Case{"hang@build", FailureKind::kTimeout, "while building: over the limit of 1 s"},
        Case{"hang@check", FailureKind::kTimeout, "while checking"},
        Case{"hang@time", FailureKind::kTimeout, "while timing"},
        Case{"stop@build", FailureKind::kTimeout, "while building"},
        Case{"stop@time", FailureKind::kTimeout, "while timing"},
        Case{"stubborn@check", FailureKind::kTimeout, "while checking"},
        Case{"leak@check", FailureKind::kOutOfMemory, "over the memory limit of 512 MiB"}));
INSTANTIATE_TEST_SUITE_P(
    Garbage, FailureTest,
    ::testing::Values(Case{"text@build", FailureKind::kGarbage, "bytes that are not a frame"},
                      Case{"huge@check", FailureKind::kGarbage, "a frame of 2147483647 bytes"},
                      Case{"checksum@check", FailureKind::kGarbage, "checksum"},
                      Case{"array@time", FailureKind::kGarbage, "not a JSON object"},
                      Case{"mute@check", FailureKind::kGarbage, "closed its output"},
                      Case{"unknown@check", FailureKind::kGarbage, "makes no sense"},
                      Case{"types@build", FailureKind::kGarbage, "makes no sense"},
                      Case{"zero@time", FailureKind::kGarbage, "zero or less"},
                      Case{"negative@time", FailureKind::kGarbage, "zero or less"},
                      Case{"null@time", FailureKind::kGarbage, "makes no sense"},
                      Case{"untimed@time", FailureKind::kGarbage, "or none"}));
INSTANTIATE_TEST_SUITE_P(
    Answered, FailureTest,
    ::testing::Values(Case{"schedule@build", FailureKind::kScheduleError, "step 3"},
                      Case{"fail@build", FailureKind::kBuildError, "refused"},
                      Case{"fail@check", FailureKind::kRunError, "refused"},
                      Case{"wrong@check", FailureKind::kWrongNumbers, "C[0]"},
                      Case{"wrong@time", FailureKind::kWrongNumbers, "C[0]"},
                      Case{"memory@check", FailureKind::kOutOfMemory, "none left"}));

TEST_F(WorkerPoolTest, PrintingToStdoutDoesNotDisturbTheFrames) {
  Start(Options(1));
  EXPECT_EQ(MeasureOne("print@check").failure, FailureKind::kNone);
  EXPECT_EQ(MeasureOne("print@time").failure, FailureKind::kNone);
}

// A wave's builds come before any timing; a timing has the machine to itself.
TEST_F(WorkerPoolTest, TimesOneCandidateAtATimeAlone) {
  Start(Options(2));
  Measure({"ok", "ok", "ok", "ok", "ok"});
  int building = 0, timing = 0, timings = 0;
  for (const std::string& event : Events()) {
    if (event.starts_with("build ")) ++building;
    if (event.starts_with("built ")) --building;
    if (event.starts_with("time ")) ++timing, ++timings;
    if (event.starts_with("timed ")) --timing;
    EXPECT_LE(timing, 1) << event;
    EXPECT_TRUE(timing == 0 || building == 0) << event;
  }
  EXPECT_EQ(timings, 5);
}

// The first job hangs in its build; the other worker builds all the rest meanwhile.
TEST_F(WorkerPoolTest, SlowBuildHoldsUpNoOther) {
  Start(Options(2, kShort));
  const std::vector<Outcome> outcomes = Measure({"hang@build", "ok", "ok", "ok", "ok"});
  EXPECT_EQ(outcomes[0].failure, FailureKind::kTimeout);
  for (std::size_t i = 1; i < outcomes.size(); ++i) {
    EXPECT_EQ(outcomes[i].worker_pid, outcomes[1].worker_pid) << i;
  }
}

TEST_F(WorkerPoolTest, ProgramsOfADeadWorkerAreBuiltAgain) {
  Start(Options(1));
  const std::vector<Outcome> outcomes = Measure({"ok", "segv@check", "ok"});
  EXPECT_EQ(outcomes[0].failure, FailureKind::kNone) << outcomes[0].message;
  EXPECT_EQ(outcomes[1].failure, FailureKind::kCrash);
  EXPECT_EQ(outcomes[2].failure, FailureKind::kNone) << outcomes[2].message;
  EXPECT_EQ(outcomes[0].worker_pid, outcomes[2].worker_pid);
  EXPECT_THAT(Events(),
              ElementsAre("load", "build 1", "built 1", "build 2", "load", "build 3", "built 3",
                          "build 1", "built 1", "time 1 0", "timed 1", "time 3 0.012", "timed 3"));
}

TEST_F(WorkerPoolTest, CheckOneTakesAnotherWorkloadIntoOneWorkerAndTimesNothing) {
  Start(Options(2));
  const std::string other = folder_ / "other";
  const WorkerWorkload workload{.module_json = other, .target_json = "", .references = {}};
  const Result<Outcome> right = pool_->CheckOne(workload, {5, "ok", ""}, never_);
  ASSERT_TRUE(right.ok()) << right.error().message;
  EXPECT_EQ(right->failure, FailureKind::kNone);
  EXPECT_EQ(right->max_error, 0.125);
  const Result<Outcome> wrong = pool_->CheckOne(workload, {5, "wrong@check", ""}, never_);
  ASSERT_TRUE(wrong.ok());
  EXPECT_EQ(wrong->failure, FailureKind::kWrongNumbers);
  const Result<Outcome> dead = pool_->CheckOne(workload, {5, "segv@build", ""}, never_);
  ASSERT_TRUE(dead.ok());
  EXPECT_EQ(dead->failure, FailureKind::kCrash);
  EXPECT_THAT(Events(), ElementsAre("load", "load")) << "the first workload saw none of it";
  EXPECT_EQ(MeasureOne("ok").failure, FailureKind::kNone);
  EXPECT_THAT(Events(), ElementsAre("load", "load"));
}

TEST_F(WorkerPoolTest, FailedBuildsAreNotTimed) {
  Start(Options(1));
  Measure({"fail@build", "wrong@check"});
  EXPECT_THAT(Events(), ElementsAre("load", "build 1", "built 1", "build 2", "built 2"));
}

TEST_F(WorkerPoolTest, CutoffFollowsTheBest) {
  Start(Options(1));
  Measure({"ok", "fast@time", "ok"}, 2e-3);
  std::vector<std::string> cutoffs;
  for (const std::string& event : Events()) {
    if (event.starts_with("time ")) cutoffs.push_back(event);
  }
  EXPECT_THAT(cutoffs, ElementsAre("time 1 0.008", "time 2 0.008", "time 3 0.004"));
}

// The next job is larger than a pipe: a blocking write to a worker that reads nothing would never
// come back.
TEST_F(WorkerPoolTest, DeafWorkerIsATimeout) {
  Start(Options(1, kShort));
  const std::vector<Outcome> outcomes =
      Measure({"then-deaf@time", "ok" + std::string(1 << 20, ' '), "ok"});
  EXPECT_EQ(outcomes[0].failure, FailureKind::kNone);
  EXPECT_EQ(outcomes[1].failure, FailureKind::kTimeout);
  EXPECT_EQ(outcomes[2].failure, FailureKind::kNone);
}

TEST_F(WorkerPoolTest, DeathBetweenJobsIsNotBlamedOnTheNextOne) {
  Start(Options(1));
  const Outcome first = MeasureOne("then-die@time");
  EXPECT_EQ(first.failure, FailureKind::kNone);
  siginfo_t info = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(first.worker_pid), &info, WEXITED | WNOWAIT), 0);
  const Outcome next = MeasureOne("ok");
  EXPECT_EQ(next.failure, FailureKind::kNone) << next.message;
  EXPECT_NE(next.worker_pid, first.worker_pid);
}

TEST_F(WorkerPoolTest, WorkersAreRecycled) {
  PoolOptions options = Options(1);
  options.recycle_after = 2;
  Start(options);
  const std::vector<Outcome> outcomes = Measure({"ok", "ok", "ok", "ok"});
  EXPECT_EQ(outcomes[0].worker_pid, outcomes[1].worker_pid);
  EXPECT_NE(outcomes[1].worker_pid, outcomes[2].worker_pid);
  EXPECT_EQ(outcomes[2].worker_pid, outcomes[3].worker_pid);
}

TEST_F(WorkerPoolTest, FilesAndChildrenStayFlat) {
  auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  PoolOptions options = Options(2);
  options.recycle_after = 5;
  Start(options);
  const auto before = open_files();
  std::vector<std::string> traces;
  for (int i = 0; i < 50; ++i) traces.push_back(i % 7 == 3 ? "segv@check" : "ok");
  traces.resize(52, "ok");  // the last wave leaves both workers alive
  Measure(traces);
  EXPECT_EQ(open_files(), before);
  int children = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string pid, name, state, parent;
    if (file >> pid >> name >> state >> parent && parent == std::to_string(getpid())) ++children;
  }
  EXPECT_EQ(children, 2);
}

TEST_F(WorkerPoolTest, StopEndsMeasureAtOnce) {
  Start(Options(2));
  std::atomic<bool> stop{false};
  std::thread stopper([&] {
    while (Events().size() < 4) std::this_thread::yield();  // two loads, two builds
    stop = true;
  });
  const Job jobs[] = {{1, "hang@build", ""}, {2, "stop@build", ""}};
  int outcomes = 0;
  const Status status = pool_->Measure(
      jobs, 0,
      [&](const Outcome&) {
        ++outcomes;
        return Ok();
      },
      stop);
  stopper.join();
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(outcomes, 0) << "what was in flight has no outcome";
  EXPECT_EQ(MeasureOne("ok").failure, FailureKind::kNone) << "the pool can be used again";
}

TEST_F(WorkerPoolTest, ErrorOfTheCallbackEndsMeasure) {
  Start(Options(1));
  const Job jobs[] = {{1, "ok", ""}, {2, "ok", ""}};
  int outcomes = 0;
  const Status status = pool_->Measure(
      jobs, 0,
      [&](const Outcome&) -> Status {
        ++outcomes;
        return Fail(Code::kRunDirectory, "the disk is full");
      },
      never_);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "the disk is full");
  EXPECT_EQ(outcomes, 1);
}

TEST_F(WorkerPoolTest, MeasureOneHasItsOwnDeadlineAndSaves) {
  Start(Options(1, kLong));
  const std::filesystem::path saved = folder_ / "saved";
  const Result<Outcome> right = pool_->MeasureOne({7, "ok", ""}, kLong, saved, never_);
  ASSERT_TRUE(right.ok()) << right.error().message;
  EXPECT_EQ(right->id, 7);
  EXPECT_TRUE(std::filesystem::exists(saved));

  const Result<Outcome> hung =
      pool_->MeasureOne({8, "hang@time", ""}, kShort, folder_ / "no", never_);
  ASSERT_TRUE(hung.ok());
  EXPECT_EQ(hung->failure, FailureKind::kTimeout);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no")) << "only what is right is saved";

  const Result<Outcome> unsaved =
      pool_->MeasureOne({9, "ok", ""}, kLong, folder_ / "none" / "x", never_);
  ASSERT_FALSE(unsaved.ok());
  EXPECT_EQ(unsaved.error().code, Code::kRunDirectory);
  EXPECT_THAT(unsaved.error().message, HasSubstr("none/x: cannot write"));
}

class LoadTest : public WorkerPoolTest {
 protected:
  Error ErrorOf(PoolOptions options, const std::string& how) {
    pool_ = std::make_unique<WorkerPool>(std::move(options));
    const Status status =
        pool_->Load({.module_json = Log() + " " + how, .target_json = "", .references = {}});
    EXPECT_FALSE(status.ok());
    return status.ok() ? Error{} : status.error();
  }
};

TEST_F(LoadTest, MissingProgram) {
  PoolOptions options = Options(1);
  options.program = "/no/such/worker";
  const Error error = ErrorOf(options, "");
  EXPECT_EQ(error.code, Code::kEnvironment);
  EXPECT_THAT(error.message, HasSubstr("cannot start /no/such/worker"));
}

TEST_F(LoadTest, SaysWhyAWorkerCouldNotLoad) {
  EXPECT_THAT(ErrorOf(Options(2), "refuse").message,
              HasSubstr("could not load the workload: no such tensor"));
  EXPECT_THAT(ErrorOf(Options(2), "nonsense").message, HasSubstr("makes no sense"));
  const Error error = ErrorOf(Options(2), "exit");
  EXPECT_EQ(error.code, Code::kEnvironment);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("exit code 5"), HasSubstr("it said: cannot load the library")));
}

TEST_F(LoadTest, ProgramThatIsNoWorker) {
  PoolOptions options = Options(1);
  options.program = "/bin/echo";
  EXPECT_THAT(ErrorOf(options, "").message, HasSubstr("could not start"));
}

TEST_F(LoadTest, WorkersTakeAnotherWorkload) {
  Start(Options(2));
  const int before = MeasureOne("ok").worker_pid;
  ASSERT_TRUE(pool_->Load({.module_json = Log(), .target_json = "", .references = {}}).ok());
  EXPECT_EQ(MeasureOne("ok").worker_pid, before);
}

// kill -9 of the tuner: its workers must end, whatever they are doing.
class OwnerTest : public WorkerPoolTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(OwnerTest, WorkersDieWithAKilledTuner) {
  std::vector<pid_t> workers;
  {
    Result<Subprocess> owner = Subprocess::Spawn({.program = TW_POOL_OWNER,
                                                  .arguments = {TW_FAKE_WORKER, GetParam(), Log()},
                                                  .environment = {}});
    ASSERT_TRUE(owner.ok());
    std::string text;
    pollfd waiting{owner->output(), POLLIN, 0};
    while (std::count(text.begin(), text.end(), '\n') < 2) {
      ASSERT_EQ(poll(&waiting, 1, 60'000), 1);
      char c;
      ASSERT_EQ(read(owner->output(), &c, 1), 1);
      text += c;
    }
    std::istringstream pids(text);
    for (pid_t pid; pids >> pid;) workers.push_back(pid);
    // An idle worker would see its input end, and leave by itself.
    auto is_stuck = [](const std::string& event) { return event.starts_with("stuck "); };
    for (std::vector<std::string> events; std::ranges::count_if(events, is_stuck) < 2;) {
      poll(nullptr, 0, 1);
      events = Events();
    }
    kill(owner->pid(), SIGKILL);
    EXPECT_EQ(owner->Wait().signal, SIGKILL);
  }
  ASSERT_THAT(workers, SizeIs(2));
  for (const pid_t worker : workers) {  // orphans now, so adopted by this process
    int status = 0;
    ASSERT_EQ(waitpid(worker, &status, 0), worker);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, OwnerTest, ::testing::Values("hang", "stop", "stubborn"));

}  // namespace
}  // namespace tw::measure
