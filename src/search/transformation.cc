#include "search/transformation.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tw::search {
namespace {

std::string ToText(const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return fmt::format("{}", *number);
  if (const auto* name = std::get_if<std::string>(&value)) return *name;
  std::string text;
  for (int64_t factor : std::get<std::vector<int64_t>>(value)) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", factor);
  }
  return "[" + text + "]";
}

// Recursive descent over NAME(PARAMETER=VALUE, ...).
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Transformation> Read() {
    Transformation t;
    TW_TRY(t.name, Name("a transformation's name"));
    TW_CHECK(Expect('('));
    while (!Peek(')')) {
      if (!t.parameters.empty()) TW_CHECK(Expect(','));
      TW_TRY(std::string name, Name("a parameter's name"));
      TW_CHECK(Expect('='));
      TW_TRY(Value value, ReadValue());
      if (t.Find(name) != nullptr) return Wrong(fmt::format("'{}' is given twice", name));
      t.parameters.emplace_back(std::move(name), std::move(value));
    }
    TW_CHECK(Expect(')'));
    Skip();
    if (at_ != text_.size()) return Wrong("there is text after ')'");
    return t;
  }

 private:
  void Skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool Peek(char c) {
    Skip();
    return at_ < text_.size() && text_[at_] == c;
  }
  Error Wrong(const std::string& what) const {
    return Fail(Code::kUsage, "column {}: {}; write e.g. TileSize(block=C, loop=i, factors=[4,16])",
                at_ + 1, what);
  }
  Status Expect(char c) {
    if (!Peek(c)) return Wrong(fmt::format("expected '{}'", c));
    ++at_;
    return Ok();
  }
  static bool InName(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
           c == '@';
  }
  Result<std::string> Name(const char* what) {
    Skip();
    const std::size_t start = at_;
    while (at_ < text_.size() && InName(text_[at_])) ++at_;
    if (at_ == start) return Wrong(fmt::format("expected {}", what));
    return std::string(text_.substr(start, at_ - start));
  }
  Result<int64_t> Number() {
    Skip();
    int64_t value = 0;
    const char* first = text_.data() + at_;
    const auto [last, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error != std::errc()) return Wrong("expected an integer of at most 64 bits");
    at_ += static_cast<std::size_t>(last - first);
    return value;
  }
  Result<Value> ReadValue() {
    Skip();
    if (Peek('[')) {
      ++at_;
      std::vector<int64_t> factors;
      while (!Peek(']')) {
        if (!factors.empty()) TW_CHECK(Expect(','));
        TW_TRY(int64_t factor, Number());
        factors.push_back(factor);
      }
      ++at_;
      return Value(std::move(factors));
    }
    // A name may begin with a digit (a block "2d"), so a number is what consists of nothing else.
    const std::size_t start = at_;
    TW_TRY(std::string word, Name("a value"));
    int64_t number = 0;
    const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (last != word.data() + word.size()) return Value(std::move(word));
    if (error != std::errc()) {
      at_ = start;
      return Wrong("expected an integer of at most 64 bits");
    }
    return Value(number);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::vector<int64_t> Divisors(int64_t n) {
  std::vector<int64_t> low, high;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d != n / d) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

void Factorize(int64_t product, int parts, int64_t max_last, std::vector<int64_t>& prefix,
               std::vector<std::vector<int64_t>>& all) {
  if (parts == 1) {
    if (max_last > 0 && product > max_last) return;
    all.push_back(prefix);
    all.back().push_back(product);
    return;
  }
  for (int64_t d : Divisors(product)) {
    prefix.push_back(d);
    Factorize(product / d, parts - 1, max_last, prefix, all);
    prefix.pop_back();
  }
}

// Draws factors so that each prime factor lands in each part with the same probability; with a
// limit on the last part what does not fit there moves to the first.
std::vector<int64_t> SampleFactors(const Parameter& p, Random& random) {
  std::vector<int64_t> factors(static_cast<std::size_t>(p.parts), 1);
  int64_t left = p.product;
  for (int64_t prime = 2; left > 1; ++prime) {
    if (prime * prime > left) prime = left;
    while (left % prime == 0) {
      left /= prime;
      std::size_t part = random.Below(factors.size());
      const bool last = part + 1 == factors.size();
      if (last && p.max_last > 0 && factors[part] * prime > p.max_last) part = 0;
      factors[part] *= prime;
    }
  }
  return factors;
}

}  // namespace

