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
#include "kube/client/config_flags.h"
#include "kube/client/exec.h"

using kube::Result;

int main(int argc, char** argv) {
  kube::CommandOptions options;
  std::vector<std::string> arguments;
  kube::ConfigFlags flags("pod_exec");
  flags.Add("container", &options.container, "which one, if the pod has several").Value("NAME");
  flags.Add("stdin", &options.open_stdin, "pass this program's input on");
  flags.Arguments("POD -- COMMAND [ARGUMENT...]", &arguments);
  flags.Interspersed();  // until the "--"
  return flags.Run(argc, argv, [&](const kube::Context& ctx, const kube::Client& client) -> Result<int> {
    options.command.assign(arguments.begin() + 1, arguments.end());
    options.on_stdout = [](std::string_view bytes) {
      std::cout << bytes << std::flush;
      return Result<void>();
    };
    options.on_stderr = [](std::string_view bytes) {
      std::cerr << bytes << std::flush;
      return Result<void>();
    };

    const bool has_input = options.open_stdin;
    const kube::ObjectKey pod{kube::String(client.default_namespace()), kube::String(arguments[0])};
    kube::RemoteCommand command = kube::StartExec(ctx, client, pod, std::move(options)).value();
    if (has_input) {
      char buffer[4096];
      for (ssize_t n = 0; (n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0;) {
        if (!command.WriteStdin(ctx, {buffer, static_cast<std::size_t>(n)})) break;  // the command has ended: Wait returns its exit code
      }
      (void)command.CloseStdin(ctx);
    }
    return command.Wait(ctx);  // the command's exit code is the program's
  });
}
