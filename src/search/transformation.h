// One step from a program state to the next, with its parameters, printable in one line and read
// back:
//   TileSize(block=C, loop=i, factors=[1,1,4,4])
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace tw::search {

using Value = std::variant<int64_t, std::string, std::vector<int64_t>>;

struct Transformation {
  std::string name;
  std::vector<std::pair<std::string, Value>> parameters;  // in the order of the domain

  const Value* Find(std::string_view parameter) const;
  bool operator==(const Transformation&) const = default;
};

std::string ToString(const Transformation& transformation);
// Reads what ToString prints; blanks are free. The error names the column.
Result<Transformation> ParseTransformation(std::string_view text);

// The legal values of one parameter on one program.
struct Parameter {
  enum class Kind {
    kInteger,  // one of `integers`
    kName,     // one of `names`
    kFactors,  // `parts` factors whose product is `product`, the last at most `max_last` (0: no
               // limit)
  };
  std::string name;
  Kind kind = Kind::kInteger;
  std::vector<int64_t> integers;
  std::vector<std::string> names;
  int64_t product = 1;
  int parts = 1;
  int64_t max_last = 0;
};

// What may be done to one program: a transformation's name and the domain of each of its
// parameters. One Domain fixes the place (block and loop are domains of one name), so that domains
// do not depend on each other.
struct Domain {
  std::string name;
  std::vector<Parameter> parameters;
  double weight = 1;  // how often random sampling takes it, relative to the others
};

// Uniform over the domain's values; factors are drawn uniformly over ordered factorisations.
Transformation SampleFrom(const Domain& domain, Random& random);
// Ok, or why the transformation's parameters are not in the domain.
Status CheckAgainst(const Domain& domain, const Transformation& transformation);

// All ways to write `product` as `parts` ordered factors, the last at most `max_last` (0: no
// limit).
std::vector<std::vector<int64_t>> Factorizations(int64_t product, int parts, int64_t max_last);

}  // namespace tw::search
