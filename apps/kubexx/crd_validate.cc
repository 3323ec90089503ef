// kubexx crd validate: validates custom resources like an API server, without a server.
#include <ostream>

#include "command.h"
#include "crd_files.h"
#include "kube/apiserver/crd_validator.h"
#include "kube/base/printable.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"

namespace kube::app {
namespace {

using apiserver::CrdValidator;
using apiserver::CrdVerdict;

constexpr std::string_view kDescription =
    "Checks the objects in the files OBJECT (- is standard input; YAML or JSON, also several documents and lists) as\n"
    "the API server would when they are created: schema, unknown fields, metadata and list types, with its messages and\n"
    "field paths. CRD is a file, a folder, or - for standard input. Needs no cluster.\n"
    "\n"
    "Unknown fields are warnings, because the server drops them; --strict makes them errors. With --old, objects of the\n"
    "same kind, namespace and name in OLD are what is stored now, and the check is that of an update.\n"
    "CEL rules (x-kubernetes-validations) are not evaluated; the last line says how many. The exit code is 1 if an\n"
    "object is invalid.";

// An object and its location.
struct Input {
  Value value;
  std::string where;
  std::vector<std::string> problems;  // found in its text

  std::string Name() const {
    const std::string ns = value["metadata"]["namespace"].string_value().str();
    return value["kind"].string_value().str() + " " + (ns.empty() ? "" : ns + "/") + value["metadata"]["name"].string_value().str();
  }
};

class CrdValidateCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "crd validate",
            .arguments = "CRD OBJECT...",
            .summary = "Checks custom resources as the API server would, offline",
            .description = kDescription,
            .examples =
                "  kubexx crd validate config/crd config/samples/network.yaml\n"
                "  helm template . | kubexx crd validate --strict crds.yaml -"};
  }
  void AddFlags(FlagSet& flags) override {
    flags.Add("strict", &strict_, "unknown and duplicate fields are errors");
    flags.Add("old", &old_, "the objects as they are stored now").Value("FILE");
    flags.Add("namespace", &namespace_, "the namespace of objects that name none").Letter('n').Value("NAME");
  }
  ExitCode Run(const std::vector<std::string>& args, Streams& io) override {
    auto fail = [&io](const std::string& message) {
      io.err << "kubexx crd validate: " << message << '\n';
      return ExitCode::kFailure;
    };
    Result<std::vector<CrdSource>> crds = LoadCrds(args[0], {}, io);
    if (!crds) return fail(crds.error().ToString());
    for (const CrdSource& source : *crds) {
      Result<CrdValidator> made = CrdValidator::Make(source.crd.value());
      if (!made) return fail(source.where + ": " + made.error().message());
      validators_.push_back(*std::move(made));
    }
    std::vector<Input> before, objects;
    if (!old_.empty()) {
      if (Result<void> read = Read(old_, io, before); !read) return fail(read.error().message());
    }
    for (std::size_t i = 1; i < args.size(); ++i) {
      if (Result<void> read = Read(args[i], io, objects); !read) return fail(read.error().message());
    }
    std::size_t invalid = 0, rules = 0;
    for (const Input& object : objects) {
      const Input* was = nullptr;
      for (const Input& candidate : before) {
        if (candidate.Name() == object.Name()) was = &candidate;
      }
      if (!Check(object, was, rules, io)) ++invalid;
    }
    io.err << objects.size() << (objects.size() == 1 ? " object, " : " objects, ") << invalid << " invalid";
    if (rules != 0) io.err << "; " << rules << (rules == 1 ? " CEL rule was" : " CEL rules were") << " not evaluated";
    io.err << '\n';
    return invalid == 0 ? ExitCode::kOk : ExitCode::kFailure;
  }

 private:
  bool strict_ = false;
  std::string old_;
  std::string namespace_ = "default";
  std::vector<CrdValidator> validators_;

  static void Collect(Input input, std::vector<Input>& out) {
    const Value* items = input.value.Find("items");
    if (items == nullptr || !items->is_list() || !input.value["kind"].string_value().view().ends_with("List")) {
      out.push_back(std::move(input));
      return;
    }
    std::size_t i = 0;
    for (const Value& item : items->list()) Collect({item, input.where + ", item " + std::to_string(++i), {}}, out);
  }

  static Result<void> Read(const std::string& file, Streams& io, std::vector<Input>& out) {
    const std::string name = file == "-" ? "standard input" : file;
    const Result<std::string> text = ReadInput(file, io);
    if (!text) return text.error();
    Result<std::vector<YamlDocument>> documents = ReadYaml(*text);
    if (!documents) return Error::Invalid(name + ": " + documents.error().message());
    if (documents->empty()) return Error::Invalid(name + ": holds no objects");
    for (YamlDocument& document : *documents) {
      Input input{std::move(document.value), name + ":" + std::to_string(document.line), {}};
      for (const std::string& duplicate : document.duplicates) {
        input.problems.push_back("duplicate field " + duplicate.substr(0, duplicate.find(" (")));
      }
      Collect(std::move(input), out);
    }
    return {};
  }

  const CrdValidator* Find(const Value& object) const {
    std::string_view api_version = object["apiVersion"].string_value();
    for (const CrdValidator& validator : validators_) {
      if (validator.kind() == object["kind"].string_value() && api_version.substr(0, api_version.find('/')) == validator.group()) {
        return &validator;
      }
    }
    return nullptr;
  }

  bool Check(const Input& object, const Input* before, std::size_t& rules, Streams& io) const {
    auto say = [&](std::string_view what, const std::string& text) {
      io.out << object.where << ": " << what << ": " << Printable(object.Name()) << ": " << Printable(text) << '\n';
    };
    const CrdValidator* validator = Find(object.value);
    if (validator == nullptr) {
      say("error", "no definition of " + object.value["apiVersion"].string_value().str() + " " + object.value["kind"].string_value().str() +
                       " is given");
      return false;
    }
    const CrdVerdict verdict = validator->Check(object.value, before != nullptr ? &before->value : nullptr, namespace_);
    rules += verdict.unevaluated_rules;
    bool fine = !verdict.error;
    std::vector<std::string> warnings = object.problems;
    warnings.insert(warnings.end(), verdict.warnings.begin(), verdict.warnings.end());
    for (const std::string& warning : warnings) {
      const bool error = strict_ && (warning.starts_with("unknown field") || warning.starts_with("duplicate field"));
      say(error ? "error" : "warning", warning);
      fine = fine && !error;
    }
    if (!verdict.error) return fine;
    if (verdict.error->causes().empty()) say("error", verdict.error->message());
    for (const ErrorCause& cause : verdict.error->causes()) say("error", cause.field + ": " + cause.message);
    return false;
  }
};

}  // namespace

std::unique_ptr<Command> MakeCrdValidateCommand() { return std::make_unique<CrdValidateCommand>(); }

}  // namespace kube::app
