#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/kubeconfig_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"
#include "kube/config/kubeconfig.h"

namespace kube {
namespace {

using internal::ErrorOf;
using internal::TestFolder;
using ::testing::HasSubstr;

Context Now() { return Context::Background(); }

TEST(Contract11Writing, ChangesGoToTheFileThatTheEntryCameFrom) {
  TestFolder folder;
  const std::string a = folder.Write("a", "current-context: x\nusers: [{name: u, user: {token: a}}]");
  const std::string b = folder.Write("b", "# a comment\nusers: [{name: u, user: {token: b}}, {name: v, user: {token: v, future: 1}}]");
  const std::string c = folder.Write("c", "# untouched\n");
  ASSERT_TRUE(ModifyKubeconfig(Now(), {a, b, c}, [](Kubeconfig& k) {
    EXPECT_EQ(k.users.at("u").token.reveal(), "a");
    k.users.at("v").token = SecretString("changed");
  }));
  EXPECT_EQ(folder.Read("a"), "current-context: x\nusers: [{name: u, user: {token: a}}]") << "nothing of it changed";
  EXPECT_EQ(folder.Read("c"), "# untouched\n");
  const Kubeconfig written = Kubeconfig::Load(b).value();
  EXPECT_EQ(written.users.at("v").token.reveal(), "changed");
  EXPECT_EQ(written.users.at("v").unknown, Value::Object({{"future", 1}}));
  EXPECT_EQ(written.users.at("u").token.reveal(), "b") << "what is hidden by the first file stays";
}

TEST(Contract11Writing, NewEntriesAndCurrentContextGoToTheFirstFileThatExists) {
  TestFolder folder;
  const std::string none = folder.At("none");
  const std::string first = folder.Write("first", "");
  const std::string second = folder.Write("second", "current-context: old");
  ASSERT_TRUE(ModifyKubeconfig(Now(), {none, first, second}, [](Kubeconfig& k) {
    k.clusters["new"].server = "https://new";
    k.current_context = "new";
  }));
  EXPECT_FALSE(folder.Exists("none"));
  EXPECT_EQ(Kubeconfig::Load(first)->clusters.at("new").server, "https://new");
  EXPECT_EQ(Kubeconfig::Load(first)->current_context, "new");
  EXPECT_EQ(folder.Read("second"), "current-context: old");
  EXPECT_EQ(Kubeconfig::LoadMerged({none, first, second})->current_context, "new");
}

TEST(Contract11Writing, NewFileIsTheFirstAndPrivate) {
  TestFolder folder;
  ASSERT_TRUE(ModifyKubeconfig(Now(), {folder.At("sub/dir/a"), folder.At("b")}, [](Kubeconfig& k) { k.current_context = "x"; }));
  EXPECT_EQ(folder.Mode("sub/dir/a"), 0600);
  EXPECT_FALSE(folder.Exists("b"));
  EXPECT_EQ(folder.Read("sub/dir/a"), "apiVersion: v1\nclusters: null\ncontexts: null\ncurrent-context: x\nkind: Config\nusers: null\n");
}

TEST(Contract11Writing, ModeOfAnExistingFileIsKeptAndLinksStayLinks) {
  TestFolder folder;
  const std::string real = folder.Write("real", "current-context: x");
  ASSERT_EQ(chmod(real.c_str(), 0640), 0);
  std::filesystem::create_symlink("real", folder.At("link"));
  ASSERT_TRUE(ModifyKubeconfig(Now(), {folder.At("link")}, [](Kubeconfig& k) { k.current_context = "y"; }));
  EXPECT_EQ(folder.Mode("real"), 0640);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.At("link")));
  EXPECT_EQ(Kubeconfig::Load(real)->current_context, "y");
}

TEST(Contract11Writing, NothingIsWrittenForAnotherUserToRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make files and links of another user";
  TestFolder folder;
  const std::string real = folder.Write("real", "current-context: x");
  const auto change = [&](const char* name) {
    return ErrorOf(ModifyKubeconfig(Now(), {folder.At(name)}, [](Kubeconfig& k) { k.current_context = "y"; }));
  };
  std::filesystem::create_symlink("real", folder.At("link"));
  ASSERT_EQ(lchown(folder.At("link").c_str(), 12345, 12345), 0);
  EXPECT_THAT(change("link"), HasSubstr("symbolic link belongs to another user"));
  ASSERT_EQ(chown(real.c_str(), 12345, 12345), 0);
  EXPECT_THAT(change("real"), HasSubstr("belongs to another user (uid 12345)"));
  EXPECT_EQ(folder.Read("real"), "current-context: x");
}

