#include "leir/parser.h"

#include <algorithm>

#include "leir/parser_state.h"
#include "leir/shapes.h"

namespace tw::leir {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 40;

class Parser : public ParserState {
 public:
  Parser(std::vector<Token> tokens, std::string source, bool published, bool lenient)
      : ParserState(std::move(tokens), std::move(source), published), lenient_(lenient) {}

  Result<Program> File(const std::map<std::string, int64_t>& overrides) {
    overrides_ = &overrides;
    TW_CHECK(Version());
    while (Peek().kind != TokenKind::kEnd) {
      if (Peek().kind == TokenKind::kIdentifier) {
        TW_CHECK(Declaration());
      } else {
        TW_TRY(Nest nest, ParseNest());
        program_.nests.push_back(std::move(nest));
      }
    }
    for (const auto& [name, value] : overrides) {
      if (!dims_.contains(name)) {
        std::string known;
        for (const auto& [dim, unused] : dims_) {
          if (!known.empty()) known += ", ";
          known += dim;
        }
        return Fail(Code::kUsage, "{}: there is no dim `{}`; {}", program_.source, name,
                    known.empty() ? "the file has none" : fmt::format("the file has {}", known));
      }
    }
    return Finish();
  }

  Result<Program> Published(const std::vector<Tensor>& arguments) {
    for (const Tensor& argument : arguments) {
      program_.tensors.push_back(argument);
      TW_CHECK(Declare(argument));
    }
    while (Peek().kind != TokenKind::kEnd) {
      TW_TRY(Nest nest, ParseNest());
      program_.nests.push_back(std::move(nest));
    }
    return Finish();
  }

 private:
  Result<Program> Finish() {
    if (program_.nests.empty()) {
      return ErrorHere(
          "the program has no loop nest, e.g. L^{{8}}_{{a=0}} [ C_{{a}} = A_{{a}}; ];");
    }
    const auto first_temporary =
        std::stable_partition(program_.tensors.begin(), program_.tensors.end(),
                              [](const Tensor& t) { return t.role != Role::kTemporary; });
    const auto order = [&](const Tensor& t) {
      const auto mention = mention_.find(t.name);
      return mention == mention_.end() ? static_cast<int>(mention_.size()) : mention->second;
    };
    std::stable_sort(first_temporary, program_.tensors.end(),
                     [&](const Tensor& a, const Tensor& b) { return order(a) < order(b); });
    TW_CHECK(InferShapes(&program_, declared_));
    return std::move(program_);
  }

  Status Version() {
    if (!AtWord("leir")) {
      return ErrorHere("expected the version line `leir 1` at the start of the file but found {}",
                       Quote(Peek()));
    }
    Take();
    if (!Peek().is_integer || Peek().integer != 1) {
      return ErrorHere("this program reads version 1 of the language, not {}; write `leir 1`",
                       Quote(Peek()));
    }
    Take();
    return Ok();
  }

  Status Declaration() {
    const Token word = Take();
    if (word.text == "dim") return Dim();
    static constexpr Role kRoles[] = {Role::kInput, Role::kConstant, Role::kParameter,
                                      Role::kOutput, Role::kTemporary};
    static constexpr std::string_view kWords[] = {"input", "constant", "parameter", "output",
                                                  "temp"};
    for (int i = 0; i < 5; ++i) {
      if (word.text == kWords[i]) return TensorDeclaration(kRoles[i]);
    }
    return ErrorAt(
        program_.source, word.location,
        "expected a declaration (dim, input, constant, parameter, output, temp) or a loop "
        "but found {}",
        Quote(word));
  }

  Result<std::string> NewWord(std::string_view what) {
    const Token word = Take();
    if (word.kind != TokenKind::kIdentifier) {
      return ErrorAt(program_.source, word.location,
                     "expected the name of {}, in small letters, but found {}", what, Quote(word));
    }
    if (!std::all_of(word.text.begin(), word.text.end(),
                     [](char c) { return c >= 'a' && c <= 'z'; })) {
      return ErrorAt(program_.source, word.location, "`{}` cannot name {}: use small letters only",
                     word.text, what);
    }
    if (IsReserved(word.text)) {
      return ErrorAt(program_.source, word.location,
                     "`{}` cannot name {}: it has a meaning of its own; choose another name",
                     word.text, what);
    }
    return word.text;
  }

