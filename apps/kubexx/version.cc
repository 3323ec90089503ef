#include <ostream>

#include "command.h"
#include "kube/api/all.h"
#include "kube/codec/json.h"
#include "kube/version.h"

namespace kube::app {
namespace {

class VersionCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "version", .summary = "Prints the version of kubexx", .examples = "  kubexx version\n  kubexx version -o json"};
  }
  void AddFlags(FlagSet& flags) override { flags.Add("output", &format_, "how to print it").Letter('o').OneOf({"text", "json"}); }
  ExitCode Run(const std::vector<std::string>& /*args*/, Streams& io) override {
    const std::string compiler = __VERSION__;
    const std::size_t kinds = api::AllKinds().size();
    if (format_ == "json") {
      Value v = Value::Object({{"version", KUBE_VERSION_STRING}, {"kinds", static_cast<std::int64_t>(kinds)}, {"compiler", compiler}});
      io.out << ToJson(v, {.indent = 2}) << '\n';
    } else {
      io.out << "kubexx " << KUBE_VERSION_STRING << " (" << kinds << " built-in kinds, compiler " << compiler << ")\n";
    }
    return ExitCode::kOk;
  }

 private:
  std::string format_ = "text";
};

}  // namespace

std::unique_ptr<Command> MakeVersionCommand() { return std::make_unique<VersionCommand>(); }

}  // namespace kube::app
