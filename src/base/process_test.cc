#include "base/process.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fcntl.h>
#include <stdlib.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/folder_test_util.h"
#include "base/helper_test_util.h"

namespace kube::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::chrono::steady_clock::time_point Soon() { return std::chrono::steady_clock::now() + seconds(20); }

std::string Slurp(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool Exists(pid_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

// Waits until the process has exited, or is a zombie that its parent has not reaped yet.
bool WaitUntilDead(pid_t pid) {
  const auto until = Soon();
  while (std::chrono::steady_clock::now() < until) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(stat, text)) return true;
    const std::size_t end = text.rfind(')');
    if (end != std::string::npos && text.compare(end + 2, 1, "Z") == 0) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

class ProcessTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.At(name); }

  // A file's text, once it is there and ends with a line feed.
  std::string WaitForLine(const std::string& path) {
    const auto until = Soon();
    while (std::chrono::steady_clock::now() < until) {
      std::string text = Slurp(path);
      if (!text.empty() && text.back() == '\n') return text;
      std::this_thread::sleep_for(milliseconds(5));
    }
    ADD_FAILURE() << "nothing in " << path;
    return "";
  }

  const TestFolder folder_;
};

TEST_F(ProcessTest, RunsAProgramAndTellsHowItEnded) {
  auto process =
      Process::Start({.argv = {"/bin/sh", "-c", "echo out; echo err >&2; pwd; exit 7"}, .directory = "/", .log_file = Path("log")});
  ASSERT_TRUE(process) << process.error().ToString();
  auto exit = (*process)->Wait(Soon());
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 7);
  EXPECT_EQ(exit->signal, 0);
  EXPECT_EQ(exit->ToString(), "exit code 7");
  EXPECT_EQ(Slurp(Path("log")), "out\nerr\n/\n");
  EXPECT_FALSE((*process)->running());
  EXPECT_FALSE((*process)->Signal(SIGTERM));
}

TEST_F(ProcessTest, EnvironmentIsAddedAndReplaced) {
  setenv("KUBEXX_TEST_OLD", "old", 1);
  setenv("KUBEXX_TEST_KEPT", "kept", 1);
  auto process = Process::Start({.argv = {"/bin/sh", "-c", "echo $KUBEXX_TEST_OLD $KUBEXX_TEST_KEPT $KUBEXX_TEST_NEW"},
                                 .environment = {"KUBEXX_TEST_OLD=replaced", "KUBEXX_TEST_NEW=new"},
                                 .log_file = Path("log")});
  ASSERT_TRUE(process);
  ASSERT_TRUE((*process)->Wait(Soon()));
  EXPECT_EQ(Slurp(Path("log")), "replaced kept new\n");
  unsetenv("KUBEXX_TEST_OLD");
  unsetenv("KUBEXX_TEST_KEPT");
}

TEST_F(ProcessTest, ProgramThatCannotRunIsAnError) {
  auto missing = Process::Start({.argv = {Path("nothing")}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::kConfig);
  EXPECT_THAT(missing.error().message(), ::testing::HasSubstr("No such file"));
  EXPECT_FALSE(Process::Start({}));
  auto no_folder = Process::Start({.argv = {"/bin/true"}, .directory = Path("nowhere")});
  EXPECT_FALSE(no_folder);
}

TEST_F(ProcessTest, SignalsReachTheWholeGroup) {
  auto process = Process::Start({.argv = {"/bin/sh", "-c", "sleep 1000 & echo $!; wait"}, .log_file = Path("log")});
  ASSERT_TRUE(process);
  const pid_t grandchild = static_cast<pid_t>(std::stol(WaitForLine(Path("log"))));
  EXPECT_TRUE(Exists(grandchild));
  EXPECT_TRUE((*process)->Signal(SIGTERM));
  auto exit = (*process)->Wait(Soon());
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGTERM);
  EXPECT_TRUE(WaitUntilDead(grandchild));
}

TEST_F(ProcessTest, WhatAProgramLeavesBehindIsKilled) {
  auto process = Process::Start({.argv = {"/bin/sh", "-c", "sleep 1000 & echo $!"}, .log_file = Path("log")});
  ASSERT_TRUE(process);
  ASSERT_TRUE((*process)->Wait(Soon()));
  EXPECT_TRUE(WaitUntilDead(static_cast<pid_t>(std::stol(WaitForLine(Path("log"))))));
}

