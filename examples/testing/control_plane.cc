// A test of a controller's world on a real control plane: start it, use it, break it. The code of docs/testing.md.
#include <kube/base/context.h>
#include <kube/testing/control_plane.h>

#include <chrono>
#include <cstdio>

using kube::Context;
using kube::Error;
using kube::Result;
using kube::testing::ControlPlane;

namespace {

int Fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.ToString().c_str());
  return 1;
}

Result<void> UseIt(const Context& ctx, ControlPlane& plane) {
  // [users]
  std::string admin = plane.AdminKubeconfig();                                          // may do everything
  Result<std::string> jane = plane.UserKubeconfig("jane", {"team-a"});                  // what RBAC allows jane and team-a
  Result<std::string> robot = plane.ServiceAccountKubeconfig(ctx, "default", "robot");  // a token; the account is made
  // [end]
  std::printf("kubeconfigs of %zu bytes\n", admin.size());
  if (!jane) return jane.error();
  if (!robot) return robot.error();
  return {};
}

Result<void> BreakIt(const Context& ctx, ControlPlane& plane) {
  // [faults]
  using Part = ControlPlane::Part;
  if (Result<void> r = plane.Kill(Part::kEtcd); !r) return r;          // kill -9
  if (Result<void> r = plane.Restart(ctx, Part::kEtcd); !r) return r;  // the same address, the same data
  if (Result<void> r = plane.Pause(Part::kApiServer); !r) return r;    // connections stay open and nothing answers
  if (Result<void> r = plane.Resume(Part::kApiServer); !r) return r;
  if (Result<void> r = plane.CompactStorage(ctx); !r) return r;  // old versions are gone: lists and watches get their 410
  return plane.WaitReady(ctx);
  // [end]
}

}  // namespace

int main() {
  // [start]
  Context ctx = Context::Background().WithTimeout(std::chrono::minutes(3));
  if (Result<std::string> programs = kube::testing::FindControlPlaneAssets(); !programs) {
    std::printf("skipped: %s\n", programs.error().message().c_str());
    return 0;
  }
  Result<std::unique_ptr<ControlPlane>> plane = ControlPlane::Start(ctx);
  if (!plane) return Fail(plane.error());  // the message has the end of the logs
  std::printf("Kubernetes %s at %s\n", (*plane)->version().c_str(), (*plane)->url().c_str());
  // [end]
  if (Result<void> r = UseIt(ctx, **plane); !r) return Fail(r.error());
  if (Result<void> r = BreakIt(ctx, **plane); !r) return Fail(r.error());
  return 0;
}