TEST(Contract11Writing, RemovedEntriesAndAClearedContextLeaveTheirFiles) {
  TestFolder folder;
  const std::string a = folder.Write("a", "users: [{name: u}]\nextensions: [{name: e, extension: 1}]\nfuture: 1");
  const std::string b = folder.Write("b", "current-context: x\nclusters: [{name: c}]\ncontexts: [{name: x}]\npreferences: {colors: true}");
  ASSERT_TRUE(ModifyKubeconfig(Now(), {a, b}, [](Kubeconfig& k) {
    k.users.clear();
    k.clusters.clear();
    k.contexts.clear();
    k.current_context.clear();
    k.extensions.clear();
    k.preferences = Value();
    k.unknown = Value();
  }));
  const std::string empty = Kubeconfig().ToYaml().value();
  EXPECT_EQ(folder.Read("a"), empty);
  EXPECT_EQ(folder.Read("b"), empty);
}

TEST(Contract11Writing, RelativePathsStayAsTheyAre) {
  TestFolder folder;
  const std::string file = folder.Write("config", "users: [{name: u, user: {client-key: key.pem}}]");
  ASSERT_TRUE(ModifyKubeconfig(Now(), {file}, [](Kubeconfig& k) { k.users.at("u").client_certificate = "cert.pem"; }));
  EXPECT_THAT(folder.Read("config"), HasSubstr("client-certificate: cert.pem\n    client-key: key.pem\n"));
}

TEST(Contract11Writing, EntryOfAnotherFileGoesToTheDefaultOne) {
  TestFolder folder;
  const std::string mine = folder.Write("mine", "");
  const std::string other = folder.Write("other", "users: [{name: u, user: {client-key: key.pem}}]");
  const Kubeconfig loaded = Kubeconfig::Load(other).value();
  ASSERT_TRUE(ModifyKubeconfig(Now(), {mine}, [&](Kubeconfig& k) { k.MergeFrom(loaded); }));
  EXPECT_EQ(Kubeconfig::Load(mine)->users.at("u").client_key, folder.At("key.pem"));
}

TEST(Contract11Writing, NoChangeWritesNothing) {
  TestFolder folder;
  const std::string file = folder.Write("config", "# mine\ncurrent-context: x\n");
  ASSERT_TRUE(ModifyKubeconfig(Now(), {file, folder.At("none")}, [](Kubeconfig& k) { k.current_context = "x"; }));
  EXPECT_EQ(folder.Read("config"), "# mine\ncurrent-context: x\n");
  EXPECT_FALSE(folder.Exists("none"));
}

TEST(Contract11Locking, FilesAreLockedMeanwhileAndFreeAfterwards) {
  TestFolder folder;
  const std::string b = folder.Write("b", "");
  ASSERT_TRUE(ModifyKubeconfig(Now(), {b, folder.At("a"), b, ""}, [&](Kubeconfig& k) {
    EXPECT_TRUE(folder.Exists("a.lock"));
    EXPECT_TRUE(folder.Exists("b.lock"));
    k.current_context = "x";
  }));
  EXPECT_FALSE(folder.Exists("a.lock"));
  EXPECT_FALSE(folder.Exists("b.lock"));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) left.push_back(entry.path().filename());
  EXPECT_THAT(left, ::testing::ElementsAre("b"));
}

TEST(Contract11Locking, WaitsUntilALockIsGone) {
  TestFolder folder;
  const std::string file = folder.Write("config", "");
  folder.Write("config.lock", "");
  auto clock = std::make_shared<FakeClock>();
  Result<void> done = Error::Internal("not yet");
  Thread worker("modify",
                [&] { done = ModifyKubeconfig(Context::Background(clock), {file}, [](Kubeconfig& k) { k.current_context = "x"; }); });
  ASSERT_TRUE(clock->WaitForWaiters(2));  // its patience, and its sleep until it looks again
  EXPECT_EQ(folder.Read("config"), "");
  std::filesystem::remove(folder.At("config.lock"));
  clock->Advance(std::chrono::seconds(1));
  worker.Join();
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(Kubeconfig::Load(file)->current_context, "x");
}

