// How numbers are shown to a person.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace tw::cli {

std::string Milliseconds(double seconds);              // "12.9 ms", "3.4 us", "2.57 s"
std::string Shape(const std::vector<int64_t>& shape);  // "1x16x7168", "scalar"
std::string Counts(
    const std::map<std::string, int64_t>& counts);  // "2 wrong-numbers, 1 crash"; "none"
// Reads "m=512,n=64". Errors are kUsage and name the part that is wrong.
Result<std::map<std::string, int64_t>> ParseDims(const std::string& text);

}  // namespace tw::cli