  Status Dim() {
    const Location location = Peek().location;
    TW_TRY(const std::string name, NewWord("a dim"));
    if (dims_.contains(name)) {
      return ErrorAt(program_.source, location, "the dim `{}` is already defined; remove one",
                     name);
    }
    TW_CHECK(Expect("=", "after the name of the dim"));
    const bool plain = Peek().kind == TokenKind::kNumber && PlainNumberFollows();
    const Location value_location = Peek().location;
    TW_TRY(int64_t value, ParseConstant("the value of a dim"));
    if (const auto given = overrides_->find(name); given != overrides_->end()) {
      if (!plain) {
        return ErrorAt(
            program_.source, location,
            "the dim `{}` is computed from others and cannot be given; give those instead", name);
      }
      value = given->second;
    }
    if (value < 0 || value > kMaxExtent) {
      return ErrorAt(program_.source, value_location, "the dim `{}` is {}; dims are from 0 to 2^40",
                     name, value);
    }
    dims_[name] = value;
    return Ok();
  }

  // After a number: does the dim line end here, rather than go on with an operator?
  bool PlainNumberFollows() const { return Peek(1).kind != TokenKind::kSymbol; }

  Status TensorDeclaration(Role role) {
    const Token name = Take();
    if (name.kind != TokenKind::kName) {
      return ErrorAt(
          program_.source, name.location,
          "expected the name of a tensor, a capital and then small letters, but found {}",
          Quote(name));
    }
    TW_CHECK(Expect(":", "after the name of the tensor"));
    Tensor tensor;
    tensor.name = name.text;
    tensor.role = role;
    tensor.location = name.location;
    const Token type = Take();
    const std::optional<DType> dtype =
        type.kind == TokenKind::kIdentifier ? ParseDType(type.text) : std::nullopt;
    if (!dtype || ShortName(*dtype) != type.text) {
      return ErrorAt(
          program_.source, type.location,
          "expected a type but found {}; types are f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 "
          "u32 u64 bool",
          Quote(type));
    }
    tensor.dtype = *dtype;
    if (Accept(",")) {
      const Token letter = Take();
      const std::size_t scope = letter.text.size() == 1 ? std::string_view("gsl").find(letter.text)
                                                        : std::string_view::npos;
      if (scope == std::string_view::npos) {
        return ErrorAt(program_.source, letter.location,
                       "expected a scope, g (global), s (shared) or l (local), but found {}",
                       Quote(letter));
      }
      tensor.scope = static_cast<Scope>(scope);
    }
    TW_CHECK(Expect("[", "before the shape; a scalar has the shape []"));
    while (!At("]")) {
      const Location location = Peek().location;
      TW_TRY(const int64_t extent, ParseConstant("an extent"));
      if (extent < 1) {
        return ErrorAt(program_.source, location, "{} has an extent of {}; extents are 1 or more",
                       name.text, extent);
      }
      tensor.shape.push_back(extent);
      if (!Accept(",")) break;
    }
    TW_CHECK(Expect("]", "after the shape"));
    if (program_.Find(tensor.name) != nullptr) {
      return ErrorAt(program_.source, name.location,
                     "the tensor {} is already declared; remove one or rename it", name.text);
    }
    program_.tensors.push_back(tensor);
    scope_known_.insert(tensor.name);
    return Declare(tensor);
  }

  // Records a stated shape, and checks it.
  Status Declare(const Tensor& tensor) {
    int64_t elements = 1;
    for (int64_t extent : tensor.shape) {
      if (extent < 1 || __builtin_mul_overflow(elements, extent, &elements) ||
          elements > kMaxElements) {
        return ErrorAt(program_.source, tensor.location,
                       "{} has an extent below 1 or more than 2^40 elements", tensor.name);
      }
    }
    if (!declared_.insert(tensor.name).second) {
      return ErrorAt(program_.source, tensor.location, "the argument {} is given twice",
                     tensor.name);
    }
    return Ok();
  }

  // A loop rather than a tensor: kind `^{` extent `}`, where a superscript has a comma.
  bool AtLoop() const {
    if (Peek().kind != TokenKind::kName || !At("^", 1) || !At("{", 2)) return false;
    for (int i = 3, depth = 1; depth > 0; ++i) {
      if (Peek(i).kind == TokenKind::kEnd) break;
      if (At("{", i)) ++depth;
      if (At("}", i)) --depth;
      if (depth == 1 && At(",", i)) return false;
    }
    return true;
  }