TEST(Contract11Locking, LockThatStaysIsAnErrorThatSaysWhatToDo) {
  TestFolder folder;
  const std::string file = folder.Write("config", "");
  folder.Write("config.lock", "");
  auto clock = std::make_shared<FakeClock>();
  Result<void> done;
  Thread worker("modify", [&] { done = ModifyKubeconfig(Context::Background(clock), {file}, [](Kubeconfig&) { ADD_FAILURE(); }); });
  ASSERT_TRUE(clock->WaitForWaiters(2));
  clock->Advance(std::chrono::seconds(11));
  worker.Join();
  EXPECT_EQ(ErrorOf(done), file + ".lock: another program has held this lock for more than 10 s; if none is running, remove the file");
  EXPECT_TRUE(folder.Exists("config.lock")) << "it is not ours";
}

TEST(Contract11Locking, StoppedContextEndsTheWait) {
  TestFolder folder;
  const std::string file = folder.Write("config", "");
  folder.Write("config.lock", "");
  auto clock = std::make_shared<FakeClock>();
  auto [ctx, cancel] = Context::Background(clock).WithCancel();
  Result<void> done;
  Thread worker("modify", [&, ctx = ctx] { done = ModifyKubeconfig(ctx, {folder.At("a"), file}, [](Kubeconfig&) { ADD_FAILURE(); }); });
  ASSERT_TRUE(clock->WaitForWaiters(2));
  cancel.Cancel();
  worker.Join();
  ASSERT_FALSE(done);
  EXPECT_TRUE(IsCancelled(done.error()));
  EXPECT_THAT(done.error().ToString(), HasSubstr("wait for " + file + ".lock: "));
  EXPECT_FALSE(folder.Exists("a.lock")) << "what was taken is given back";
}

TEST(Contract11Locking, ManyWritersLoseNothing) {
  TestFolder folder;
  const std::string a = folder.Write("a", "");
  const std::string b = folder.Write("b", "");
  constexpr int kWriters = 4, kTurns = 5;
  std::vector<std::unique_ptr<Thread>> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.push_back(std::make_unique<Thread>("writer", [&, w] {
      for (int turn = 0; turn < kTurns; ++turn) {
        // Half of them name the files in the other order.
        Result<void> done = ModifyKubeconfig(Now(), w % 2 == 0 ? std::vector{a, b} : std::vector{b, a}, [&](Kubeconfig& k) {
          k.clusters[std::to_string(w) + "-" + std::to_string(turn)].server = "https://x";
        });
        EXPECT_TRUE(done) << done.error().ToString();
      }
    }));
  }
  for (auto& writer : writers) writer->Join();
  EXPECT_EQ(Kubeconfig::LoadMerged({a, b})->clusters.size(), static_cast<std::size_t>(kWriters * kTurns));
}

TEST(ModifyKubeconfigTest, ErrorsLeaveFilesAndLocksAsTheyWere) {
  TestFolder folder;
  const std::string bad = folder.Write("bad", "[");
  EXPECT_EQ(ErrorOf(ModifyKubeconfig(Now(), {bad}, [](Kubeconfig&) { ADD_FAILURE(); })),
            bad + ": line 2, column 1: did not find expected node content (while parsing a flow node from line 2, column 1)");
  EXPECT_EQ(ErrorOf(ModifyKubeconfig(Now(), {"", ""}, [](Kubeconfig&) { ADD_FAILURE(); })), "no kubeconfig file to write: name one");
  const std::string good = folder.Write("good", "current-context: x");
  Result<void> threw = ModifyKubeconfig(Now(), {good}, [](Kubeconfig&) { throw std::runtime_error("no"); });
  EXPECT_EQ(ErrorOf(threw), "the change of the kubeconfig threw: no");
  EXPECT_EQ(threw.error().kind(), ErrorKind::kUserCode);
  EXPECT_EQ(ErrorOf(ModifyKubeconfig(Now(), {good}, [](Kubeconfig& k) { k.current_context = "\xff"; })),
            "kubeconfig: current-context: not UTF-8, so it cannot be written");
  EXPECT_EQ(folder.Read("good"), "current-context: x");
  EXPECT_FALSE(folder.Exists("good.lock"));
  EXPECT_FALSE(folder.Exists("bad.lock"));
  const Context stopped = Now().WithTimeout(std::chrono::seconds(-1));
  EXPECT_TRUE(IsDeadlineExceeded(ModifyKubeconfig(stopped, {good}, [](Kubeconfig&) { ADD_FAILURE(); }).error()));
  EXPECT_EQ(ErrorOf(ModifyKubeconfig(Now(), {good + "/sub/x"}, [](Kubeconfig&) { ADD_FAILURE(); })),
            good + "/sub: cannot create this folder: Not a directory");
}

}  // namespace
}  // namespace kube
