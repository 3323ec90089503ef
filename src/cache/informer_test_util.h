// Shared by tests of informers: an informer of pods with a scripted server and a fake clock, and handlers that record their calls.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/informer_core.h"
#include "cache/scripted_source_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/cache/informer.h"

namespace kube::internal {

// Records its calls, and the cache contents that they imply. Thread safety: all functions may be called from any thread.
template <ObjectType T = core::v1::Pod>
class Witness {
 public:
  EventHandler<T> Handler() {
    return {.on_add = [this](const Ptr<T>& o, bool initial) { Add(o, initial); },
            .on_update = [this](const Ptr<T>& before, const Ptr<T>& after) { Update(before, after); },
            .on_delete = [this](const Deleted<T>& gone) { Delete(gone); }};
  }
  std::vector<std::string> said() const {
    MutexLock lock(mu_);
    return said_;
  }
  // Keys and versions of the objects that it knows.
  std::map<std::string, std::string> view() const {
    MutexLock lock(mu_);
    return view_;
  }
  bool WaitForCalls(std::size_t n) {
    return WaitBounded(mu_, changed_, [this, n]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return said_.size() >= n; });
  }
  bool WaitFor(const std::string& what) {
    return WaitBounded(mu_, changed_, [this, &what]() KUBE_NO_THREAD_SAFETY_ANALYSIS {
      for (const std::string& line : said_) {
        if (line == what) return true;
      }
      return false;
    });
  }
  bool WaitForEither(const std::string& a, const std::string& b) {
    return WaitBounded(mu_, changed_, [&]() KUBE_NO_THREAD_SAFETY_ANALYSIS {
      for (const std::string& line : said_) {
        if (line == a || line == b) return true;
      }
      return false;
    });
  }
  // Impossible calls: an add of a known object, an update that does not follow the last state.
  std::vector<std::string> contradictions() const {
    MutexLock lock(mu_);
    return contradictions_;
  }

 private:
  static std::string Version(const Ptr<T>& o) { return ObjectForm::Of<T>().ResourceVersion(o.get()).str(); }
  static std::string Key(const Ptr<T>& o) { return ObjectForm::Of<T>().Key(o.get()).ToString(); }
  void Say(std::string text) KUBE_REQUIRES(mu_) {
    said_.push_back(std::move(text));
    changed_.NotifyAll();
  }
  void Add(const Ptr<T>& o, bool initial) {
    MutexLock lock(mu_);
    if (view_.contains(Key(o))) contradictions_.push_back("added twice: " + Key(o));
    view_[Key(o)] = Version(o);
    Say("add " + Key(o) + "@" + Version(o) + (initial ? " initial" : ""));
  }
  void Update(const Ptr<T>& before, const Ptr<T>& after) {
    MutexLock lock(mu_);
    if (view_[Key(before)] != Version(before)) contradictions_.push_back("updated from " + Version(before) + ": " + Key(after));
    view_[Key(after)] = Version(after);
    Say("update " + Key(after) + "@" + Version(before) + "->" + Version(after));
  }
  void Delete(const Deleted<T>& gone) {
    MutexLock lock(mu_);
    if (view_.erase(gone.key.ToString()) == 0) contradictions_.push_back("deleted twice: " + gone.key.ToString());
    Say("delete " + gone.key.ToString() + (gone.object ? "@" + Version(gone.object) : "") + (gone.final_state_unknown ? " unknown" : ""));
  }

  mutable Mutex mu_;
  CondVar changed_;
  std::vector<std::string> said_ KUBE_GUARDED_BY(mu_);
  std::map<std::string, std::string> view_ KUBE_GUARDED_BY(mu_);
  std::vector<std::string> contradictions_ KUBE_GUARDED_BY(mu_);
};

class InformerFixture : public ::testing::Test {
 protected:
  using Pod = core::v1::Pod;

  ~InformerFixture() override { cancel_.Cancel(); }

  SharedInformer<Pod> Make(InformerOptions options = {}) {
    return InformerAccess::Make<Pod>(std::make_shared<InformerHandle>(
        std::make_shared<InformerCore>(source_, ObjectForm::Of<Pod>(), Gvr{"", "v1", "pods"}, std::move(options), nullptr)));
  }
  // The initial list as a stream, and the watch that continues it.
  std::shared_ptr<ScriptedWatch> FirstList(const std::vector<Pod>& pods, const std::string& version) {
    std::shared_ptr<ScriptedWatch> watch = source_->AddWatch();
    SendList(*watch, pods, version);
    return watch;
  }
  static void SendList(ScriptedWatch& watch, const std::vector<Pod>& pods, const std::string& version) {
    for (const Pod& pod : pods) watch.Added(pod);
    watch.Synced(version);
  }
  // Another list after a watch that failed with 410.
  std::shared_ptr<ScriptedWatch> Relist(ScriptedWatch& watch, const std::vector<Pod>& pods, const std::string& version) {
    const std::size_t watches = source_->watches().size();
    std::shared_ptr<ScriptedWatch> next = FirstList(pods, version);
    watch.Fail(Error(Error::Payload{.kind = ErrorKind::kApi, .http_code = 410, .reason = "Expired", .message = "too old"}));
    PassWaits(watch, *next, watches + 1);
    return next;
  }
  // After a failed watch: advances time through the backoff until there have been this many watches, and the last one was read.
  void PassWaits(ScriptedWatch& failed, ScriptedWatch& next, std::size_t watches) {
    ASSERT_TRUE(failed.WaitOver());
    // In small steps, and none once the watch was opened: its own timeout must not expire.
    const Context patience = Soon();
    while (source_->watches().size() < watches && !patience.stopped()) {
      clock_->Advance(std::chrono::seconds(1));
      (void)Context::Background().SleepFor(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(next.WaitDrained());
  }
  static Context Soon() { return Context::Background().WithTimeout(std::chrono::seconds(60)); }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<ScriptedSource> source_ = std::make_shared<ScriptedSource>();
  std::pair<Context, CancelSource> both_ = Context::Background(clock_).WithCancel();
  Context& ctx_ = both_.first;
  CancelSource& cancel_ = both_.second;
};

}  // namespace kube::internal
