// What the tests of the run database share.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "store/store.h"

namespace tw::store::testing {

inline Node SomeNode(int64_t id) {
  Node node;
  node.id = id;
  node.parent = id - 1;
  node.state = fmt::format("state {}", id);
  node.key = fmt::format("key {}", id);
  node.source = "test";
  node.predicted = 1.0 / 3;
  return node;
}

// A valid measurement.
inline Measurement Latency(int64_t trial, double median_s) {
  Measurement m;
  m.trial = trial;
  m.node = trial;
  m.key = fmt::format("program {}", trial);
  m.median_s = median_s;
  m.finished_at = "2026-01-01T00:00:00Z";
  return m;
}

// A directory of its own for each test.
class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tw-store-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  const std::filesystem::path& directory() const { return directory_; }
  std::filesystem::path path() const { return directory_ / "run.db"; }
  Store Open() const {
    Result<Store> store = Store::Open(path());
    EXPECT_TRUE(store.ok()) << store.error().message;
    return std::move(*store);
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace tw::store::testing
