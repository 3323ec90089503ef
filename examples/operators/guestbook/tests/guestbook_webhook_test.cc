#include "src/guestbook_webhook.h"

#include <kube/testing/webhooks.h>
#include <kube/webhook/try_webhook.h>

#include <string>

#include "api/v1/guestbook_types.h"
#include "api/v2/guestbook_types.h"
#include "src/guestbook_conversion.h"
#include "tests/cluster.h"

using webapp::v1::Guestbook;

namespace {

using Keepers = kube::List<kube::String>;

bool Says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

Guestbook Book(const std::string& name = "sample") {
  return {.metadata = {.name = kube::String(name), .namespace_ = "default"}, .spec = {.title = "Visitors"}};
}

TEST(GuestbookWebhookTest, FillsInTheKeeper) {
  EXPECT_EQ(kube::TryCreate(GuestbookWebhook(), Book()).value().object.spec.keeper, "reception");
  Guestbook kept = Book();
  kept.spec.keeper = "ann";
  EXPECT_EQ(kube::TryCreate(GuestbookWebhook(), kept).value().object.spec.keeper, "ann");
}

TEST(GuestbookWebhookTest, NamesAreLabelValues) {
  EXPECT_EQ(kube::TryCreate(GuestbookWebhook(), Book(std::string(63, 'p'))).value().ToString(), "allowed");
  const std::string refused = kube::TryCreate(GuestbookWebhook(), Book(std::string(64, 'p'))).value().ToString();
  EXPECT_TRUE(Says(refused, "must be no more than 63 characters")) << refused;
}

TEST(GuestbookWebhookTest, EntriesNeedRoom) {
  Guestbook book = Book();
  book.spec.capacity = 10;
  book.status.entries = 2;
  const auto with_capacity = [&](std::int32_t capacity) {
    Guestbook edited = book;
    edited.spec.capacity = capacity;
    return kube::TryUpdate(GuestbookWebhook(), book, edited).value().ToString();
  };
  EXPECT_EQ(with_capacity(2), "allowed");
  EXPECT_TRUE(Says(with_capacity(1), "spec.capacity: Invalid value: 1: the book has 2 entries")) << with_capacity(1);
  book.status.entries = 1;
  EXPECT_EQ(with_capacity(1), "allowed");
}

// Entries are not checked, so a book may have too many. Other fields can still be changed.
TEST(GuestbookWebhookTest, ABookThatIsTooFullCanBeEdited) {
  Guestbook book = Book();
  book.spec.capacity = 1;
  book.status.entries = 2;
  Guestbook edited = book;
  edited.spec.title = "Guests";
  EXPECT_EQ(kube::TryUpdate(GuestbookWebhook(), book, edited).value().ToString(), "allowed");
}

class GuestbookWebhookServerTest : public ClusterTest {};

// The API server calls the webhook, in this process, also for objects of v2: it converts them.
TEST_F(GuestbookWebhookServerTest, GuardsBothVersions) {
  const auto webhooks =
      kube::testing::InstallWebhooks(ctx(), client(), {GuestbookWebhook()}, {.conversions = {GuestbookConversion()}}).value();
  Guestbook book = client().Create(ctx(), Book()).value();
  EXPECT_EQ(book.spec.keeper, "reception");
  const auto long_name = client().Create(ctx(), Book(std::string(64, 'p')));
  ASSERT_FALSE(long_name);
  EXPECT_TRUE(Says(long_name.error().ToString(), "must be no more than 63 characters")) << long_name.error().ToString();

  book.status.entries = 2;
  book = client().UpdateStatus(ctx(), book).value();
  auto newer = client().Get<webapp::v2::Guestbook>(ctx(), kube::KeyOf(book)).value();
  EXPECT_EQ(newer.spec.keepers, Keepers({"reception"}));
  newer.spec.capacity = 1;
  const auto refused = client().Update(ctx(), newer);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(Says(refused.error().ToString(), "the book has 2 entries")) << refused.error().ToString();
  newer.spec.capacity = 2;
  EXPECT_TRUE(client().Update(ctx(), newer));

  webapp::v2::Guestbook nobodys{.metadata = {.name = "nobodys", .namespace_ = "default"}, .spec = {.title = "Visitors"}};
  EXPECT_EQ(client().Create(ctx(), nobodys).value().spec.keepers, Keepers({"reception"}));
}

}  // namespace
