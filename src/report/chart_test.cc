#include "report/chart.h"

#include <gmock/gmock.h>

namespace tw::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Chart, NothingToDrawIsNoPicture) { EXPECT_EQ(ToSvg({"t", "x", "y", {}, {}}), ""); }

TEST(Chart, FasterIsLowerAndLabelsAreEscaped) {
  const std::string svg = ToSvg({"a<b",
                                 "trials",
                                 "ms",
                                 {{1, 100, "one & only"}, {2, 10, "two"}},
                                 {{1, 100, ""}, {2, 10, ""}}});
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
  EXPECT_THAT(svg, HasSubstr("one &amp; only"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  const auto y_of = [&](const std::string& label) {
    const std::size_t end = svg.find(label);
    const std::size_t at = svg.rfind("cy=\"", end);
    return std::stod(svg.substr(at + 4));
  };
  EXPECT_LT(y_of("one &amp;"), y_of("two"));
}

TEST(Chart, OneValueStillHasAnAxis) {
  EXPECT_THAT(ToSvg({"t", "x", "y", {{1, 10, "p"}}, {}}), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace tw::report
