#include "llm/answer_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

namespace tw::llm {
namespace {

constexpr std::size_t kMostCandidates = 32;
constexpr std::size_t kDeepest = 64;

std::string_view Trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string UnixLines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i];
  }
  return out;
}

bool IsJsonContainer(std::string_view text) {
  return !text.empty() && (text.front() == '{' || text.front() == '[') &&
         nlohmann::json::accept(text);
}

// Length of the bracketed value that begins `text`; nullopt when it does not end or is too deep.
// `work` counts down the bytes that may still be looked at.
std::optional<std::size_t> ContainerLength(std::string_view text, std::size_t& work) {
  std::string expected;  // closing brackets, innermost last
  bool in_string = false;
  for (std::size_t i = 0; i < text.size() && work > 0; ++i, --work) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (expected.size() == kDeepest) return std::nullopt;
      expected += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (expected.back() != c) return std::nullopt;
      expected.pop_back();
      if (expected.empty()) return i + 1;
    }
  }
  return std::nullopt;
}

std::string PlainQuotes(std::string_view text) {
  constexpr std::array<std::string_view, 4> kQuotes = {"\u201c", "\u201d", "\u201e", "\u201f"};
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto quote = std::find_if(kQuotes.begin(), kQuotes.end(), [&](std::string_view q) {
      return text.substr(i, q.size()) == q;
    });
    if (quote == kQuotes.end()) {
      out += text[i++];
    } else {
      out += '"';
      i += quote->size();
    }
  }
  return out;
}

// Takes out commas outside strings that stand right before a closing bracket.
std::string WithoutTrailingCommas(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (!in_string && (c == '}' || c == ']')) {
      const std::size_t last = out.find_last_not_of(" \t\r\n");
      if (last != std::string::npos && out[last] == ',') out.erase(last, 1);
    }
    out += c;
  }
  return out;
}

// Collects what is new and valid.
class Candidates {
 public:
  // `text` as it is, or repaired. Says whether that is a value.
  bool Add(std::string_view text) {
    text = Trim(text);
    if (text.empty() || (text.front() != '{' && text.front() != '[')) return false;
    std::size_t work = text.size();
    const std::string repaired = IsJsonContainer(text) ? "" : WithoutTrailingCommas(text);
    const std::string_view value = repaired.empty() ? text : std::string_view(repaired);
    if (ContainerLength(value, work) != value.size() || !IsJsonContainer(value)) return false;
    if (values_.size() < kMostCandidates &&
        std::find(values_.begin(), values_.end(), value) == values_.end()) {
      values_.emplace_back(value);
    }
    return true;
  }

  // Values within prose, last first.
  void AddWithin(std::string_view text) {
    // Each bracket may begin a value, so hostile text could cost the square of its length.
    std::size_t work = 16 * text.size() + 4096;
    std::vector<std::string_view> found;
    for (std::size_t i = 0; i < text.size() && work > 0;) {
      if (text[i] != '{' && text[i] != '[') {
        ++i;
        continue;
      }
      const auto length = ContainerLength(text.substr(i), work);
      if (length && Candidates().Add(text.substr(i, *length))) {
        found.push_back(text.substr(i, *length));
        i += *length;
      } else {
        ++i;
      }
    }
    for (auto value = found.rbegin(); value != found.rend(); ++value) Add(*value);
  }

  bool empty() const { return values_.empty(); }
  std::vector<std::string> Take() { return std::move(values_); }

 private:
  std::vector<std::string> values_;
};

// Marks at the start of `line` after at most 3 blanks: 3 or more of ` or ~.
std::string_view FenceOf(std::string_view line) {
  std::size_t begin = 0;
  while (begin < 3 && begin < line.size() && line[begin] == ' ') ++begin;
  line.remove_prefix(begin);
  if (line.empty() || (line[0] != '`' && line[0] != '~')) return {};
  const std::size_t length = std::min(line.find_first_not_of(line[0]), line.size());
  return length >= 3 ? line.substr(0, length) : std::string_view();
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

SplitAnswer SplitReasoning(std::string_view text) {
  SplitAnswer split;
  if (IsJsonContainer(Trim(text))) {
    split.content = std::string(Trim(text));
    return split;
  }
  const auto add_reasoning = [&](std::string_view part) {
    part = Trim(part);
    if (part.empty()) return;
    if (!split.reasoning.empty()) split.reasoning += '\n';
    split.reasoning += part;
  };
  struct Tag {
    std::string_view open, close;
  };
  constexpr std::array<Tag, 2> kTags = {{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}}};
  std::string rest(text);
  for (const Tag& tag : kTags) {
    std::string kept;
    std::string_view left = rest;
    while (true) {
      const std::size_t open = left.find(tag.open);
      const std::size_t close = left.find(tag.close);
      if (close != std::string_view::npos && close < open) {  // no opening tag
        add_reasoning(kept + std::string(left.substr(0, close)));
        kept.clear();
        left.remove_prefix(close + tag.close.size());
      } else if (open != std::string_view::npos) {
        kept += left.substr(0, open);
        left.remove_prefix(open + tag.open.size());
        const std::size_t end = left.find(tag.close);
        add_reasoning(left.substr(0, end));
        left = end == std::string_view::npos ? "" : left.substr(end + tag.close.size());
      } else {
        kept += left;
        break;
      }
    }
    rest = kept;
  }
  split.content = std::string(Trim(rest));
  return split;
}

std::vector<Block> FencedBlocks(std::string_view raw) {
  const std::string text = UnixLines(raw);
  std::vector<Block> blocks;
  std::string fence;  // of the open block, "" outside
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    const std::string_view marks = FenceOf(line);
    const std::string_view info =
        marks.empty() ? marks : Trim(line.substr(marks.data() + marks.size() - line.data()));
    const bool fits =
        !marks.empty() && (fence.empty() || (marks[0] == fence[0] && marks.size() >= fence.size()));
    // Marks within the rest of a line are code in prose, as in ```x```.
    const bool fence_line = fits && info.find('`') == std::string_view::npos;
    if (fence_line && (fence.empty() || !info.empty())) {
      if (!fence.empty()) blocks.back().closed = false;
      fence = std::string(marks);
      blocks.push_back({Lower(info.substr(0, info.find_first_of(" \t{,:"))), "", true});
    } else if (fence_line) {
      fence.clear();
    } else if (!fence.empty()) {
      blocks.back().text.append(line).append("\n");
    }
  }
  if (!fence.empty()) blocks.back().closed = false;
  return blocks;
}

std::vector<std::string> BlockCandidates(std::string_view text, std::string_view label) {
  std::vector<Block> blocks = FencedBlocks(text);
  std::reverse(blocks.begin(), blocks.end());
  const auto rank = [&](const Block& block) {
    return block.label == label ? 0 : block.label.empty() ? 1 : 2;
  };
  std::stable_sort(blocks.begin(), blocks.end(),
                   [&](const Block& a, const Block& b) { return rank(a) < rank(b); });
  std::vector<std::string> texts;
  for (Block& block : blocks) {
    if (!Trim(block.text).empty()) texts.push_back(std::move(block.text));
  }
  return texts;
}

std::vector<std::string> JsonCandidates(std::string_view text) {
  Candidates found;
  if (found.Add(text)) return found.Take();
  const std::vector<std::string> blocks = BlockCandidates(text, "json");
  for (const std::string& block : blocks) {
    if (!found.Add(block)) found.AddWithin(block);
  }
  found.AddWithin(text);
  if (found.empty()) {
    const std::string plain = PlainQuotes(text);
    if (plain != text) return JsonCandidates(plain);
  }
  return found.Take();
}

}  // namespace tw::llm
