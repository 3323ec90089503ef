#include "print_manifests.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "config/run_program.h"
#include "kube/base/context.h"

namespace kube::app {
namespace {

constexpr std::string_view kFlag = "--print-manifests";
constexpr std::size_t kMostOutput = std::size_t{16} << 20;

}  // namespace

Result<std::string> PrintManifests(const std::string& program, const std::vector<std::string>& arguments,
                                   std::chrono::nanoseconds timeout) {
  const std::optional<std::string> path = internal::FindProgram(program);
  if (!path) return Error(ErrorKind::kConfig, fmt::format("{}: no such program; build it first", program));
  internal::ProgramOptions options{.argv = {*path}, .max_output = kMostOutput};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.argv.emplace_back(kFlag);
  const Context ctx = Context::Background().WithTimeout(timeout);
  const Result<internal::ProgramEnd> ended = internal::RunProgram(ctx, options);
  if (!ended && ctx.stopped()) {
    return Error(ErrorKind::kConfig, fmt::format("{} {} did not exit within {} s; does its main call kube::Main, or ManagerFlags::Run?",
                                                 program, kFlag, std::chrono::duration_cast<std::chrono::seconds>(timeout).count()));
  }
  if (!ended) return Error(ErrorKind::kConfig, fmt::format("{} cannot be run: {}", program, ended.error().message()));
  if (ended->too_much) return Error(ErrorKind::kConfig, fmt::format("{} {} prints more than 16 MiB", program, kFlag));
  if (ended->exit.code != 0 || ended->exit.signal != 0)
    return Error(ErrorKind::kConfig, fmt::format("{} {} failed: {}", program, kFlag, ended->exit.ToString()));
  return ended->output.reveal();
}

}  // namespace kube::app
