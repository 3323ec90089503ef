#include "src/guestbook_conversion.h"

#include <gtest/gtest.h>
#include <kube/client/wait.h>
#include <kube/meta/conditions.h>
#include <kube/testing/check_conversion.h>
#include <kube/testing/webhooks.h>

#include <set>
#include <string>

#include "api/v1/guestbook_types.h"
#include "api/v2/guestbook_types.h"
#include "src/guestbook_controller.h"
#include "tests/cluster.h"

namespace v1 = webapp::v1;
namespace v2 = webapp::v2;

namespace {

using Keepers = kube::List<kube::String>;

// Random objects of each version, to every other one and back.
TEST(GuestbookConversionTest, LosesNothing) {
  const auto checked = kube::testing::CheckConversion(GuestbookConversion());
  ASSERT_TRUE(checked) << checked.error().ToString();
  EXPECT_EQ(checked->kept, std::set<std::string>{"v2 to v1: spec.keepers"});  // more than one keeper
}

TEST(GuestbookConversionTest, TheKeeperOfV1IsTheFirstOneOfV2) {
  const kube::Converter converter = kube::Converter::Make(GuestbookConversion()).value();
  v2::Guestbook book{.metadata = {.name = "sample"}, .spec = {.title = "Visitors", .keepers = {"ann", "bob"}, .capacity = 7}};
  v1::Guestbook older = converter.Convert<v1::Guestbook>(book).value();
  EXPECT_EQ(older.spec.keeper, "ann");
  EXPECT_EQ(older.spec.capacity, 7);
  EXPECT_EQ(converter.Convert<v2::Guestbook>(older).value().spec.keepers, Keepers({"ann", "bob"}));

  // A keeper that is changed in v1 replaces all keepers of v2.
  older.spec.keeper = "eve";
  EXPECT_EQ(converter.Convert<v2::Guestbook>(older).value().spec.keepers, Keepers({"eve"}));
}

class GuestbookConversionServerTest : public ClusterTest {};

// The API server converts, and the controller, which knows v1 alone, reports the status of a book that was written in v2.
TEST_F(GuestbookConversionServerTest, TheControllerServesBothVersions) {
  const auto webhooks = kube::testing::InstallWebhooks(ctx(), client(), {}, {.conversions = {GuestbookConversion()}}).value();
  Run(SetupGuestbookController);
  const v2::Guestbook book{.metadata = {.name = "sample", .namespace_ = "default"},
                           .spec = {.title = "Visitors", .keepers = {"ann", "bob"}}};
  client().Create(ctx(), book).value();
  const auto is_ready = [](const v2::Guestbook& seen) { return kube::IsStatusConditionTrue(seen.status.conditions, "Ready"); };
  const auto ready = kube::WaitFor<v2::Guestbook>(client().Resource<v2::Guestbook>(), ctx(), kube::KeyOf(book), is_ready);
  ASSERT_TRUE(ready) << ready.error().ToString();
  EXPECT_EQ(ready->status.entries, 0);
  EXPECT_EQ(ready->spec.keepers, Keepers({"ann", "bob"}));
  EXPECT_EQ(client().Get<v1::Guestbook>(ctx(), kube::KeyOf(book)).value().spec.keeper, "ann");
}

}  // namespace
