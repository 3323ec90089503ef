// pod_exec: runs a command in a container of a pod and ends with its exit code.
//
//   pod_exec [--kubeconfig FILE] [--namespace NAME] [--container NAME] [--stdin] POD -- COMMAND [ARGUMENT...]
#include <unistd.h>

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/context.h"
#include "kube/client/client.h"
#include "kube/client/exec.h"
#include "kube/config/load.h"

using kube::Result;

namespace {

int Fail(const kube::Error& error) {
  std::cerr << "pod_exec: " << error.ToString() << "\n";
  return 1;
}

int Usage() {
  std::cerr << "usage: pod_exec [flags] POD -- COMMAND [ARGUMENT...]\n"
               "  --container NAME       which one, where the pod has several\n"
               "  --stdin                pass this program's input on\n"
            << kube::ConfigFlags::Help();
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  kube::ConfigFlags flags;
  const Result<std::vector<std::string>> rest = flags.Parse(argc, argv);
  if (!rest) return Fail(rest.error());
  kube::CommandOptions options;
  std::string pod;
  for (std::size_t i = 0; i < rest->size(); ++i) {
    const std::string& argument = (*rest)[i];
    if (argument == "--") {
      options.command.assign(rest->begin() + static_cast<std::ptrdiff_t>(i) + 1, rest->end());
      break;
    }
    if (argument == "--container" && i + 1 < rest->size()) {
      options.container = (*rest)[++i];
    } else if (argument == "--stdin") {
      options.open_stdin = true;
    } else if (pod.empty() && !argument.starts_with("-")) {
      pod = argument;
    } else {
      return Usage();
    }
  }
  if (pod.empty() || options.command.empty()) return Usage();
  options.on_stdout = [](std::string_view bytes) {
    std::cout << bytes << std::flush;
    return Result<void>();
  };
  options.on_stderr = [](std::string_view bytes) {
    std::cerr << bytes << std::flush;
    return Result<void>();
  };

  const Result<kube::ClientConfig> config = flags.Load();
  if (!config) return Fail(config.error());
  const Result<kube::Client> client = kube::Client::FromConfig(*config);
  if (!client) return Fail(client.error());
  const kube::Context ctx = kube::SignalContext();
  const bool has_input = options.open_stdin;
  Result<kube::RemoteCommand> command =
      kube::StartExec(ctx, *client, {kube::String(client->default_namespace()), kube::String(pod)}, std::move(options));
  if (!command) return Fail(command.error());
  if (has_input) {
    char buffer[4096];
    for (ssize_t n = 0; (n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0;) {
      const Result<void> written = command->WriteStdin(ctx, {buffer, static_cast<std::size_t>(n)});
      if (!written) break;  // the command has ended: Wait says how
    }
    (void)command->CloseStdin(ctx);
  }
  const Result<int> code = command->Wait(ctx);
  return code ? *code : Fail(code.error());
}
