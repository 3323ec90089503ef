// kubexx control-plane: runs a real Kubernetes control plane until Ctrl-C.
#include <ostream>

#include "base/secret_file.h"
#include "command.h"
#include "kube/base/context.h"
#include "kube/testing/control_plane.h"

namespace kube::app {
namespace {

using testing::ControlPlane;

class ControlPlaneCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "control-plane",
            .summary = "Runs a real Kubernetes control plane on this machine until Ctrl-C",
            .description =
                "Starts etcd and kube-apiserver on free ports of 127.0.0.1, with their own certificates and RBAC enabled.\n"
                "There are no nodes: pods are accepted and never run. The programs come from `make control-plane`\n"
                "or from the folder that KUBEBUILDER_ASSETS names.",
            .examples =
                "  kubexx control-plane --kubeconfig-out admin.kubeconfig\n"
                "  kubexx control-plane --version oldest --controller-manager --data-dir cluster\n"
                "  KUBECONFIG=admin.kubeconfig kubectl get namespaces"};
  }
  void AddFlags(FlagSet& flags) override {
    flags
        .Add("kubeconfig-out", &kubeconfig_out_,
             "file to write the administrator's kubeconfig to\n(default: admin.kubeconfig in the data folder)")
        .Value("FILE");
    flags.Add("version", &options_.version, "newest, oldest or v1.X.Y").Value("V");
    flags.Add("controller-manager", &options_.controller_manager,
              "run kube-controller-manager too: garbage collection,\nnamespace deletion, service accounts, workloads");
    flags.Add("data-dir", &options_.data_dir, "keep the cluster's data here and reuse it\n(default: a temporary folder)").Value("DIR");
  }

  ExitCode Run(const std::vector<std::string>& /*args*/, Streams& io) override {
    const Context ctx = SignalContext();
    options_.progress = [&io](std::string_view line) { io.err << line << std::endl; };
    Result<std::unique_ptr<ControlPlane>> plane = ControlPlane::Start(ctx, options_);
    if (!plane) {
      if (IsCancelled(plane.error())) return ExitCode::kOk;
      io.err << "kubexx control-plane: " << plane.error().ToString() << '\n';
      return ExitCode::kFailure;
    }
    if (kubeconfig_out_.empty() && !(*plane)->existing()) kubeconfig_out_ = (*plane)->directory() + "/admin.kubeconfig";
    if (!kubeconfig_out_.empty()) {
      if (auto r = internal::WriteSecretFile(kubeconfig_out_, (*plane)->AdminKubeconfig()); !r) {
        io.err << "kubexx control-plane: " << r.error().ToString() << '\n';
        return ExitCode::kFailure;
      }
    }
    io.out << "Kubernetes " << (*plane)->version() << " is ready at " << (*plane)->url() << '\n';
    if (!kubeconfig_out_.empty()) io.out << "  export KUBECONFIG=" << kubeconfig_out_ << '\n';
    io.out << "  kubectl get namespaces\n";
    if (!(*plane)->existing()) io.out << "Logs are in " << (*plane)->directory() << "/logs. Ctrl-C stops it.\n";
    io.out.flush();
    return Watch(ctx, **plane, io);
  }

 private:
  // Waits for the signal, or until a part ends unexpectedly.
  static ExitCode Watch(const Context& ctx, const ControlPlane& plane, Streams& io) {
    using Part = ControlPlane::Part;
    std::vector<Part> parts;
    for (Part part : {Part::kEtcd, Part::kApiServer, Part::kControllerManager}) {
      if (plane.running(part)) parts.push_back(part);
    }
    while (ctx.SleepFor(std::chrono::milliseconds(500))) {
      for (Part part : parts) {
        if (plane.running(part)) continue;
        io.err << "kubexx control-plane: " << ToString(part) << " exited unexpectedly\n" << plane.Log(part, 20);
        return ExitCode::kFailure;
      }
    }
    return ExitCode::kOk;
  }

  std::string kubeconfig_out_;
  testing::ControlPlaneOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeControlPlaneCommand() { return std::make_unique<ControlPlaneCommand>(); }

}  // namespace kube::app
