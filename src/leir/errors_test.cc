// Wrong programs: every one gives an error that says where and what to do, and none crashes.
#include <gtest/gtest.h>

#include "leir/checker.h"
#include "leir/parser.h"

namespace tw::leir {
namespace {

#define kHead "leir 1\ninput A: f32[8]\noutput C: f32[8]\n"

struct Wrong {
  const char* text;
  const char* message;
};

constexpr Wrong kWrong[] = {
    {""
     "",
     "f:1:1: expected the version line `leir 1` at the start of the file but found the "
     "end of the text"},
    {""
     "lier 1\n",
     "f:1:1: expected the version line `leir 1` at the start of the file but found `lier`"},
    {""
     "leir 2\n",
     "f:1:6: this program reads version 1 of the language, not `2`; write `leir 1`"},
    {kHead "", "f:4:1: the program has no loop nest, e.g. L^{8}_{a=0} [ C_{a} = A_{a}; ];"},
    {""
     "leir 1\n# nothing but a comment\n",
     "f:3:1: the program has no loop nest, e.g. L^{8}_{a=0} [ C_{a} = A_{a}; ];"},
    {kHead "@", "f:4:1: the character `@` is not part of LEIR"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{a} ? 1; ];", "f:4:29: the character `?` is not part of LEIR"},
    {kHead "L^{8}_{a=0} [ C_{a} = 2a; ];",
     "f:4:23: `2a`: a number and a name need an operator between them, e.g. 2*a"},
    {kHead "L^{8}_{a=0} [ C_{a} = 1.; ];", "f:4:23: `1.` needs a digit after the point, e.g. 1.0"},
    {kHead "L^{8}_{a=0} [ C_{a} = 99999999999999999999; ];",
     "f:4:23: the integer 99999999999999999999 does not fit 64 bits; write "
     "99999999999999999999.0 for a floating-point number"},
    {kHead "L^{8}_{a=0} [ C_{a} = 1e999; ];",
     "f:4:23: the number 1e999 is outside the range of double precision; infinity is "
     "written `inf`"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{b}; ];",
     "f:4:26: `b` is not an index of a loop around this place and not a dim"},
    {kHead "L^{8}_{a=0} [ C_{a} = Q_{a}; ];",
     "f:4:23: the tensor Q is not declared; add e.g. `temp Q: f32[...]` above"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{a; ];",
     "f:4:27: expected `}` after the indices but found `;`"},
    {kHead "L^{8}_{a=0} [ C_{a} = A{a}; ];",
     "f:4:24: expected `;` after the statement but found `{`"},
    {kHead "L^{8}_{a=0} [ C_{a} = foo(A_{a}); ];",
     "f:4:23: `foo` is not a function; the functions are exp, log, sqrt, abs, erf, max, "
     "min, if_then_else"},
    {kHead "L^{8}_{a=0} [ C_{a} = Exp(A_{a}); ];",
     "f:4:23: the tensor Exp is not declared; add e.g. `temp Exp: f32[...]` above "
     "(functions are written in small letters)"},
    {kHead "L^{8}_{a=0} [ C_{a} = max(A_{a}); ];",
     "f:4:23: max takes 2 or more arguments but has 1"},
    {kHead "L^{8}_{a=0} [ C_{a} = exp(A_{a}, 1); ];", "f:4:23: exp takes 1 argument but has 2"},
    {kHead "L^{8}_{a=0} [ C_{a} = exp(A_{a}; ];",
     "f:4:32: expected `)` after the arguments of exp but found `;`"},
    {kHead "L^{8}_{a=0} [ C_{a} = if_then_else(a < 3, 1); ];",
     "f:4:23: if_then_else takes 3 arguments but has 2"},
    {kHead "L^{8}_{a=0} [ C_{a} = a < 3; ];",
     "f:4:25: the value of a statement is a number, not the comparison `a < 3`; write "
     "if_then_else(a < 3, 1, 0)"},
    {kHead "L^{8}_{a=0} [ C_{a} = 1 + (a < 3); ];",
     "f:4:30: the comparison `a < 3` is used as a number; write if_then_else(a < 3, 1, 0)"},
    {kHead "L^{8}_{a=0} [ C_{a} = -(a < 3); ];",
     "f:4:23: `-` needs a number, not a comparison; use if_then_else(condition, a, b)"},
    {kHead "L^{8}_{a=0} [ C_{a} = exp(a < 3); ];",
     "f:4:29: exp needs a number here, not the comparison `a < 3`"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{a < 3}; ];",
     "f:4:28: an index is a number, not the comparison `a < 3`; write if_then_else(a < 3, "
     "1, 0)"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{a/2}; ];",
     "f:4:27: `a/2` cannot be in an index: only indices, integers, integer tensors and + "
     "- * // % can"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{exp(a)}; ];",
     "f:4:26: `exp(a)` cannot be in an index: only indices, integers, integer tensors and "
     "+ - * // % can"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{1.0}; ];",
     "f:4:26: `1.0` cannot be in an index: only indices, integers, integer tensors and + "
     "- * // % can"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{a} +; ];",
     "f:4:30: expected a number, an index, a tensor, a function or `(` but found `;`"},
    {kHead "L^{8}_{a=0} [ C_{a} = (A_{a}; ];",
     "f:4:29: expected `)` to close the parenthesis but found `;`"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{a}^{f32,g}; ];",
     "f:4:28: the superscript of A comes before its indices: A^{f32,g}_{...}"},
    {kHead "L^{8}_{a=0} [ C_{a} = A^{f33,g}_{a}; ];",
     "f:4:26: expected the type of A but found `f33`; types are f16 bf16 f32 f64 i8 i16 "
     "i32 i64 u8 u16 u32 u64 bool"},
    {kHead "L^{8}_{a=0} [ C_{a} = A^{f32,x}_{a}; ];",
     "f:4:30: expected the scope of A, g (global), s (shared) or l (local), but found `x`"},
    {kHead "L^{8}_{a=0} [ C_{a} = A^{f64,g}_{a}; ];",
     "f:4:23: A is f64,g here but f32,g before; use the same type and scope everywhere"},
    {kHead "L^{8}_{a=1} [ C_{a} = 1; ];",
     "f:4:10: loops start at 0, not at `1`; shift the index where it is used"},
    {kHead "L^{0}_{a=0} [ C_{a} = 1; ];",
     "f:4:4: the extent of a loop is 0; it must be from 1 to 2^40"},
    {kHead "L^{8}_{e=0} [ C_{e} = 1; ];",
     "f:4:8: `e` cannot name a loop index: it has a meaning of its own; choose another "
     "name"},
    {kHead "L^{8}_{exp=0} [ C_{0} = 1; ];",
     "f:4:8: `exp` cannot name a loop index: it has a meaning of its own; choose another "
     "name"},
    {kHead "L^{8}_{a1=0} [ C_{0} = 1; ];",
     "f:4:8: `a1` cannot name a loop index: use small letters only"},
    {kHead "X^{8}_{a=0} [ C_{a} = 1; ];",
     "f:4:1: `X` is not a kind of loop; kinds are L (serial), P (parallel), V "
     "(vectorised), U (unrolled), B (bound)"},
    {kHead "L^{8}_{a=0} L^{8}_{a=0} [ C_{a} = 1; ];",
     "f:4:20: a loop around this one already has the index `a`; rename one"},
    {kHead "L^{8}_{a=0} [ L^{8}_{a=0} [ C_{a} = 1; ]; ];",
     "f:4:22: a loop around this one already has the index `a`; rename one"},
    {kHead "L^{8}_{a=0} C_{a} = 1;",
     "f:4:13: expected `[` to begin the body of the loops but found `C`"},
    {kHead "L^{8}_{a=0} [ C_{a} = 1 ];", "f:4:25: expected `;` after the statement but found `]`"},
    {kHead "L^{8}_{a=0} [ C_{a} = 1; ]",
     "f:4:27: expected `;` after the `]` of a nest but found the end of the text"},
    {kHead "L^{8}_{a=0} [ C_{a} = 1;",
     "f:4:25: expected `]` to end the body of the loops but found the end of the text"},
    {kHead "L^{8}_{a=0} [ ];",
     "f:4:15: expected a statement such as C_{a} = A_{a}; or a loop but found `]`"},
    {kHead "L^{8}_{a=0} [ C_{a} = 0; ] L^{8}_{c=0} [ C_{a} = C_{a} + 1; ];",
     "f:4:28: expected `;` after `]` but a loop follows; put that nest inside the "
     "brackets: L1[s;L2[t;];];"},
    {kHead "L^{n}_{a=0} [ C_{a} = 1; ];",
     "f:4:4: `n` is not an index of a loop around this place and not a dim"},
    {""
     "leir 1\ndim n = 8\ndim n = 9\n",
     "f:3:5: the dim `n` is already defined; remove one"},
    {""
     "leir 1\ndim n = 1 - 2\n",
     "f:2:9: the dim `n` is -1; dims are from 0 to 2^40"},
    {""
     "leir 1\ndim n = 4//0\n",
     "f:2:10: division by 0; divide by a positive number"},
    {""
     "leir 1\ndim N = 4\n",
     "f:2:5: expected the name of a dim, in small letters, but found `N`"},
    {""
     "leir 1\ndim n 4\n",
     "f:2:7: expected `=` after the name of the dim but found `4`"},
    {""
     "leir 1\ndim n = 2*1099511627776\n",
     "f:2:10: `2*1099511627776` is beyond 2^40; use smaller numbers"},
    {""
     "leir 1\ndim a = 8\noutput C: f32[a]\nL^{8}_{a=0} [ C_{a} = 1; ];",
     "f:4:8: the loop index `a` has the name of a dim; rename the loop"},
    {""
     "leir 1\noutput C: float[8]\n",
     "f:2:11: expected a type but found `float`; types are f16 bf16 f32 f64 i8 i16 i32 "
     "i64 u8 u16 u32 u64 bool"},
    {""
     "leir 1\noutput C f32[8]\n",
     "f:2:10: expected `:` after the name of the tensor but found `f32`"},
    {""
     "leir 1\noutput C: f32\n",
     "f:3:1: expected `[` before the shape; a scalar has the shape [] but found the end "
     "of the text"},
    {""
     "leir 1\noutput C: f32[0]\n",
     "f:2:15: C has an extent of 0; extents are 1 or more"},
    {""
     "leir 1\noutput C: f32[8]\noutput C: f32[8]\n",
     "f:3:8: the tensor C is already declared; remove one or rename it"},
    {""
     "leir 1\noutput c: f32[8]\n",
     "f:2:8: expected the name of a tensor, a capital and then small letters, but found "
     "`c`"},
    {""
     "leir 1\noutput C: f32,q[8]\n",
     "f:2:15: expected a scope, g (global), s (shared) or l (local), but found `q`"},
    {""
     "leir 1\noutput CC: f32[8]\n",
     "f:2:8: the name that starts with `C` goes on with `C`: tensor names are one capital "
     "and then small letters, e.g. Score"},
    {""
     "leir 1\nresult C: f32[8]\n",
     "f:2:1: expected a declaration (dim, input, constant, parameter, output, temp) or a "
     "loop but found `result`"},
    {""
     "leir 1\noutput C: f32[1048576,1048577]\n",
     "f:2:8: C has an extent below 1 or more than 2^40 elements"},
    {kHead "L^{8}_{a=0} [ A_{a} = 1; ];",
     "f:4:15: the input A cannot be written; write a temporary or an output"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{a,0}; ];", "f:4:23: A has 1 dimension but 2 indices here"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{a+1}; ];",
     "f:4:27: A is read at index 1 `a + 1`, which goes from 1 to 8, outside 0 to 7; guard "
     "it: if_then_else(0 <= a + 1 < 8, ..., 0)"},
    {kHead "L^{8}_{a=0} [ C_{a} = if_then_else(a - 1 >= 0, A_{a-2}, 0); ];",
     "f:4:52: A is read at index 1 `a - 2`, which goes from -1 to 5, outside 0 to 7; "
     "guard it: if_then_else(0 <= a - 2 < 8, ..., 0)"},
    {kHead "L^{9}_{a=0} [ C_{a} = 1; ];",
     "f:4:18: C is written at index 1 `a`, which goes from 0 to 8, outside 0 to 7; "
     "enlarge the shape or shorten the loop"},
    {kHead "L^{7}_{a=0} [ C_{a} = 1; ];",
     "f:3:8: the element [7] of C is never written; make the loops that write C cover its "
     "whole shape"},
    {kHead "L^{4}_{a=0} [ C_{a*2} = 1; ];",
     "f:3:8: the element [1] of C is never written; make the loops that write C cover its "
     "whole shape"},
    {kHead "L^{8}_{a=0} L^{2}_{c=0} [ C_{a} = A_{a}*c; ];",
     "f:4:27: the value depends on `c`, but the indices of C do not tell it, so the last "
     "iteration would win; use each loop in its own index of C"},
    {kHead "L^{8}_{a=0} [ C_{a} = if_then_else(A_{a} > 0, A_{a}, C_{a}); ];",
     "f:4:15: C has no value before this statement updates it; write a first value in an "
     "earlier statement (X + .., X * .., max(X, ..), min(X, ..) need none)"},
    {kHead "L^{8}_{a=0} V^{4}_{c=0} [ C_{a} = C_{a} + A_{c}; ];",
     "f:4:13: the loop `c` cannot be vectorised: it is a reduction axis of C; make it L"},
    {kHead "P^{4}_{c=0} L^{8}_{a=0} [ C_{a} = max(C_{a}, A_{c}); ];",
     "f:4:1: the loop `c` cannot be parallel: it is a reduction axis of C; make it L"},
    {kHead "B^{8}_{q=0} [ C_{q} = 1; ];",
     "f:4:1: the bound loop `q` does not name an axis: begin with t (thread) or b "
     "(block), then x, y or z, e.g. tx"},
    {kHead "temp D: f32[8]\nL^{8}_{a=0} [ C_{a} = D_{a}; ];",
     "f:5:23: D is read before any statement writes it; move its nest up"},
    {kHead "temp D: f32[8]\nL^{8}_{a=0} [ C_{a} = 1; ];",
     "f:4:6: nothing writes D; write it or remove it"},
    {kHead "L^{8}_{a=0} [ C_{a} = a//(a-3); ];",
     "f:4:28: the divisor `a - 3` of an integer // may be 0; divide by a number or an "
     "index that cannot be"},
    {kHead "L^{8}_{a=0} [ C_{a} = a%a; ];",
     "f:4:25: the divisor `a` of an integer % may be 0; divide by a number or an index "
     "that cannot be"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{a//(a-1)}; ];",
     "f:4:31: the divisor `a - 1` in an index may be 0 or negative; divide by a positive "
     "number"},
    {kHead "L^{8}_{a=0} [ C_{a} = A_{A_{a}}; ];",
     "f:4:26: A is used as an index but is not of an integer type"},
    {""
     "leir 1\ninput M: bool[8]\noutput C: f32[8]\nL^{8}_{a=0} [ C_{a} = M_{a} + M_{a}; ];",
     "f:4:29: `M_{a} + M_{a}` calculates with bool values; write if_then_else(mask, a, "
     "b), or mask * number to keep or clear a number"},
    {""
     "leir 1\ninput M: i64[8]\noutput C: f32[8]\nL^{8}_{a=0} [ C_{M_{a}} = 1; ];",
     "f:4:18: the target C is indexed by a tensor; only reads can be"},
    {""
     "leir 1\ninput A: f32[8]\ntemp C: f32[8]\nL^{8}_{a=0} [ C_{a} = A_{a}; ];",
     "f: the program has no output; declare one: output C: f32[8]"},
    {""
     "leir 1\noutput C: f32[8]\nL^{4}_{a=0} L^{4}_{c=0} [ C_{a+c} = C_{a+c} + 1; ];",
     "f:3:27: different values of the loop `a` update the same element of C; use each "
     "loop in its own index of C"},
    {kHead "P^{8}_{a=0} [ C_{a} = if_then_else(a < 1, 0, C_{a-1}) + A_{a}; ];",
     "f:4:1: the loop `a` cannot be parallel: it is the prefix axis of C; make it L"},
};

