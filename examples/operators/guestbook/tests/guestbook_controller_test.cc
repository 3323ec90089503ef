#include "src/guestbook_controller.h"

#include <kube/api/core/v1.h>
#include <kube/client/wait.h>
#include <kube/control/controller.h>
#include <kube/meta/conditions.h>

#include <string>

#include "api/v1/guestbook_types.h"
#include "tests/cluster.h"

using kube::core::v1::ConfigMap;
using webapp::v1::Guestbook;

namespace {

class GuestbookControllerTest : public ClusterTest {
 protected:
  static Guestbook Book(const char* name) { return {.metadata = {.name = name, .namespace_ = "default"}, .spec = {.title = "Visitors"}}; }

  // An entry of a book.
  void Sign(const char* guest, const char* book) {
    ConfigMap entry{.metadata = {.name = guest, .namespace_ = "default"}, .data = {{"message", "hello"}}};
    entry.metadata.labels["webapp.my.domain/guestbook"] = book;
    client().Create(ctx(), entry).value();
  }

  // Waits until the status says so, for the newest generation.
  void ExpectStatus(const char* name, int entries, const char* ready, const char* reason) {
    const auto says_so = [&](const Guestbook& book) {
      const auto* const condition = kube::FindStatusCondition(book.status.conditions, "Ready");
      return book.status.entries == entries && condition != nullptr && condition->status == ready && condition->reason == reason &&
             condition->observed_generation == book.metadata.generation;
    };
    const auto seen = kube::WaitFor<Guestbook>(client().Resource<Guestbook>(), ctx(), {"default", name}, says_so);
    EXPECT_TRUE(seen) << name << " should have " << entries << " entries and be " << reason << ": " << seen.error().ToString();
  }
};

TEST_F(GuestbookControllerTest, ReportsReady) {
  Run(SetupGuestbookController);
  client().Create(ctx(), Book("sample")).value();
  ExpectStatus("sample", 0, "True", "Open");
}

TEST_F(GuestbookControllerTest, CountsTheEntriesOfEachBook) {
  Run(SetupGuestbookController);
  client().Create(ctx(), Book("sample")).value();
  client().Create(ctx(), Book("other")).value();
  Sign("ann", "sample");
  Sign("bob", "sample");
  Sign("eve", "other");
  ExpectStatus("sample", 2, "True", "Open");
  ExpectStatus("other", 1, "True", "Open");

  // An entry that gets the label of another book is about both.
  auto bob = client().Get<ConfigMap>(ctx(), {"default", "bob"}).value();
  bob.metadata.labels["webapp.my.domain/guestbook"] = "other";
  client().Update(ctx(), bob).value();
  ExpectStatus("sample", 1, "True", "Open");
  ExpectStatus("other", 2, "True", "Open");

  client().Delete<ConfigMap>(ctx(), {"default", "ann"}).value();
  ExpectStatus("sample", 0, "True", "Open");
}

TEST_F(GuestbookControllerTest, AFullBookIsNotReady) {
  Run(SetupGuestbookController);
  Sign("ann", "sample");
  Guestbook book = Book("sample");
  book.spec.capacity = 1;
  book = client().Create(ctx(), book).value();
  ExpectStatus("sample", 1, "False", "Full");

  const auto more_room = kube::Patch::Merge(std::string(R"({"spec":{"capacity":2}})"));
  client().Patch<Guestbook>(ctx(), {"default", "sample"}, more_room).value();
  ExpectStatus("sample", 1, "True", "Open");
}

// A book may be deleted while its key is in the queue: the reconciler does not fail, and does not ask for another run.
TEST_F(GuestbookControllerTest, ADeletedBookIsNoError) {
  Run(SetupGuestbookController);
  const kube::ObjectKey deleted{"default", "deleted"};
  manager().controller("guestbook")->Enqueue(deleted);
  std::string result;
  EXPECT_TRUE(Eventually([&] {
    for (const kube::KeyReport& last : manager().controller("guestbook")->status().recent) {
      if (last.key == deleted) result = last.last_result;
    }
    return !result.empty();
  }));
  EXPECT_EQ(result, "success");
}

}  // namespace