TEST_F(ProcessTest, DestructorKills) {
  auto process = Process::Start({.argv = {"/bin/sh", "-c", "trap '' TERM; echo ready; sleep 1000"}, .log_file = Path("log")});
  ASSERT_TRUE(process);
  WaitForLine(Path("log"));
  const pid_t pid = (*process)->pid();
  EXPECT_TRUE((*process)->running());
  EXPECT_FALSE((*process)->Wait(std::chrono::steady_clock::now()));
  process->reset();
  EXPECT_FALSE(Exists(pid));
}

TEST_F(ProcessTest, StopsAndGoesOn) {
  // Not a shell: one that is stopped between vfork and exec of its child waits for that child, and is never seen as stopped itself.
  auto process = Process::Start({.argv = {"/bin/sleep", "1000"}});
  ASSERT_TRUE(process);
  const auto state = [&] {
    const std::string text = Slurp("/proc/" + std::to_string((*process)->pid()) + "/stat");
    return text.substr(text.rfind(')') + 2, 1);
  };
  EXPECT_TRUE((*process)->Signal(SIGSTOP));
  const auto until = Soon();
  while (state() != "T" && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(state(), "T");
  EXPECT_TRUE((*process)->running());
  EXPECT_TRUE((*process)->Signal(SIGCONT));
  while (state() == "T" && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_NE(state(), "T");
}

TEST_F(ProcessTest, OutlivesTheThreadThatStartedIt) {
  std::unique_ptr<Process> process;
  std::thread starter([&] {
    auto started = Process::Start({.argv = {"/bin/sh", "-c", "echo ready; sleep 1000"}, .log_file = Path("log")});
    ASSERT_TRUE(started);
    process = std::move(*started);
  });
  starter.join();
  WaitForLine(Path("log"));
  EXPECT_FALSE(process->Wait(std::chrono::steady_clock::now() + milliseconds(50)));
  EXPECT_TRUE(process->running());
}

TEST_F(ProcessTest, OutputGoesToAPipeAndErrorsElsewhere) {
  int in[2], out[2];
  ASSERT_EQ(pipe2(in, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(out, O_CLOEXEC), 0);
  std::atomic<bool> ended = false;
  auto process = Process::Start({.argv = {"/bin/sh", "-c", "read line; echo got $line; echo err >&2; exit 3"},
                                 .log_file = Path("log"),
                                 .stdin_fd = in[0],
                                 .stdout_fd = out[1],
                                 .on_exit = [&] { ended = true; }});
  ASSERT_TRUE(process) << process.error().ToString();
  close(in[0]);
  close(out[1]);
  ASSERT_EQ(write(in[1], "hello\n", 6), 6);
  std::string text;
  char buffer[64];
  for (ssize_t n = 0; (n = read(out[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  EXPECT_EQ(text, "got hello\n");
  auto exit = (*process)->Wait(Soon());
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 3);
  EXPECT_EQ(Slurp(Path("log")), "err\n");
  close(in[1]);
  close(out[0]);
  process->reset();  // joins the thread that calls on_exit
  EXPECT_TRUE(ended);
}

TEST_F(ProcessTest, CanStayInTheGroupOfItsParent) {
  auto process = Process::Start({.argv = {"/bin/sleep", "1000"}, .own_group = false});
  ASSERT_TRUE(process);
  EXPECT_EQ(getpgid((*process)->pid()), getpgrp());
  EXPECT_TRUE((*process)->Signal(SIGTERM));  // and we are still here
  auto exit = (*process)->Wait(Soon());
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGTERM);
}

TEST_F(ProcessTest, DiesWithItsParent) {
  const Helper parent = StartHelper({"process_test_helper"});
  ASSERT_NE(parent.process, nullptr);
  ASSERT_NE(parent.line, "");
  const pid_t grandchild = static_cast<pid_t>(std::stol(parent.line));
  EXPECT_TRUE(Exists(grandchild));
  kill(parent.process->pid(), SIGKILL);
  EXPECT_TRUE(WaitUntilDead(grandchild));
}

}  // namespace
}  // namespace kube::internal
