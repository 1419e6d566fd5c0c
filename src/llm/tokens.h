// How many tokens a text may be, without the model's tokenizer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "llm/chat.h"

namespace tw::llm {

// An estimate from above, for byte-level BPE tokenizers (GPT, Llama, Qwen, DeepSeek): a run of
// letters is one token for each 3, or for each 2 beside a digit (ymm0); a digit is one; a run of
// one punctuation mark is one for each 4; blanks are one for each 16, and the one before a word is
// none; a byte outside ASCII is one. docs/llm.md compares it with real tokenizers.
int64_t EstimateTokens(std::string_view text);

// The messages with what a chat template puts around each (8 tokens) and around all (8).
int64_t EstimateTokens(const std::vector<Message>& messages);

}  // namespace tw::llm
