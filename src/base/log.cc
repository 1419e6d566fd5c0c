#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>

namespace tw {

void SetLogLevel(bool quiet, int verbose) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool plain = no_color != nullptr && *no_color != '\0';
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
      plain ? spdlog::color_mode::never : spdlog::color_mode::automatic);
  auto logger = std::make_shared<spdlog::logger>("tensorwright", sink);
  logger->set_pattern("tensorwright: %^%l%$: %v");
  logger->set_level(quiet          ? spdlog::level::err
                    : verbose >= 2 ? spdlog::level::debug
                    : verbose == 1 ? spdlog::level::info
                                   : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace tw