std::string MessageOf(const std::string& text) {
  const auto program = ParseFile(text, "f");
  if (!program.ok()) return program.error().message;
  const auto checked = Check(*program);
  return checked.ok() ? "" : checked.error().message;
}

TEST(Errors, SayWhereAndWhatToDo) {
  static_assert(std::size(kWrong) >= 40);
  for (const Wrong& wrong : kWrong) EXPECT_EQ(MessageOf(wrong.text), wrong.message) << wrong.text;
}

TEST(Errors, DeepTextsAreRefused) {
  const auto deep = [](std::string open, std::string close, int times) {
    std::string text = kHead "L^{8}_{a=0} [ C_{a} = ";
    for (int i = 0; i < times; ++i) text += open;
    text += "A_{a}";
    for (int i = 0; i < times; ++i) text += close;
    return MessageOf(text + "; ];");
  };
  EXPECT_EQ(deep("(", ")", 200), "");
  EXPECT_NE(deep("(", ")", 100000).find("more than 256"), std::string::npos);
  EXPECT_NE(deep("-", "", 100000).find("more than 256"), std::string::npos);
  EXPECT_NE(deep("2**", "", 100000).find("more than 256"), std::string::npos);
  EXPECT_NE(deep("exp(", ")", 100000).find("more than 256"), std::string::npos);
  EXPECT_NE(deep("1+", "", 100000).find("more than 1024"), std::string::npos);
  std::string nests = kHead;
  for (int i = 0; i < 100000; ++i) nests += "L^{1}_{a=0} [";
  EXPECT_NE(MessageOf(nests), "");
}

// Every prefix and every one-byte change of a program ends in an answer.
TEST(Errors, DamagedTextsNeverCrash) {
  const std::string text =
      "leir 1\ndim n = 8\ninput A: f32[n]\noutput C: f32[n]\ntemp D: f32,s[n]\n"
      "L^{n}_{a=0} [ D_{a} = if_then_else(1 <= a < n, A_{a-1}, -inf)*2.5e-3; ];\n"
      "P^{2}_{p=0} L^{4}_{q=0} [ C_{p*4+q} = max(D_{(p*4+q)//1}, A_{q%8}**2); ];";
  ASSERT_EQ(MessageOf(text), "");
  for (std::size_t i = 0; i < text.size(); ++i) {
    (void)MessageOf(text.substr(0, i));
    for (char c : std::string("({[]})^_,;=+-*/%<0a9A.\n\xff")) {
      std::string damaged = text;
      damaged[i] = c;
      (void)MessageOf(damaged);
      damaged = text;
      damaged.insert(i, 1, c);
      (void)MessageOf(damaged);
    }
  }
}

#undef kHead

}  // namespace
}  // namespace tw::leir
