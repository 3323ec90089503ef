#include "base/event_fd.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "kube/base/thread.h"

namespace kube::internal {
namespace {

bool IsSet(const EventFd& event) {
  pollfd wait = {event.fd(), POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

TEST(EventFdTest, StaysSetUntilClear) {
  const EventFd event;
  ASSERT_TRUE(event.valid());
  EXPECT_FALSE(IsSet(event));
  event.Set();
  event.Set();
  EXPECT_TRUE(IsSet(event));
  EXPECT_TRUE(IsSet(event)) << "waiting does not clear it";
  event.Clear();
  EXPECT_FALSE(IsSet(event));
  event.Clear();  // does not wait
}

TEST(EventFdTest, WakesAThreadThatWaits) {
  const EventFd event;
  Thread setter("setter", [&event] { event.Set(); });
  pollfd wait = {event.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, -1), 1);
  setter.Join();
}

TEST(EventFdTest, HasNoDescriptorUntilItIsPrepared) {
  EventFd event(EventFd::Later::kLater);
  EXPECT_FALSE(event.valid());
  event.Set();  // does nothing
  ASSERT_TRUE(event.Prepare());
  const int fd = event.fd();
  EXPECT_FALSE(IsSet(event));
  EXPECT_TRUE(event.Prepare());
  EXPECT_EQ(event.fd(), fd);
}

}  // namespace
}  // namespace kube::internal
