#include "verify/buffers.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

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

uint64_t Digest(const unsigned char* data, std::size_t bytes) { return XXH3_64bits(data, bytes); }

// The first element of a float output that nothing wrote: all bits set is a NaN that arithmetic
// never makes.
template <typename Bits>
std::optional<int64_t> FirstUnwritten(const unsigned char* data, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, data + at, sizeof(bits));
    if (bits == static_cast<Bits>(-1)) return static_cast<int64_t>(at / sizeof(Bits));
  }
  return std::nullopt;
}

std::optional<int64_t> FirstUnwritten(DType dtype, const unsigned char* data, std::size_t bytes) {
  if (!IsFloat(dtype)) return std::nullopt;
  switch (SizeOf(dtype)) {
    case 2:
      return FirstUnwritten<uint16_t>(data, bytes);
    case 4:
      return FirstUnwritten<uint32_t>(data, bytes);
    default:
      return FirstUnwritten<uint64_t>(data, bytes);
  }
}

// Bytes of a tensor; nullopt when 64 bits are not enough.
std::optional<std::size_t> BytesOf(const tvm_api::Argument& argument) {
  auto bytes = static_cast<int64_t>(SizeOf(argument.dtype));
  for (int64_t extent : argument.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return static_cast<std::size_t>(bytes);
}

// Bytes this machine could ever give. Checked before anything is touched, since Linux promises
// more.
std::size_t PhysicalMemory() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
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
  std::size_t left = PhysicalMemory();
  for (std::size_t i = 0; i < reference.arguments.size(); ++i) {
    const tvm_api::Argument& argument = reference.arguments[i];
    const std::optional<std::size_t> bytes = BytesOf(argument);
    if (!bytes || *bytes > left) {
      return Fail(Code::kEnvironment,
                  "the arguments up to {} need more memory than this machine has ({} MiB); choose "
                  "smaller shapes",
                  argument.name, PhysicalMemory() >> 20);
    }
    left -= *bytes;
    auto block = std::make_shared<Block>();
    block->bytes = *bytes;
    const std::size_t total = kGuardBytes + block->bytes + block->tail();
    block->memory.reset(
        static_cast<unsigned char*>(std::aligned_alloc(kAlignment, RoundUp(total))));
    if (!block->memory) {
      return Fail(Code::kEnvironment,
                  "no memory for {} ({} MiB); choose smaller shapes or free some", argument.name,
                  total >> 20);
    }
    std::memset(block->memory.get(), kGuardByte, kGuardBytes);
    std::memset(block->data() + block->bytes, kGuardByte, block->tail());
    if (!argument.is_output) {
      FillInput(reference.distribution, reference.seed, static_cast<int>(i), argument.dtype,
                static_cast<int64_t>(*bytes / SizeOf(argument.dtype)), block->data());
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

std::optional<std::string> Buffers::Check(std::span<const Reference> references,
                                          double* worst) const {
  if (auto wrong = CheckMemory(references.front())) return wrong;
  for (const Reference& reference : references) {
    if (auto wrong = CheckValues(reference, worst)) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> Buffers::CheckMemory(const Reference& reference) const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::string& name = reference.arguments[i].name;
    if (const auto at = blocks_[i]->Broken()) {
      return fmt::format("wrote outside {}: byte {} relative to its start", name, *at);
    }
    if (!is_output_[i] && Digest(blocks_[i]->data(), blocks_[i]->bytes) != blocks_[i]->digest) {
      return fmt::format("changed its input {}", name);
    }
    // Seen everywhere, also where only some points are compared.
    if (!is_output_[i]) continue;
    if (const auto at = FirstUnwritten(views_[i].dtype, blocks_[i]->data(), blocks_[i]->bytes)) {
      return fmt::format("did not write {}{}", name, Position(*at, views_[i].shape));
    }
  }
  return std::nullopt;
}

std::optional<std::string> Buffers::CheckValues(const Reference& reference, double* worst) const {
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
