// ConfigFlags: kubectl's connection flags for command-line programs, and a main function that handles every error.
//
//   int main(int argc, char** argv) {
//     bool wide = false;
//     kube::ConfigFlags flags("podtop");                                   // --kubeconfig, --context, --namespace ...
//     flags.Add("wide", &wide, "print more columns");                      // the program's own flags, see kube/config/flags.h
//     return flags.Run(argc, argv, [&](const Context& ctx, const Client& client) {
//       const ObjectList<Pod> pods = client.List<Pod>(ctx).value();        // on failure: "podtop: list pods: ...", exit code 1
//       ...
//     });
//   }
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/client/client.h"
#include "kube/config/flags.h"
#include "kube/config/load.h"

namespace kube {

// kubectl's connection flags (--kubeconfig, --context, --namespace ...) together with the program's own.
//
// Thread safety: none.
// Blocking: Parse and NewClient read small files; Run blocks as long as its body does.
class KUBE_EXPORT ConfigFlags : private FlagSet {
 public:
  // The program name is that of argv[0] unless it is given.
  ConfigFlags() = default;
  explicit ConfigFlags(std::string program) : FlagSet(std::move(program)) {}

  // Filled by Parse and Run; values set before serve as defaults.
  LoadOptions options;

  // The program's own flags and arguments; see FlagSet.
  using FlagSet::About;
  using FlagSet::Add;
  using FlagSet::Arguments;
  using FlagSet::Call;
  using FlagSet::Flag;
  using FlagSet::Group;
  using FlagSet::Interspersed;
  using FlagSet::program;
  using FlagSet::SetEnvironment;
  using FlagSet::Usage;
  using FlagSet::Version;

  // Parses the command line, connects and calls `body(const Context&, const Client&)`. The body returns void, Result<void>, or Result<int>
  // to choose the exit code. Returns the exit code: 0 for success, 2 for an invalid command line, 1 for any other error, with a message on
  // standard error. An error that the body throws (Result::value()) counts as returned. Handles --help and --version. SIGINT and SIGTERM
  // stop the context; a body that then returns a cancelled error counts as success.
  template <typename Body>
  int Run(int argc, const char* const* argv, Body body, const Context& ctx = SignalContext()) {
    return RunBody(argc, argv, ctx, [&body](const Context& context, const Client& client) -> Result<int> {
      using Returned = std::invoke_result_t<Body&, const Context&, const Client&>;
      if constexpr (std::is_void_v<Returned>) {
        body(context, client);
        return 0;
      } else if constexpr (std::is_same_v<Returned, Result<void>>) {
        return body(context, client).transform([] { return 0; });
      } else {
        return body(context, client);
      }
    });
  }

  // ---- The single steps of Run ----
  // Parses the command line. Errors: as FlagSet::Parse; `options` is then unchanged.
  Result<void> Parse(int argc, const char* const* argv);
  Result<void> Parse(const std::vector<std::string>& arguments);
  // Loads the configuration that the flags select.
  Result<ClientConfig> Load() const { return LoadConfig(options); }
  // Connects with the configuration that the flags select.
  Result<Client> NewClient(ClientOptions client_options = {}) const;
  // Prints the error and returns the exit code: `if (!parsed) return flags.Fail(parsed.error());`. Prints the help instead if --help was
  // given.
  using FlagSet::Fail;
  // The text of --help.
  std::string Help() const;

  // Adds only the connection flags to another FlagSet.
  static void AddTo(FlagSet& flags, LoadOptions& options);
  // Makes `flags` use the environment of `options`, if it has one.
  static void UseEnvironmentOf(FlagSet& flags, const LoadOptions& options);

 private:
  using Body = std::function<Result<int>(const Context& ctx, const Client& client)>;
  int RunBody(int argc, const char* const* argv, const Context& ctx, const Body& body);
  FlagSet All(LoadOptions& to) const;
};

}  // namespace kube
