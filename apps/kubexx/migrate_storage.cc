// kubexx migrate storage: rewrites the objects of a custom resource in its storage version.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <ostream>
#include <utility>

#include "command.h"
#include "kube/base/printable.h"
#include "kube/client/client.h"
#include "kube/client/config_flags.h"
#include "kube/codec/json.h"
#include "kube/control/storage_migration.h"

namespace kube::app {
namespace {

constexpr std::string_view kDescription =
    "Writes every object of the CustomResourceDefinition CRD (its name in the cluster) back unchanged, so that the\n"
    "server stores it in the storage version. Then sets status.storedVersions to that version alone, but only if every\n"
    "object was rewritten and the definition did not change meanwhile. Older versions can be removed from the definition\n"
    "afterwards.\n"
    "\n"
    "It can be stopped at any moment, and run again: writing an object twice does no harm. With --continue FILE the\n"
    "progress is kept in FILE, and the next run skips what is done; the file is removed at the end. Objects that other\n"
    "clients change or delete meanwhile are fine. With several API servers, wait a minute after the storage version\n"
    "changed. The exit code is 1 if status.storedVersions could not be trimmed.";

std::string ToText(const StorageMigrationProgress& progress) {
  return ToJson(Value::Object({{"uid", progress.uid},
                               {"generation", progress.generation},
                               {"storageVersion", progress.storage_version},
                               {"after", progress.after},
                               {"objects", static_cast<std::int64_t>(progress.objects)}}));
}

Result<StorageMigrationProgress> ReadProgress(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return StorageMigrationProgress();  // the first run
  const Result<Value> value = ParseJson(std::string(std::istreambuf_iterator<char>(in), {}));
  if (!value || !value->is_object()) return Error::Invalid(file + ": does not hold the progress of a migration; remove it to start over");
  const Value& read = *value;
  return StorageMigrationProgress{.uid = read["uid"].string_value().str(),
                                  .generation = read["generation"].int_value(),
                                  .storage_version = read["storageVersion"].string_value().str(),
                                  .after = read["after"].string_value().str(),
                                  .objects = static_cast<std::uint64_t>(read["objects"].int_value())};
}

// Writes the whole file or nothing.
bool WriteProgress(const std::string& file, const StorageMigrationProgress& progress) {
  const std::string temporary = file + ".new";
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out << ToText(progress) << '\n';
  out.close();
  return out.good() && std::rename(temporary.c_str(), file.c_str()) == 0;
}

class MigrateStorageCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "migrate storage",
            .arguments = "CRD",
            .summary = "Rewrites custom resources in their storage version",
            .description = kDescription,
            .examples =
                "  kubexx migrate storage --dry-run networks.samplecrd.k8s.io\n"
                "  kubexx migrate storage --qps 100 --continue migration.json networks.samplecrd.k8s.io"};
  }
  void AddFlags(FlagSet& flags) override {
    flags.Add("qps", &options_.qps, "writes per second; 0 means no limit").Range(0, 1e6);
    flags.Add("page-size", &options_.page_size, "objects per page of a list").Range(1, 10'000);
    flags.Add("dry-run", &options_.dry_run, "the server checks every write and stores none");
    flags.Add("continue", &file_, "keep the progress in FILE, and continue from there").Value("FILE");
    ConfigFlags::AddTo(flags, cluster_);
  }
  ExitCode Run(const std::vector<std::string>& args, Streams& io) override {
    auto fail = [&io](const std::string& message) {
      io.err << "kubexx migrate storage: " << message << '\n';
      return ExitCode::kFailure;
    };
    if (options_.dry_run && !file_.empty()) return fail("--dry-run and --continue cannot be combined: a dry run makes no progress");
    Result<ClientConfig> config = LoadConfig(cluster_);
    if (!config) return fail(config.error().ToString());
    config->qps = -1;  // --qps is the limit
    const Result<Client> client = Client::FromConfig(*config);
    if (!client) return fail(client.error().ToString());
    if (!file_.empty()) {
      Result<StorageMigrationProgress> resume = ReadProgress(file_);
      if (!resume) return fail(resume.error().message());
      options_.resume = *std::move(resume);
    }
    options_.on_progress = [&](const StorageMigrationProgress& progress) {
      io.err << progress.objects << " objects, ";
      if (progress.remaining) io.err << *progress.remaining << " to go, ";
      io.err << "last " << progress.after << std::endl;
      if (!file_.empty() && !WriteProgress(file_, progress)) io.err << "kubexx migrate storage: " << file_ << ": cannot be written\n";
    };
    const Result<StorageMigration> done = MigrateStorage(SignalContext(), *client, args[0], options_);
    if (!done && SignalContext().stopped()) {
      return fail(file_.empty() ? "stopped; run it again, with --continue FILE to keep the progress"
                                : "stopped; the same command continues from " + file_);
    }
    if (!done) return fail(done.error().ToString());
    for (const std::string& failure : done->failures) io.err << "kubexx migrate storage: " << Printable(failure) << '\n';
    if (done->failed > done->failures.size()) io.err << "and " << done->failed - done->failures.size() << " more\n";
    io.out << args[0] << ": " << done->rewritten << (options_.dry_run ? " would be" : "") << " rewritten in " << done->storage_version
           << ", " << done->changed_by_others << " changed by others, " << done->deleted << " deleted, " << done->skipped
           << " done before, " << done->failed << " failed\n";
    if (done->trimmed) {
      io.out << args[0] << ": status.storedVersions is [" << done->storage_version << "]\n";
      if (!file_.empty()) std::remove(file_.c_str());
      return ExitCode::kOk;
    }
    io.out << args[0] << ": status.storedVersions stays: " << done->not_trimmed_because << '\n';
    return options_.dry_run && done->failed == 0 ? ExitCode::kOk : ExitCode::kFailure;
  }

 private:
  StorageMigrationOptions options_;
  std::string file_;
  LoadOptions cluster_;
};

}  // namespace

std::unique_ptr<Command> MakeMigrateStorageCommand() { return std::make_unique<MigrateStorageCommand>(); }

}  // namespace kube::app
