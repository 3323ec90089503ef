#include "config/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/event_fd.h"

namespace kube::internal {
namespace {

// For one that reads from the terminal: time to put the terminal back in order.
constexpr std::chrono::milliseconds kGrace{50};

Error NoDescriptor() { return Error::Internal("no pipe to a program: " + std::generic_category().message(errno)); }

// Reads what is available. False at the end.
bool Drain(int fd, std::size_t max, std::string& out, bool& too_much) {
  char buffer[8192];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (n == 0) return false;
    if (out.size() + static_cast<std::size_t>(n) > max) {
      too_much = true;
      return false;
    }
    out.append(buffer, static_cast<std::size_t>(n));
  }
}

bool IsProgram(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<std::string> FindProgram(const std::string& command) {
  if (command.empty() || command.find('\0') != std::string::npos) return std::nullopt;
  struct stat info {};
  if (command.find('/') != std::string::npos) return stat(command.c_str(), &info) == 0 ? std::optional(command) : std::nullopt;
  const char* path = getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(folder.size() == rest.size() ? folder.size() : folder.size() + 1);
    if (folder.empty() || folder.front() != '/') continue;
    std::string candidate = std::string(folder) + "/" + command;
    if (IsProgram(candidate)) return candidate;
  }
  return std::nullopt;
}

Result<ProgramEnd> RunProgram(const Context& ctx, const ProgramOptions& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return NoDescriptor();
  const Descriptor output(ends[0]);
  Descriptor input(ends[1]);
  const EventFd event;
  if (!event.valid() || fcntl(output.get(), F_SETFL, O_NONBLOCK) != 0) return NoDescriptor();

  Result<std::unique_ptr<Process>> process = Process::Start({.argv = options.argv,
                                                             .environment = options.environment,
                                                             .stdin_fd = options.stdin_fd,
                                                             .stdout_fd = input.get(),
                                                             .stderr_fd = options.stderr_fd,
                                                             .own_group = !options.foreground,
                                                             .on_exit = [&event] { event.Set(); }});
  input.Close();
  if (!process) return process.error();
  const Context::Registration stop = ctx.OnDone([&event] { event.Set(); });

  ProgramEnd end;
  std::string text;
  bool open = true;
  for (;;) {
    // In this order: what it wrote before its end has arrived when the end is seen.
    const std::optional<ProcessExit> exit = (*process)->exit();
    if (open) open = Drain(output.get(), options.max_output, text, end.too_much);
    if (exit || end.too_much) {
      end.exit = exit.value_or(ProcessExit{});
      end.output = SecretString(std::move(text));
      return end;
    }
    if (const std::optional<Error> stopped = ctx.Err()) {
      if (options.foreground && (*process)->Signal(SIGTERM)) (*process)->Wait(std::chrono::steady_clock::now() + kGrace);
      return *stopped;
    }
    pollfd fds[2] = {{.fd = event.fd(), .events = POLLIN, .revents = 0}, {.fd = open ? output.get() : -1, .events = POLLIN, .revents = 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return NoDescriptor();
    event.Clear();
  }
}

}  // namespace kube::internal
