#include <charconv>
#include <fstream>
#include <ostream>

#include "command.h"
#include "generate/generate.h"

namespace kube::app {
namespace {

constexpr std::string_view kDescription =
    "Reads C++ headers whose structs have kubebuilder's markers in their comments and writes\n"
    "\n"
    "  TABLES/<header>.kube.cc              the field tables, to be compiled into the program\n"
    "  MANIFESTS/crd/<group>_<plural>.yaml  a CustomResourceDefinition for each kind\n"
    "\n"
    "A kind is a struct with a member `kube::meta::v1::ObjectMeta metadata{};`. The same kind in several headers with\n"
    "different versions becomes one CustomResourceDefinition. Headers that are included are read as well, for the types\n"
    "that they declare, if they lie beside the header or below a folder of --include.\n"
    "\n"
    "Nothing is written if anything is wrong; each error names file, line and column, and what to write instead. Files\n"
    "whose content stays the same are not touched. With --check nothing is written: the exit code is 1 if a file is stale.";

constexpr std::string_view kExamples =
    "  kubexx generate --headers api/v1/network_types.h --tables build/gen --manifests config\n"
    "  kubexx generate --headers api --manifests config --check\n"
    "  kubexx generate --headers api --manifests config --min-kubernetes 1.26";

class GenerateCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "generate",
            .arguments = "",
            .summary = "Writes field tables and CustomResourceDefinitions from annotated C++ headers",
            .description = kDescription,
            .examples = kExamples};
  }

  void AddFlags(FlagSet& flags) override {
    flags.Add("headers", &options_.headers, "headers with types, or folders of them; may be repeated").Value("FILE");
    flags.Add("include", &options_.includes, "a folder that #include searches, and that names of headers are relative to")
        .Value("DIR")
        .Letter('I');
    flags.Add("tables", &options_.tables, "folder for the field tables").Value("DIR");
    flags.Add("manifests", &options_.manifests, "folder for manifests; CustomResourceDefinitions go to its crd/").Value("DIR");
    flags.Add("check", &check_, "write nothing; fail if a file is stale");
    flags.Add("lenient", &options_.lenient, "unknown markers are warnings");
    flags.Add("min-kubernetes", &min_kubernetes_, "refuse what this release does not have").Value("1.NN");
    flags.Add("allow-dangerous-types", &options_.crd.schema.allow_dangerous_types, "let fields be floating point numbers");
    flags.Add("embedded-object-meta", &options_.crd.schema.embedded_object_meta,
              "ObjectMeta inside of a spec keeps its names, labels and annotations");
    flags.Add("max-description", &max_description_, "bytes of a description, cut at a sentence; 0 leaves them out").Value("N");
    flags.Add("header-file", &header_file_, "text at the top of each manifest, such as a licence").Value("FILE");
  }

  ExitCode Run(const std::vector<std::string>&, Streams& io) override {
    if (options_.headers.empty()) return Usage(io, "--headers is missing: which headers have the types?");
    if (options_.tables.empty() && options_.manifests.empty()) return Usage(io, "pass --tables, --manifests or both: where to write to?");
    if (!ReadVersion()) return Usage(io, "--min-kubernetes: expected 1.NN, got \"" + min_kubernetes_ + "\"");
    options_.crd.schema.max_description = max_description_;
    if (!header_file_.empty() && !ReadHeaderFile()) {
      io.err << "kubexx generate: " << header_file_ << ": cannot be read\n";
      return ExitCode::kFailure;
    }
    generate::Problems problems;
    const generate::Output output = generate::Generate(options_, problems);
    io.err << problems.ToString();
    if (problems.has_errors()) {
      io.err << "kubexx generate: " << problems.error_count() << (problems.error_count() == 1 ? " error" : " errors")
             << "; nothing was written\n";
      return ExitCode::kFailure;
    }
    const Result<std::vector<std::string>> changed = check_ ? generate::StaleFiles(output) : generate::WriteOutput(output);
    if (!changed) {
      io.err << "kubexx generate: " << changed.error().ToString() << '\n';
      return ExitCode::kFailure;
    }
    for (const std::string& path : *changed) io.out << (check_ ? "stale: " : "wrote ") << path << '\n';
    if (!check_ || changed->empty()) return ExitCode::kOk;
    io.err << "kubexx generate: run it without --check to bring these files up to date\n";
    return ExitCode::kFailure;
  }

 private:
  static ExitCode Usage(Streams& io, const std::string& message) {
    io.err << "kubexx generate: " << message << "\nTry 'kubexx generate --help'.\n";
    return ExitCode::kUsage;
  }

  bool ReadVersion() {
    if (min_kubernetes_.empty()) return true;
    std::string_view text = min_kubernetes_;
    if (text.starts_with('v')) text.remove_prefix(1);
    if (!text.starts_with("1.")) return false;
    text.remove_prefix(2);
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), options_.crd.min_kubernetes);
    return failed == std::errc() && end == text.data() + text.size() && options_.crd.min_kubernetes > 0;
  }

  // The text as comments of YAML.
  bool ReadHeaderFile() {
    std::ifstream in(header_file_);
    std::string line;
    if (!in) return false;
    while (std::getline(in, line)) options_.crd.header += (line.starts_with('#') ? "" : line.empty() ? "#" : "# ") + line + '\n';
    return true;
  }

  generate::GenerateOptions options_;
  std::optional<int> max_description_;
  std::string min_kubernetes_, header_file_;
  bool check_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeGenerateCommand() { return std::make_unique<GenerateCommand>(); }

}  // namespace kube::app