const Value* Transformation::Find(std::string_view parameter) const {
  for (const auto& [name, value] : parameters) {
    if (name == parameter) return &value;
  }
  return nullptr;
}

std::string ToString(const Transformation& transformation) {
  std::string text;
  for (const auto& [name, value] : transformation.parameters) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, ToText(value));
  }
  return transformation.name + "(" + text + ")";
}

Result<Transformation> ParseTransformation(std::string_view text) { return Reader(text).Read(); }

Transformation SampleFrom(const Domain& domain, Random& random) {
  Transformation t{domain.name, {}};
  for (const Parameter& p : domain.parameters) {
    switch (p.kind) {
      case Parameter::Kind::kInteger:
        t.parameters.emplace_back(p.name, p.integers[random.Below(p.integers.size())]);
        break;
      case Parameter::Kind::kName:
        t.parameters.emplace_back(p.name, p.names[random.Below(p.names.size())]);
        break;
      case Parameter::Kind::kFactors:
        t.parameters.emplace_back(p.name, SampleFactors(p, random));
        break;
    }
  }
  return t;
}

Status CheckAgainst(const Domain& domain, const Transformation& t) {
  if (t.name != domain.name) return Fail(Code::kUsage, "{} is not {}", t.name, domain.name);
  for (const auto& [name, value] : t.parameters) {
    const bool known = std::any_of(domain.parameters.begin(), domain.parameters.end(),
                                   [&](const Parameter& p) { return p.name == name; });
    if (!known) return Fail(Code::kUsage, "{} has no parameter '{}'", t.name, name);
  }
  for (const Parameter& p : domain.parameters) {
    const Value* value = t.Find(p.name);
    if (value == nullptr) return Fail(Code::kUsage, "{} lacks its parameter '{}'", t.name, p.name);
    if (p.kind == Parameter::Kind::kInteger) {
      const auto* number = std::get_if<int64_t>(value);
      if (number == nullptr ||
          std::find(p.integers.begin(), p.integers.end(), *number) == p.integers.end()) {
        return Fail(Code::kUsage, "{}: {}={} is not one of {}", t.name, p.name, ToText(*value),
                    ToText(p.integers));
      }
    } else if (p.kind == Parameter::Kind::kName) {
      const std::string name = ToText(*value);
      if (std::find(p.names.begin(), p.names.end(), name) == p.names.end()) {
        std::string names;
        for (const std::string& n : p.names) names += (names.empty() ? "" : ", ") + n;
        return Fail(Code::kUsage, "{}: {}={} is not one of {}", t.name, p.name, name, names);
      }
    } else {
      const auto* factors = std::get_if<std::vector<int64_t>>(value);
      int64_t product = 1;
      bool fits = factors != nullptr && static_cast<int>(factors->size()) == p.parts;
      for (std::size_t i = 0; fits && i < factors->size(); ++i) {
        const int64_t f = (*factors)[i];
        fits = f >= 1 && f <= p.product && product <= p.product / f;
        if (fits) product *= f;
      }
      if (!fits || product != p.product) {
        return Fail(Code::kUsage, "{}: {}={} are not {} factors of {}", t.name, p.name,
                    ToText(*value), p.parts, p.product);
      }
      if (p.max_last > 0 && factors->back() > p.max_last) {
        return Fail(Code::kUsage, "{}: the last of {}={} is over its limit of {}", t.name, p.name,
                    ToText(*value), p.max_last);
      }
    }
  }
  return Ok();
}

std::vector<std::vector<int64_t>> Factorizations(int64_t product, int parts, int64_t max_last) {
  std::vector<std::vector<int64_t>> all;
  std::vector<int64_t> prefix;
  if (product >= 1 && parts >= 1) Factorize(product, parts, max_last, prefix, all);
  return all;
}

}  // namespace tw::search
