// Takes the part that matters out of what a chat model said. Knows no format of ours: it offers
// candidates, best first, and the caller takes the first that it can read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tw::llm {

struct SplitAnswer {
  std::string reasoning;
  std::string content;
};
// Moves <think> and <thinking> blocks into `reasoning`. A closing tag without an opening one ends
// reasoning that began at the start (templates that put the opening tag into the prompt); an
// opening tag without a closing one makes all after it reasoning. Tags in a content that is JSON
// as a whole are text.
SplitAnswer SplitReasoning(std::string_view text);

struct Block {
  std::string label;  // first word after the fence in small letters, "" when there is none
  std::string text;   // with LF line ends, the last one included
  bool closed = true;
};
// Fenced blocks (``` or ~~~) in order of appearance. One that is not closed ends where the next
// labelled fence begins, or with the text.
std::vector<Block> FencedBlocks(std::string_view text);

// Texts of blocks, best first: those labelled `label`, then those without a label, then the others;
// among equals the last first, because models repeat their input before they answer.
std::vector<std::string> BlockCandidates(std::string_view text, std::string_view label);

// Objects and arrays in `text` as valid JSON, best first: all of it; blocks, as BlockCandidates
// with "json"; then values within the text, last first. Typographic quotes and trailing commas
// are repaired where that makes a value valid; nothing is completed. At most 32, nested at most
// 64 deep.
std::vector<std::string> JsonCandidates(std::string_view text);

}  // namespace tw::llm