  Result<Loop> ParseLoop() {
    const Token kind = Take();
    const std::size_t letter = std::string_view("LPVUB").find(kind.text);
    if (kind.text.size() != 1 || letter == std::string_view::npos) {
      return ErrorAt(
          program_.source, kind.location,
          "`{}` is not a kind of loop; kinds are L (serial), P (parallel), V (vectorised), "
          "U (unrolled), B (bound)",
          kind.text);
    }
    Loop loop;
    loop.kind = static_cast<LoopKind>(letter);
    loop.location = kind.location;
    TW_CHECK(Expect("^", "after the kind of the loop"));
    TW_CHECK(Expect("{", "before the extent of the loop"));
    const Location extent_location = Peek().location;
    TW_TRY(loop.extent, ParseConstant("the extent of a loop"));
    if (loop.extent < 1 || loop.extent > kMaxExtent) {
      return ErrorAt(program_.source, extent_location,
                     "the extent of a loop is {}; it must be from 1 to 2^40", loop.extent);
    }
    TW_CHECK(Expect("}", "after the extent of the loop"));
    TW_CHECK(Expect("_", "before the index of the loop"));
    TW_CHECK(Expect("{", "before the index of the loop"));
    const Location index_location = Peek().location;
    TW_TRY(loop.index, NewWord("a loop index"));
    if (dims_.contains(loop.index)) {
      return ErrorAt(program_.source, index_location,
                     "the loop index `{}` has the name of a dim; rename the loop", loop.index);
    }
    if (std::find(loops_.begin(), loops_.end(), loop.index) != loops_.end()) {
      return ErrorAt(program_.source, index_location,
                     "a loop around this one already has the index `{}`; rename one", loop.index);
    }
    TW_CHECK(Expect("=", "after the index of the loop"));
    if (!Peek().is_integer || Peek().integer != 0) {
      return ErrorHere("loops start at 0, not at {}; shift the index where it is used",
                       Quote(Peek()));
    }
    Take();
    TW_CHECK(Expect("}", "after the start of the loop"));
    return loop;
  }

  Result<Nest> ParseNest() {
    if (++depth_ > kMaxNests) {
      return ErrorHere("more than {} nests inside each other; use fewer", kMaxNests);
    }
    Nest nest;
    nest.location = Peek().location;
    if (!AtLoop()) {
      return ErrorHere("expected a loop such as L^{{8}}_{{a=0}} but found {}", Quote(Peek()));
    }
    const std::size_t outer = loops_.size();
    while (AtLoop()) {
      if (loops_.size() >= kMaxNests) {
        return ErrorHere("more than {} loops around one statement; use fewer", kMaxNests);
      }
      TW_TRY(Loop loop, ParseLoop());
      loops_.push_back(loop.index);
      nest.loops.push_back(std::move(loop));
    }
    TW_CHECK(Expect("[", "to begin the body of the loops"));
    do {
      TW_TRY(Item item, ParseItem());
      nest.body.push_back(std::move(item));
    } while (!At("]") && Peek().kind != TokenKind::kEnd);
    TW_CHECK(Expect("]", "to end the body of the loops"));
    if (AtLoop()) {
      if (!lenient_) {
        return ErrorHere(
            "expected `;` after `]` but a loop follows; put that nest inside the "
            "brackets: L1[s;L2[t;];];");
      }
      TW_TRY(Nest rest, ParseNest());  // ends with the `;` of the whole
      nest.body.emplace_back(std::make_shared<const Nest>(std::move(rest)));
    } else {
      TW_CHECK(Expect(";", "after the `]` of a nest"));
    }
    loops_.resize(outer);
    --depth_;
    return nest;
  }

  Result<Item> ParseItem() {
    if (Peek().kind != TokenKind::kName) {
      return ErrorHere("expected a statement such as C_{{a}} = A_{{a}}; or a loop but found {}",
                       Quote(Peek()));
    }
    if (AtLoop()) {
      TW_TRY(Nest nest, ParseNest());
      return Item(std::make_shared<const Nest>(std::move(nest)));
    }
    Statement statement;
    statement.location = Peek().location;
    int depth = 0;
    TW_CHECK(ParseReference(&statement.target, &statement.indices, &depth));
    TW_CHECK(Expect("=", "after the target of the statement"));
    TW_TRY(Parsed value, ParseValue("the value of a statement"));
    statement.value = std::move(value.expr);
    TW_CHECK(Expect(";", "after the statement"));
    return Item(std::move(statement));
  }

  static constexpr int kMaxNests = 64;
  const bool lenient_;
  const std::map<std::string, int64_t>* overrides_ = nullptr;
  int depth_ = 0;
};

}  // namespace

Result<Program> ParseFile(std::string_view text, const std::string& filename,
                          const ParseOptions& options) {
  TW_TRY(std::vector<Token> tokens, Scan(text, filename));
  return Parser(std::move(tokens), filename, /*published=*/false, options.lenient)
      .File(options.dims);
}

Result<Program> ParsePublished(std::string_view text, const SideInformation& side,
                               const std::string& name, bool lenient) {
  TW_TRY(std::vector<Token> tokens, Scan(text, name));
  return Parser(std::move(tokens), name, /*published=*/true, lenient).Published(side.arguments);
}

}  // namespace tw::leir
