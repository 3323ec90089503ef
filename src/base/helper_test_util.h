// For tests of the death of their own process: runs a helper program in their place, which the test can kill.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"

namespace kube::internal {

struct Helper {
  std::unique_ptr<Process> process;  // null if it could not be started
  std::string line;                  // its output
};

// Starts a helper that creates the children that must die with it, prints one line and then waits. Returns when that line has arrived.
// argv[0] is its name; it is in the directory of the test binary.
inline Helper StartHelper(std::vector<std::string> argv) {
  Helper helper;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no pipe";
    return helper;
  }
  argv[0] = std::filesystem::read_symlink("/proc/self/exe").replace_filename(argv[0]).string();
  Result<std::unique_ptr<Process>> process = Process::Start({.argv = std::move(argv), .stdout_fd = ends[1], .stderr_fd = STDERR_FILENO});
  close(ends[1]);
  char c = 0;
  while (process && c != '\n' && read(ends[0], &c, 1) == 1) helper.line += c;
  close(ends[0]);
  EXPECT_TRUE(process) << process.error().ToString();
  EXPECT_EQ(c, '\n') << "the helper ended early, having said: " << helper.line;
  if (process) helper.process = *std::move(process);
  return helper;
}

}  // namespace kube::internal
