#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <map>
#include <ostream>
#include <sstream>

#include "base/secret_file.h"
#include "command.h"
#include "kube/api/all.h"
#include "kube/base/printable.h"
#include "kube/codec/diff.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "object_reader.h"

namespace kube::app {
namespace {

// The YAML reader's limit.
constexpr std::size_t kMostBytes = kMaxYamlBytes;

constexpr std::string_view kDescription =
    "Reads the Kubernetes objects in FILE (- is standard input), checks them against the built-in kinds and writes\n"
    "them in another encoding. The encoding of the input is detected: JSON (also several objects one after the\n"
    "other), YAML (also several documents), or protobuf in the format of API servers and etcd.\n"
    "\n"
    "Fields that the built-in kinds do not know are kept. Objects of other kinds, such as custom resources, pass\n"
    "through as they are; they have no protobuf form. The items of a v1 List are converted as objects of their own kinds.\n"
    "\n"
    "Several objects are written one after the other: as YAML with --- between them, as JSON each on lines of its\n"
    "own. Protobuf holds one object. Nothing is written unless all objects can be read and written. A file that gets\n"
    "a Secret is readable by its owner only, and is not written through a symbolic link.\n"
    "\n"
    "With --diff nothing is converted: the objects in FILE and in OTHER are matched by kind, namespace and name,\n"
    "and their differences are shown. The exit code is 1 if there are any.";

constexpr std::string_view kExamples =
    "  kubexx convert -o json deployment.yaml\n"
    "  kubexx convert --strict -o protobuf --out pod.pb pod.yaml\n"
    "  etcdctl get /registry/pods/default/web --print-value-only | kubexx convert -\n"
    "  kubexx convert --diff new.yaml old.yaml";

class ConvertCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "convert",
            .arguments = "FILE",
            .summary = "Converts Kubernetes objects between YAML, JSON and protobuf, or compares them",
            .description = kDescription,
            .examples = kExamples};
  }

  void AddFlags(FlagSet& flags) override {
    flags.Add("output", &format_, "what to write; pb is protobuf").Letter('o').OneOf({"json", "yaml", "protobuf", "pb"});
    flags.Add("out", &out_file_, "write to FILE instead of standard output").Value("FILE");
    flags.Add("compact", &compact_, "JSON without line feeds and indentation, one object a line").Letter('c');
    flags.Add("strict", &strict_, "refuse unknown and duplicate fields, and list all of them");
    flags.Add("diff", &other_, "show the differences to OTHER instead of converting").Value("OTHER");
    flags.Add("force", &force_, "write protobuf even to a terminal");
  }

  ExitCode Run(const std::vector<std::string>& args, Streams& io) override {
    if (ExitCode code = CheckFlags(args[0], io); code != ExitCode::kOk) return code;
    TypeRegistry registry = TypeRegistry::WithMetaKinds();
    registry.Add(api::AllKinds());
    std::vector<ReadObject> objects;
    std::vector<ReadObject> others;
    bool fine = Load(args[0], registry, io, objects);
    if (!other_.empty()) fine = Load(other_, registry, io, others) && fine;
    if (!fine) return ExitCode::kFailure;
    if (!other_.empty()) return Compare(objects, others, args[0], io);
    Result<std::string> text = Write(objects);
    if (!text) return Fail(io, text.error().ToString());
    return Put(*text, HoldSecrets(objects), io);
  }

 private:
  std::string format_;
  std::string out_file_;
  std::string other_;
  bool compact_ = false;
  bool strict_ = false;
  bool force_ = false;

  static ExitCode Fail(Streams& io, const std::string& message) {
    io.err << "kubexx convert: " << message << '\n';
    return ExitCode::kFailure;
  }

  ExitCode CheckFlags(const std::string& file, Streams& io) {
    std::string wrong;
    if (!other_.empty() && (!format_.empty() || !out_file_.empty()))
      wrong = "--diff compares and writes no objects: leave out --output and --out";
    if (!other_.empty() && other_ == "-" && file == "-") wrong = "only one of FILE and OTHER can be standard input";
    if (format_.empty()) format_ = "yaml";
    if (format_ == "pb") format_ = "protobuf";
    if (compact_ && format_ != "json") wrong = "--compact goes with --output json";
    if (wrong.empty()) return ExitCode::kOk;
    io.err << "kubexx convert: " << wrong << "\nTry 'kubexx convert --help'.\n";
    return ExitCode::kUsage;
  }

  // ---- Reading ----

  static Result<std::string> ReadAll(std::istream& in) {
    std::string bytes;
    std::vector<char> chunk(std::size_t{1} << 16);
    while (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || in.gcount() > 0) {
      bytes.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
      if (bytes.size() > kMostBytes) {
        return Error::Invalid("larger than " + std::to_string(kMostBytes >> 20) + " MiB, the limit of convert");
      }
    }
    if (in.bad()) return Error::Invalid("cannot be read");
    return bytes;
  }

  static Result<std::string> ReadFile(const std::string& file, Streams& io) {
    if (file == "-") return ReadAll(io.in);
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    if (!in) return Error::Invalid(errno != 0 ? std::strerror(errno) : "cannot be opened");
    in.peek();
    if (in.bad()) return Error::Invalid(errno != 0 ? std::strerror(errno) : "cannot be read");
    in.clear();
    return ReadAll(in);
  }

  bool Load(const std::string& file, const TypeRegistry& registry, Streams& io, std::vector<ReadObject>& objects) const {
    std::string name = file == "-" ? "standard input" : file;
    Result<std::string> bytes = ReadFile(file, io);
    if (!bytes) {
      Fail(io, name + ": " + bytes.error().message());
      return false;
    }
    ReadResult read = ReadObjects(name, *bytes, strict_, registry);
    for (const std::string& note : read.notes) io.err << "kubexx convert: note: " << note << '\n';
    for (const std::string& problem : read.problems) Fail(io, problem);
    objects = std::move(read.objects);
    return read.problems.empty();
  }

  // ---- Writing ----

  Result<std::string> Write(const std::vector<ReadObject>& objects) const {
    if (format_ == "protobuf" && objects.size() != 1) {
      return Error::Invalid("protobuf holds one object, the input has " + std::to_string(objects.size()) +
                            ": convert them one by one, or make them the items of a v1 List");
    }
    std::string out;
    for (const ReadObject& object : objects) {
      if (format_ == "yaml" && objects.size() > 1) out += "---\n";
      if (auto r = Append(object, out); !r) return r.error().WithContext(object.where);
    }
    return out;
  }

  Result<void> Append(const ReadObject& object, std::string& out) const {
    const AnyObject& typed = object.typed;
    if (format_ == "protobuf") {
      if (!typed) return Error::Invalid("not a built-in kind: it has no protobuf form");
      return EncodeProtobuf(typed.type(), typed.data(), out);
    }
    if (format_ == "yaml") {
      if (typed) return EncodeYaml(typed.type(), typed.data(), out);
      out += ToYaml(object.dynamic);
      return {};
    }
    JsonFormat format{.indent = compact_ ? 0 : 2};
    if (typed) {
      if (auto r = EncodeJson(typed.type(), typed.data(), out, format); !r) return r;
    } else {
      out += ToJson(object.dynamic, format);
    }
    out += '\n';
    return {};
  }

  static bool HoldSecrets(const std::vector<ReadObject>& objects) {
    return std::any_of(objects.begin(), objects.end(), [](const ReadObject& object) {
      return (object.gvk.group.empty() && (object.gvk.kind == "Secret" || object.gvk.kind == "SecretList")) || HoldSecrets(object.items);
    });
  }

  ExitCode Put(const std::string& bytes, bool secret, Streams& io) const {
    if (!out_file_.empty() && secret) {
      if (auto written = internal::WriteSecretFile(out_file_, bytes); !written) return Fail(io, written.error().ToString());
      return ExitCode::kOk;
    }
    if (!out_file_.empty()) {
      errno = 0;
      std::ofstream out(out_file_, std::ios::binary | std::ios::trunc);
      out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      out.close();
      if (!out) return Fail(io, out_file_ + ": " + (errno != 0 ? std::strerror(errno) : "cannot be written"));
      return ExitCode::kOk;
    }
    if (format_ == "protobuf" && io.out_is_terminal && !force_) {
      return Fail(io, "protobuf is not printed to a terminal: redirect it, name a file with --out, or pass --force");
    }
    io.out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return ExitCode::kOk;
  }

  // ---- Comparing ----

  using Identity = std::tuple<Gvk, ObjectKey, std::size_t>;  // the last: number of earlier objects with the same name

  static void Collect(const std::vector<ReadObject>& objects, std::map<Identity, const ReadObject*>& out) {
    for (const ReadObject& object : objects) {
      if (object.is_mixed_list) {
        Collect(object.items, out);
        continue;
      }
      std::size_t n = 0;
      while (!out.emplace(Identity{object.gvk, object.key, n}, &object).second) ++n;
    }
  }

  ExitCode Compare(const std::vector<ReadObject>& objects, const std::vector<ReadObject>& others, const std::string& file,
                   Streams& io) const {
    std::map<Identity, const ReadObject*> before;
    std::map<Identity, const ReadObject*> after;
    Collect(objects, before);
    Collect(others, after);
    bool same = true;
    for (const auto& [identity, object] : before) {
      auto found = after.find(identity);
      if (found == after.end()) {
        io.out << "only in " << file << ": " << Printable(object->Name()) << '\n';
        same = false;
        continue;
      }
      Result<std::vector<Difference>> differences = CompareTwo(*object, *found->second);
      if (!differences) return Fail(io, differences.error().ToString());
      if (differences->empty()) continue;
      same = false;
      io.out << Printable(object->Name()) << ":\n";
      std::istringstream lines(ToString(*differences));
      for (std::string line; std::getline(lines, line);) io.out << "  " << Printable(line) << '\n';
    }
    for (const auto& [identity, object] : after) {
      if (before.count(identity) != 0) continue;
      io.out << "only in " << other_ << ": " << Printable(object->Name()) << '\n';
      same = false;
    }
    return same ? ExitCode::kOk : ExitCode::kFailure;
  }

  static Result<std::vector<Difference>> CompareTwo(const ReadObject& a, const ReadObject& b) {
    DiffOptions options{.max_differences = 10'000};
    if (a.typed && b.typed) return Diff(a.typed.type(), a.typed.data(), b.typed.data(), options);
    return Diff(a.dynamic, b.dynamic, options);
  }
};

}  // namespace

std::unique_ptr<Command> MakeConvertCommand() { return std::make_unique<ConvertCommand>(); }

}  // namespace kube::app
