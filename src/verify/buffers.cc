#include "verify/buffers.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/hash.h"

namespace tw::verify {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::size_t kAlignment = 64;
constexpr unsigned char kGuardByte = 0xC3;
constexpr unsigned char kSentinelByte = 0xA5;

std::size_t RoundUp(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::string Position(int64_t flat, const std::vector<int64_t>& shape) {
  std::string text;
  for (std::size_t d = shape.size(); d-- > 0;) {
    text = fmt::format("{}{}{}", flat % shape[d], text.empty() ? "" : ",", text);
    flat /= shape[d];
  }
  return "[" + text + "]";
}

// Samples a large buffer: a kernel that writes to an input seldom spares all of the sampled lines.
uint64_t Digest(const unsigned char* data, std::size_t bytes) {
  constexpr std::size_t kWhole = std::size_t{1} << 20;
  const auto view = [&](std::size_t at, std::size_t size) {
    return std::string_view(reinterpret_cast<const char*>(data) + at, size);
  };
  if (bytes <= kWhole) return Hash64(view(0, bytes));
  uint64_t hash = Hash64(view(0, 4096));
  const std::size_t stride = bytes / 4096 / kAlignment * kAlignment;
  for (std::size_t at = 4096; at + kAlignment <= bytes; at += stride) {
    hash = Hash64(view(at, kAlignment), hash);
  }
  return Hash64(view(bytes - 4096, 4096), hash);
}

}  // namespace

// guard | data | guard, in one allocation.
struct Buffers::Block {
  struct Free {
    void operator()(unsigned char* p) const { std::free(p); }
  };
  std::unique_ptr<unsigned char, Free> memory;
  std::size_t bytes = 0;
  uint64_t digest = 0;  // of an input

  unsigned char* data() const { return memory.get() + kGuardBytes; }
  std::size_t tail() const { return RoundUp(bytes) - bytes + kGuardBytes; }

  // The first byte of a guard zone that was changed, as an offset to the data; nullopt when none
  // was.
  std::optional<int64_t> Broken() const {
    for (std::size_t i = 0; i < kGuardBytes; ++i) {
      const std::size_t at = kGuardBytes - 1 - i;
      if (memory.get()[at] != kGuardByte) return -static_cast<int64_t>(i) - 1;
    }
    for (std::size_t i = 0; i < tail(); ++i) {
      if (data()[bytes + i] != kGuardByte) return static_cast<int64_t>(bytes + i);
    }
    return std::nullopt;
  }
};

Result<Buffers> Buffers::Allocate(const Reference& reference) {
  Buffers buffers;
  for (std::size_t i = 0; i < reference.arguments.size(); ++i) {
    const tvm_api::Argument& argument = reference.arguments[i];
    int64_t count = 1;
    for (int64_t extent : argument.shape) count *= extent;
    auto block = std::make_shared<Block>();
    block->bytes = static_cast<std::size_t>(count) * SizeOf(argument.dtype);
    const std::size_t total = kGuardBytes + block->bytes + block->tail();
    block->memory.reset(
        static_cast<unsigned char*>(std::aligned_alloc(kAlignment, RoundUp(total))));
    if (!block->memory) {
      return Fail(Code::kEnvironment, "no memory for {} ({} MiB)", argument.name, total >> 20);
    }
    std::memset(block->memory.get(), kGuardByte, kGuardBytes);
    std::memset(block->data() + block->bytes, kGuardByte, block->tail());
    if (!argument.is_output) {
      FillInput(reference.distribution, reference.seed, static_cast<int>(i), argument.dtype, count,
                block->data());
      block->digest = Digest(block->data(), block->bytes);
    }
    buffers.views_.push_back({block->data(), argument.dtype, argument.shape});
    buffers.blocks_.push_back(std::move(block));
    buffers.is_output_.push_back(argument.is_output);
  }
  buffers.FillOutputsWithSentinel();
  return buffers;
}

void Buffers::FillOutputsWithSentinel() {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (!is_output_[i]) continue;
    const Block& block = *blocks_[i];
    // All bits set is a NaN in every float type.
    std::memset(block.data(), IsFloat(views_[i].dtype) ? 0xFF : kSentinelByte, block.bytes);
  }
}

std::optional<std::string> Buffers::Check(const Reference& reference, double* worst) const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::string& name = reference.arguments[i].name;
    if (const auto at = blocks_[i]->Broken()) {
      return fmt::format("wrote outside {}: byte {} relative to its start", name, *at);
    }
    if (!is_output_[i] && Digest(blocks_[i]->data(), blocks_[i]->bytes) != blocks_[i]->digest) {
      return fmt::format("changed its input {}", name);
    }
  }
  for (const ExpectedOutput& output : reference.outputs) {
    const auto at = static_cast<std::size_t>(output.argument);
    const Comparison c = Compare(reference, output, blocks_[at]->data());
    *worst = std::max(*worst, c.worst);
    if (c.worst > 1) {
      const tvm_api::Argument& argument = reference.arguments[at];
      return fmt::format("{}{} is {:.7g}, expected {:.7g} (by the {}; {:.3g} times the tolerance)",
                         argument.name, Position(c.index, argument.shape), c.got, c.expected,
                         reference.oracle, c.worst);
    }
  }
  return std::nullopt;
}

}  // namespace tw::verify
