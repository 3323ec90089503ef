#include <kube/base/context.h>
#include <kube/base/log.h>

int main() {
  const kube::Context ctx = kube::Context::Background().WithTimeout(std::chrono::milliseconds(1));
  kube::Logger("consumer").Info("Waiting for the deadline");
  return kube::IsDeadlineExceeded(ctx.SleepFor(std::chrono::hours(1)).error()) ? 0 : 1;
}
