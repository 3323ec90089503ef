#include <charconv>
#include <fstream>
#include <ostream>

#include "command.h"
#include "generate/generate.h"
#include "print_manifests.h"

namespace kube::app {
namespace {

constexpr std::string_view kDescription =
    "Reads C++ headers whose structs have kubebuilder's markers in their comments and writes\n"
    "\n"
    "  TABLES/<header>.kube.cc              the field tables, to be compiled into the program\n"
    "  MANIFESTS/crd/<group>_<plural>.yaml  a CustomResourceDefinition for each kind, with the conversion of the program\n"
    "  MANIFESTS/rbac/role.yaml             the roles of +kubebuilder:rbac markers and of the program\n"
    "  MANIFESTS/webhook/manifests.yaml     the webhook configurations of markers and of the program\n"
    "  SAMPLES/<group>_<version>_<kind>.yaml  a sample object, written once: existing files are kept\n"
    "  DOCS/<group>_<version>.md            a reference page of the kinds and their fields\n"
    "\n"
    "A kind is a struct with a member `kube::meta::v1::ObjectMeta metadata{};`. The same kind in several headers with\n"
    "different versions becomes one CustomResourceDefinition. Included headers are also read, for the types that they\n"
    "declare, if they are next to the header or below a folder of --include.\n"
    "\n"
    "--program runs a kubexx program with --print-manifests, which needs no cluster, and merges its output with the\n"
    "markers. --sources searches C++ of any kind, and what it includes, for +kubebuilder:rbac and +kubebuilder:webhook markers.\n"
    "\n"
    "If there is any error, nothing is written; each error names file, line and column, and what to write instead. Files\n"
    "whose content stays the same are not touched. With --check nothing is written, and the exit code is 1 if a file is stale.";

constexpr std::string_view kExamples =
    "  kubexx generate --headers api/v1/network_types.h --tables build/gen --manifests config\n"
    "  kubexx generate --headers api --manifests config --samples config/samples --docs docs/api\n"
    "  kubexx generate --headers api --manifests config --check\n"
    "  kubexx generate --headers api --sources src --program build/manager --program-argument=--leader-elect --manifests config\n"
    "  kubexx generate --headers api --manifests config --min-kubernetes 1.26";

class GenerateCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "generate",
            .arguments = "",
            .summary = "Writes field tables, CRDs, roles, samples and reference pages from annotated C++ headers",
            .description = kDescription,
            .examples = kExamples};
  }

  void AddFlags(FlagSet& flags) override {
    flags.Add("headers", &options_.headers, "headers with types, or folders of them; may be repeated").Value("FILE");
    flags.Add("include", &options_.includes, "a folder to search for #include; names of headers are relative to it")
        .Value("DIR")
        .Letter('I');
    flags.Add("tables", &options_.tables, "folder for the field tables").Value("DIR");
    flags.Add("manifests", &options_.manifests, "folder for manifests, which go to its crd/, rbac/ and webhook/").Value("DIR");
    flags.Add("sources", &options_.sources, "C++ to search for markers of roles and webhooks, or folders of it; may be repeated")
        .Value("FILE")
        .Whole();
    flags.Add("program", &program_, "a program that is run with --print-manifests").Value("FILE");
    flags.Add("program-argument", &program_arguments_, "a flag of the program, such as --leader-elect; may be repeated")
        .Value("FLAG")
        .Whole();
    flags.Add("role-name", &options_.role_name, "name of the roles").Value("NAME").Default(options_.role_name);
    flags.Add("crds-only", &options_.crds_only, "write no manifests except CustomResourceDefinitions");
    flags.Add("samples", &options_.samples, "folder for a sample object of each kind and version; existing ones are checked only")
        .Value("DIR");
    flags.Add("docs", &options_.docs, "folder for a reference page of each group and version, in Markdown").Value("DIR");
    flags.Add("all-tables", &options_.all_tables, "write a table file also for a header without structs, as build systems expect");
    flags.Add("depfile", &depfile_, "write the headers that were read as a rule of make, for FILE without its .d").Value("FILE.d");
    flags.Add("check", &check_, "write nothing; fail if a file is stale");
    flags.Add("lenient", &options_.lenient, "unknown markers are warnings");
    flags.Add("min-kubernetes", &min_kubernetes_, "refuse what this release does not have").Value("1.NN");
    flags.Add("allow-dangerous-types", &options_.crd.schema.allow_dangerous_types, "let fields be floating point numbers");
    flags.Add("embedded-object-meta", &options_.crd.schema.embedded_object_meta,
              "ObjectMeta inside of a spec keeps its names, labels and annotations");
    flags.Add("max-description", &max_description_, "bytes of a description, cut at a sentence; 0 leaves them out").Value("N");
    flags.Add("header-file", &header_file_, "text at the top of each manifest, such as a licence").Value("FILE");
    flags.Add("year", &year_, "replacement for the word YEAR in the text of --header-file").Value("YEAR");
  }

  ExitCode Run(const std::vector<std::string>&, Streams& io) override {
    if (options_.headers.empty() && options_.sources.empty() && program_.empty())
      return Usage(io, "--headers is missing: name the headers with the types");
    if (options_.tables.empty() && options_.manifests.empty() && options_.samples.empty() && options_.docs.empty())
      return Usage(io, "no output: pass --tables, --manifests, --samples or --docs");
    if (!depfile_.empty() && !depfile_.ends_with(".d"))
      return Usage(io, "--depfile: expected a name that ends in .d, got \"" + depfile_ + "\"");
    if (!depfile_.empty() && check_) return Usage(io, "--depfile and --check cannot be combined: --check writes nothing");
    if (!ReadVersion()) return Usage(io, "--min-kubernetes: expected 1.NN, got \"" + min_kubernetes_ + "\"");
    if (!program_.empty() && (options_.manifests.empty() || options_.crds_only))
      return Usage(io, "--program is for roles and webhook configurations: pass --manifests, and not --crds-only");
    if (!program_arguments_.empty() && program_.empty()) return Usage(io, "--program-argument without --program");
    if (options_.role_name.empty() || options_.role_name.find_first_of("/%") != std::string::npos)
      return Usage(io, "--role-name: \"" + options_.role_name + "\" is not the name of a role");
    if (max_description_ && *max_description_ < 0) return Usage(io, "--max-description: expected 0 or more bytes");
    if (!year_.empty() && header_file_.empty()) return Usage(io, "--year needs --header-file, whose text it changes");
    if (year_.find_first_of("\r\n") != std::string::npos) return Usage(io, "--year: expected one line");
    options_.crd.schema.max_description = max_description_;
    if (!header_file_.empty() && !ReadHeaderFile()) {
      io.err << "kubexx generate: " << header_file_ << ": cannot be read\n";
      return ExitCode::kFailure;
    }
    if (!program_.empty()) {
      Result<std::string> printed = PrintManifests(program_, program_arguments_);
      if (!printed) {
        io.err << "kubexx generate: --program: " << printed.error().message() << '\n';
        return ExitCode::kFailure;
      }
      options_.program = *std::move(printed);
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
    if (!depfile_.empty()) {
      if (Result<void> written = generate::WriteDepfile(depfile_, output.read); !written) {
        io.err << "kubexx generate: " << written.error().ToString() << '\n';
        return ExitCode::kFailure;
      }
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
    constexpr std::string_view kYear = " YEAR";  // as in controller-gen, which sees no beginnings or ends of words
    while (std::getline(in, line)) {
      for (std::size_t at = line.find(kYear); at != std::string::npos && !year_.empty(); at = line.find(kYear, at + 1 + year_.size()))
        line.replace(at + 1, kYear.size() - 1, year_);
      options_.crd.header += (line.starts_with('#') ? "" : line.empty() ? "#" : "# ") + line + '\n';
    }
    return true;
  }

  generate::GenerateOptions options_;
  std::optional<int> max_description_;
  std::string min_kubernetes_, header_file_, year_, depfile_, program_;
  std::vector<std::string> program_arguments_;
  bool check_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeGenerateCommand() { return std::make_unique<GenerateCommand>(); }

}  // namespace kube::app
