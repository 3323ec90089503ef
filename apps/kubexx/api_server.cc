// kubexx apiserver: runs the embedded API server as a program.
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <ostream>

#include "base/secret_file.h"
#include "command.h"
#include "kube/apiserver/api_server.h"
#include "kube/base/context.h"

namespace kube::app {
namespace {

using apiserver::ApiServer;
using apiserver::ApiServerOptions;

// Pods that answer without running, to try clients of logs, exec, attach and port-forward.
apiserver::PodHandlers EchoPods() {
  apiserver::PodHandlers pods;
  pods.log = [](const Context& ctx, const apiserver::PodLogRequest& request,
                const std::function<bool(std::string_view)>& write) -> Result<void> {
    for (int line = 1; line <= 3; ++line) {
      if (!write("line " + std::to_string(line) + " of " + request.pod + "/" + request.container + "\n")) return {};
    }
    if (request.follow) ctx.WaitUntilStopped();
    return {};
  };
  auto command = [](const Context&, const apiserver::PodExecRequest& request, apiserver::PodStreams& io) -> Result<int> {
    const std::vector<std::string>& args = request.command;
    if (args.empty() || args[0] == "cat") {
      for (;;) {
        Result<std::string> text = io.ReadStdin();
        if (!text || text->empty()) return 0;
        if (auto ok = io.WriteStdout(*text); !ok) return ok.error();
      }
    }
    if (args[0] == "echo") {
      std::string line;
      for (std::size_t i = 1; i < args.size(); ++i) line += (i == 1 ? "" : " ") + args[i];
      if (auto ok = io.WriteStdout(line + "\n"); !ok) return ok.error();
      return 0;
    }
    if (args[0] == "exit") {
      int code = 0;
      if (args.size() > 1) std::from_chars(args[1].data(), args[1].data() + args[1].size(), code);
      return code;
    }
    if (auto ok = io.WriteStderr(args[0] + ": not found (these pods know echo, cat and exit)\n"); !ok) return ok.error();
    return 127;
  };
  pods.exec = command;
  pods.attach = command;
  pods.port_forward = [](const Context&, const std::string&, const std::string&, int, apiserver::PodConnection& io) -> Result<void> {
    for (;;) {
      Result<std::string> bytes = io.Read();
      if (!bytes || bytes->empty()) return {};
      if (auto ok = io.Write(*bytes); !ok) return ok;
    }
  };
  return pods;
}

Result<std::string> ReadFile(const std::string& path) {
  auto fail = [] { return Error(ErrorKind::kConfig, errno != 0 ? std::strerror(errno) : "cannot be read"); };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail();
  // Opening a directory succeeds, and its first read throws inside the iterator; peek() only sets a bit.
  file.peek();
  if (file.bad()) return fail();
  file.clear();
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class ApiServerCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "apiserver",
            .arguments = "[FILE]...",
            .summary = "Runs the embedded API server until Ctrl-C",
            .description =
                "An API server in memory, on 127.0.0.1, ready in milliseconds: for tests, demos and trying things out.\n"
                "It keeps no objects, every authenticated user may do everything, and pods do not run.\n"
                "The objects of the manifests FILE are created first, in their order. One line says when it is ready;\n"
                "Ctrl-C and SIGTERM stop it.\n"
                "For a real control plane see `kubexx control-plane`.",
            .examples =
                "  kubexx apiserver --kubeconfig-out dev.kubeconfig examples/manifests/namespace.yaml examples/manifests/web.yaml\n"
                "  KUBECONFIG=dev.kubeconfig kubectl get deployments -n shop"};
  }
  void AddFlags(FlagSet& flags) override {
    flags.Add("kubeconfig-out", &kubeconfig_out_, "file to write the administrator's kubeconfig to").Value("FILE");
    flags
        .Add("data-dir", &options_.data_dir,
             "keep port, certificates and token here, so that the next start has the same\nkubeconfig; objects are not kept")
        .Value("DIR");
    flags.Add("port", &options_.port, "port to listen on (default: that of the data folder, or a free one)").Range(0, 65535);
    flags.Add("http", &options_.http, "plain HTTP without certificates; every user of this machine is administrator");
    flags.Add("tls-min-version", &options_.tls.min_version, "VersionTLS12 or VersionTLS13")
        .Value("VERSION")
        .Check([](const std::string& version) { return serve::CheckTlsVersion(version); });
    flags
        .Add("tls-cipher-suites", &options_.tls.cipher_suites, &serve::ParseCipherSuites,
             "comma-separated, by Kubernetes' names (default: the secure ones)")
        .Value("NAMES");
    flags.Add("load", &load_, "a manifest, like FILE; may be repeated").Value("FILE").Whole();
    flags.Add("all-versions", &options_.all_versions, "serve alpha and beta versions too");
    flags.Add("no-lifecycle", &no_lifecycle_, "no garbage collection and no namespace deletion, as without a controller manager");
    flags.Add("echo-pods", &echo_pods_, "answer logs, exec, attach and port-forward with an echo");
  }

  ExitCode Run(const std::vector<std::string>& args, Streams& io) override {
    const Context ctx = SignalContext();
    auto fail = [&io](const Error& error) {
      io.err << "kubexx apiserver: " << error.ToString() << '\n';
      return ExitCode::kFailure;
    };
    load_.insert(load_.end(), args.begin(), args.end());
    options_.lifecycle = !no_lifecycle_;
    Result<std::unique_ptr<ApiServer>> server = ApiServer::Start(options_);
    if (!server) return fail(server.error());
    for (const std::string& path : load_) {
      Result<std::string> text = ReadFile(path);
      if (!text) return fail(text.error().WithContext(path));
      if (auto ok = (*server)->Load(*text); !ok) return fail(ok.error().WithContext(path));
    }
    if (echo_pods_) (*server)->SetPodHandlers(EchoPods());
    if (!kubeconfig_out_.empty()) {
      if (auto ok = internal::WriteSecretFile(kubeconfig_out_, (*server)->Kubeconfig()); !ok) return fail(ok.error());
    }
    io.out << "kubexx apiserver is ready at " << (*server)->url();
    if (!kubeconfig_out_.empty()) io.out << "; export KUBECONFIG=" << kubeconfig_out_;
    io.out << std::endl;
    ctx.WaitUntilStopped();
    return ExitCode::kOk;
  }

 private:
  std::string kubeconfig_out_;
  std::vector<std::string> load_;
  bool no_lifecycle_ = false;
  bool echo_pods_ = false;
  ApiServerOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeApiServerCommand() { return std::make_unique<ApiServerCommand>(); }

}  // namespace kube::app
