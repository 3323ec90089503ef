// kubexx generate types: writes headers of types from foreign definitions.
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>

#include "command.h"
#include "crd_files.h"
#include "generate/go_types.h"
#include "generate/names.h"
#include "generate/openapi_reader.h"
#include "generate/types.h"
#include "kube/client/config_flags.h"
#include "kube/codec/yaml.h"

namespace kube::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDescription =
    "Writes C++ headers with kubebuilder's markers for kinds that exist already:\n"
    "\n"
    "  OUT/<version>/<kind>_types.h     the structs of a kind in one version\n"
    "  OUT/<version>/common_types.h     structs that several of these kinds need\n"
    "\n"
    "With kinds of several groups, the group's name comes before the version. The headers are yours: existing files are not\n"
    "overwritten without --force. `kubexx generate` generates their field tables, and the same definitions.\n"
    "\n"
    "--from-crd takes files, folders of *.yaml, *.yml and *.json, and standard input (-); objects of other kinds in them are\n"
    "skipped. --from-openapi takes OpenAPI documents, version 2 or 3, such as the output of\n"
    "`kubectl get --raw /openapi/v3/apis/GROUP/VERSION`; --kind selects the kinds: Network, or samplecrd.k8s.io/v1/Network if\n"
    "there are several.\n"
    "--from-cluster reads definitions by their names in the cluster: networks.samplecrd.k8s.io.\n"
    "\n"
    "--from-go takes a folder with a Go package, and writes OUT/<group>/<version>/types.h for it and for each package whose\n"
    "structs it uses. Imports are looked up in the module and its vendor folder, then by `go list` if Go is installed; --import\n"
    "names the folder of a package, and of those below it.\n"
    "\n"
    "A schema that equals that of a struct of kubexx uses the struct (kube::meta::v1::Condition). With --builtins subset, part\n"
    "of its fields is enough, so that types of older releases are recognised; the definitions of `kubexx generate` then have\n"
    "all fields. With --builtins never, every struct is written out with its descriptions.\n"
    "\n"
    "Headers of definitions are checked: warnings name each path at which their definition would differ from the original.";

class GenerateTypesCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "generate types",
            .arguments = "",
            .summary = "Writes annotated C++ headers from CRDs, OpenAPI documents, a cluster or Go types",
            .description = kDescription,
            .examples =
                "  kubexx generate types --from-crd networks.yaml --out api\n"
                "  kubexx generate types --from-cluster gateways.gateway.networking.k8s.io --out api\n"
                "  kubectl get --raw /openapi/v3/apis/example.com/v1 > v1.json\n"
                "  kubexx generate types --from-openapi v1.json --kind Network --out api\n"
                "  kubexx generate types --from-go ../operator/api/v1 --from-go ../operator/api/v1beta1 --out api\n"
                "  kubexx generate types --from-go api/v1 --import example.com/shared=../shared --out api"};
  }

  void AddFlags(FlagSet& flags) override {
    flags.Add("from-crd", &crds_, "a file of definitions, a folder of such files, or - for standard input; may be repeated")
        .Value("FILE")
        .Whole();
    flags.Add("from-openapi", &openapi_, "an OpenAPI document, as JSON or YAML; may be repeated").Value("FILE").Whole();
    flags.Add("kind", &kinds_, "a kind of the OpenAPI documents: KIND or GROUP/VERSION/KIND; may be repeated").Value("KIND");
    flags.Add("from-cluster", &names_, "the name of a definition in the cluster; may be repeated").Value("NAME");
    flags.Add("from-go", &go_folders_, "a folder with a Go package that has kubebuilder markers; may be repeated").Value("DIR").Whole();
    flags.Add("import", &imports_, "folder of a package that the Go types import; may be repeated").Value("PATH=DIR").Whole();
    flags.Add("out", &out_, "folder for the headers").Value("DIR").Letter('o');
    flags.Add("cpp-namespace", &options_.name_space, "namespace around that of the version, instead of the first word of the group")
        .Value("NAME");
    flags.Add("builtins", &builtins_, "when to use structs of kubexx: equal, subset or never").Value("WHEN").Default("equal");
    flags.Add("force", &force_, "overwrite existing files");
    flags.Add("check", &check_, "write nothing; fail if a file is missing or has other content");
    ConfigFlags::AddTo(flags, cluster_);
  }

  ExitCode Run(const std::vector<std::string>&, Streams& io) override {
    const bool definitions = !crds_.empty() || !openapi_.empty() || !names_.empty();
    if (!definitions && go_folders_.empty()) return Usage(io, "no input: pass --from-crd, --from-openapi, --from-cluster or --from-go");
    if (definitions && !go_folders_.empty())
      return Usage(io, "--from-go cannot be combined with --from-crd, --from-openapi and --from-cluster");
    if (go_folders_.empty() && !imports_.empty()) return Usage(io, "--import is for --from-go");
    if (!go_folders_.empty() && (!options_.name_space.empty() || builtins_ != "equal"))
      return Usage(io, "--cpp-namespace and --builtins are not for --from-go");
    if (out_.empty()) return Usage(io, "--out is missing: name the folder for the headers");
    if (!openapi_.empty() && kinds_.empty()) return Usage(io, "--from-openapi needs --kind: name its kinds to read");
    if (openapi_.empty() && !kinds_.empty()) return Usage(io, "--kind is for --from-openapi");
    if (std::count(crds_.begin(), crds_.end(), "-") + std::count(openapi_.begin(), openapi_.end(), "-") > 1)
      return Usage(io, "standard input (-) can be read only once");
    if (builtins_ == "subset") {
      options_.builtins = generate::BuiltinUse::kSubset;
    } else if (builtins_ == "never") {
      options_.builtins = generate::BuiltinUse::kNever;
    } else if (builtins_ != "equal") {
      return Usage(io, "--builtins: expected equal, subset or never, got \"" + builtins_ + "\"");
    }
    if (!options_.name_space.empty() && !generate::IsNamespaceName(options_.name_space))
      return Usage(io, "--cpp-namespace: \"" + options_.name_space + "\" is not the name of a namespace");

    if (!go_folders_.empty()) return RunGo(io);

    generate::Problems problems;
    std::vector<generate::CrdInput> inputs;
    for (const std::string& path : crds_) ReadCrdPath(path, io, inputs, problems);
    std::vector<generate::OpenApiInput> documents;
    for (const std::string& path : openapi_) ReadDocuments(path, io, documents, problems);
    if (!problems.has_errors() && !kinds_.empty())
      generate::ReadOpenApi(documents, kinds_, generate::BuiltinTypes::Get(), inputs, problems);
    for (const std::string& name : names_) ReadCluster(name, io, inputs, problems);
    generate::Types types;
    if (!problems.has_errors()) types = generate::MakeTypes(inputs, options_, problems);
    return Finish(types, problems, io);
  }

 private:
  ExitCode RunGo(Streams& io) const {
    generate::GoPackageOptions options;
    for (const std::string& import : imports_) {
      const std::size_t equals = import.find('=');
      if (equals == 0 || equals == std::string::npos || equals + 1 == import.size())
        return Usage(io, "--import: expected PATH=DIR, got \"" + import + "\"");
      options.imports.emplace_back(import.substr(0, equals), import.substr(equals + 1));
    }
    generate::Problems problems;
    const generate::Types types = generate::MakeGoTypes(go_folders_, options, problems);
    return Finish(types, problems, io);
  }

  ExitCode Finish(const generate::Types& types, const generate::Problems& problems, Streams& io) const {
    io.err << problems.ToString();
    if (problems.has_errors()) {
      io.err << "kubexx generate types: " << problems.error_count() << (problems.error_count() == 1 ? " error" : " errors")
             << "; nothing was written\n";
      return ExitCode::kFailure;
    }
    if (types.has_doubles)
      io.err << "kubexx generate types: these types have floating point numbers: pass --allow-dangerous-types to kubexx generate\n";
    return Write(types, io);
  }

  static ExitCode Usage(Streams& io, const std::string& message) {
    io.err << "kubexx generate types: " << message << "\nTry 'kubexx generate types --help'.\n";
    return ExitCode::kUsage;
  }
  static ExitCode Fail(Streams& io, const std::string& message) {
    io.err << "kubexx generate types: " << message << '\n';
    return ExitCode::kFailure;
  }

  static void ReadCrdPath(const std::string& path, Streams& io, std::vector<generate::CrdInput>& out, generate::Problems& problems) {
    std::vector<std::string> files;
    std::error_code failed;
    if (path != "-" && fs::is_directory(path, failed)) {
      for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
        const std::string ending = at->path().extension().string();
        if (ending == ".yaml" || ending == ".yml" || ending == ".json") files.push_back(at->path().string());
      }
      std::sort(files.begin(), files.end());
    } else {
      files.push_back(path);
    }
    const std::size_t before = out.size();
    for (const std::string& file : files) {
      const Result<std::string> text = ReadInput(file, io);
      if (!text) {
        problems.Error({}, text.error().message());
      } else {
        generate::FindCrds(*text, file == "-" ? "standard input" : file, out, problems);
      }
    }
    if (out.size() == before && !problems.has_errors()) problems.Error({}, path + ": holds no CustomResourceDefinition");
  }

  static void ReadDocuments(const std::string& path, Streams& io, std::vector<generate::OpenApiInput>& out, generate::Problems& problems) {
    const std::string name = path == "-" ? "standard input" : path;
    const Result<std::string> text = ReadInput(path, io);
    if (!text) return problems.Error({}, text.error().message());
    Result<std::vector<Value>> documents = ParseYaml(*text);
    if (!documents) return problems.Error({}, name + ": " + documents.error().message());
    for (Value& document : *documents) out.push_back({std::move(document), name});
  }

  void ReadCluster(const std::string& name, Streams& io, std::vector<generate::CrdInput>& out, generate::Problems& problems) const {
    Result<std::vector<CrdSource>> found = LoadCrds("cluster:" + name, cluster_, io);
    if (!found) return problems.Error({}, "--from-cluster " + name + ": " + found.error().ToString());
    for (const CrdSource& source : *found) out.push_back({source.crd.value(), "cluster"});
  }

  ExitCode Write(const generate::Types& types, Streams& io) const {
    generate::Output output;
    for (const generate::OutputFile& file : types.files) output.files.push_back({(fs::path(out_) / file.path).string(), file.text});
    const Result<std::vector<std::string>> stale = generate::StaleFiles(output);
    if (!stale) return Fail(io, stale.error().ToString());
    if (check_) {
      for (const std::string& path : *stale) io.out << "differs: " << path << '\n';
      return stale->empty() ? ExitCode::kOk : ExitCode::kFailure;
    }
    std::size_t existing = 0;
    for (const std::string& path : *stale) {
      std::error_code failed;
      if (force_ || !fs::exists(path, failed)) continue;
      ++existing;
      io.err << "kubexx generate types: " << path << " exists and has other content\n";
    }
    if (existing != 0) return Fail(io, "nothing was written; pass --force to overwrite, or another folder with --out");
    const Result<std::vector<std::string>> written = generate::WriteOutput(output);
    if (!written) return Fail(io, written.error().ToString());
    for (const std::string& path : *written) io.out << "wrote " << path << '\n';
    return ExitCode::kOk;
  }

  std::vector<std::string> crds_, openapi_, kinds_, names_, go_folders_, imports_;
  std::string out_, builtins_ = "equal";
  bool force_ = false, check_ = false;
  generate::CrdReaderOptions options_;
  LoadOptions cluster_;
};

}  // namespace

std::unique_ptr<Command> MakeGenerateTypesCommand() { return std::make_unique<GenerateTypesCommand>(); }

}  // namespace kube::app
