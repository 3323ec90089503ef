// For tests about the death of their own process: runs one disabled test of this program in a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "base/process.h"

namespace kube::testing::internal {

using kube::internal::Process;

inline constexpr const char* kReportVariable = "KUBEXX_TEST_REPORT";

// In the other process: says what the test that started it wants to know, and waits for the end.
[[noreturn]] inline void ReportAndWait(const std::string& text) {
  const char* path = std::getenv(kReportVariable);
  if (path == nullptr) _exit(0);  // run by hand
  std::ofstream(path) << text << '\n';
  while (true) pause();
}

// `test`: "Suite.DISABLED_Name", which calls ReportAndWait. A fork alone would not do: the other process needs its own timer thread.
inline std::unique_ptr<Process> RunTestInAnotherProcess(const std::string& test, const std::string& report) {
  Result<std::unique_ptr<Process>> process =
      Process::Start({.argv = {"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_filter=" + test},
                      .environment = {std::string(kReportVariable) + "=" + report},
                      .log_file = report + ".log"});
  EXPECT_TRUE(process) << process.error().ToString();
  return process ? std::move(*process) : nullptr;
}

// The report, once it is there.
inline std::string WaitForReport(const std::string& path) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (std::chrono::steady_clock::now() < until) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    if (!text.str().empty() && text.str().back() == '\n') return text.str();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ADD_FAILURE() << "no report in " << path;
  return "";
}

}  // namespace kube::testing::internal
