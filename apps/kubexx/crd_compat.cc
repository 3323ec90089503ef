// kubexx crd compat: reports what a new definition breaks.
#include <algorithm>
#include <ostream>

#include "command.h"
#include "crd_files.h"
#include "kube/client/config_flags.h"
#include "kube/codec/json.h"
#include "kube/control/crd_compat.h"

namespace kube::app {
namespace {

constexpr std::string_view kDescription =
    "Compares CustomResourceDefinitions. OLD and NEW are files with one or several documents, folders of such files,\n"
    "- for standard input, or cluster:NAME for the definition of that name in the cluster.\n"
    "\n"
    "Findings are printed like those of a compiler: errors break stored objects (they lose data, or are refused when\n"
    "they are written again) or clients (requests that worked fail); notes are harmless. The exit code is 1 if there\n"
    "are errors. With the status of OLD (from a cluster), a version that was ever stored counts as stored.\n"
    "\n"
    "Tightened validation is an error: servers before 1.30 refuse every update of an object that it makes invalid.\n"
    "Newer ones let values that an update does not change stay as they are.";

class CrdCompatCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "crd compat",
            .arguments = "OLD NEW",
            .summary = "Shows what a new CustomResourceDefinition breaks",
            .description = kDescription,
            .examples =
                "  kubexx crd compat cluster:networks.samplecrd.k8s.io config/crd\n"
                "  git show main:config/crd/networks.yaml | kubexx crd compat - config/crd/networks.yaml"};
  }
  void AddFlags(FlagSet& flags) override {
    flags.Add("output", &output_, "what to print").Letter('o').OneOf({"text", "json"});
    flags.Add("quiet", &quiet_, "omit harmless findings").Letter('q');
    ConfigFlags::AddTo(flags, cluster_);
  }
  ExitCode Run(const std::vector<std::string>& args, Streams& io) override {
    if (args[0] == "-" && args[1] == "-") {
      io.err << "kubexx crd compat: only one of OLD and NEW can be standard input\nTry 'kubexx crd compat --help'.\n";
      return ExitCode::kUsage;
    }
    const Result<std::vector<CrdSource>> old = LoadCrds(args[0], cluster_, io), next = LoadCrds(args[1], cluster_, io);
    for (const auto* loaded : {&old, &next}) {
      if (*loaded) continue;
      io.err << "kubexx crd compat: " << loaded->error().ToString() << '\n';
      return ExitCode::kFailure;
    }
    Compare(*old, *next);
    const bool breaks = std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.finding.breaks(); });
    if (quiet_) std::erase_if(rows_, [](const Row& row) { return !row.finding.breaks(); });
    output_ == "json" ? PrintJson(io) : PrintText(io);
    return breaks ? ExitCode::kFailure : ExitCode::kOk;
  }

 private:
  struct Row {
    std::string where, crd;
    CrdFinding finding;
  };

  std::string output_ = "text";
  bool quiet_ = false;
  LoadOptions cluster_;
  std::vector<Row> rows_;

  void Compare(const std::vector<CrdSource>& old, const std::vector<CrdSource>& next) {
    // One definition each: compare them even if the name changed.
    const bool pair = old.size() == 1 && next.size() == 1;
    auto other = [&](const std::vector<CrdSource>& all, const CrdSource& of) -> const CrdSource* {
      if (pair) return &all[0];
      auto found = std::find_if(all.begin(), all.end(), [&](const CrdSource& s) { return s.crd.name() == of.crd.name(); });
      return found == all.end() ? nullptr : &*found;
    };
    for (const CrdSource& before : old) {
      const std::string name = before.crd.name().str();
      const CrdSource* after = other(next, before);
      if (after == nullptr) {
        rows_.push_back(
            {before.where, name, {CrdSeverity::kBreaksStored, "", "", "the definition was removed: deleting it deletes all objects"}});
        continue;
      }
      for (CrdFinding& finding : CompareCrds(before.crd, after->crd)) rows_.push_back({after->where, name, std::move(finding)});
    }
    for (const CrdSource& after : next) {
      if (other(old, after) == nullptr) {
        rows_.push_back({after.where, after.crd.name().str(), {CrdSeverity::kHarmless, "", "", "the definition is new"}});
      }
    }
  }

  void PrintText(Streams& io) const {
    std::size_t errors = 0;
    for (const Row& row : rows_) {
      errors += row.finding.breaks() ? 1 : 0;
      io.out << row.where << ": " << (row.finding.breaks() ? "error" : "note") << ": " << row.crd;
      for (const std::string& part : {row.finding.version, row.finding.path}) {
        if (!part.empty()) io.out << ' ' << part;
      }
      io.out << ": " << row.finding.text << " [" << ToString(row.finding.severity) << "]\n";
    }
    if (errors != 0) io.err << "kubexx crd compat: " << errors << (errors == 1 ? " change breaks" : " changes break") << " something\n";
  }

  void PrintJson(Streams& io) const {
    Value list = Value::Array();
    for (const Row& row : rows_) {
      list.MutableList().push_back(Value::Object({{"crd", row.crd},
                                                  {"where", row.where},
                                                  {"severity", ToString(row.finding.severity)},
                                                  {"breaks", row.finding.breaks()},
                                                  {"version", row.finding.version},
                                                  {"path", row.finding.path},
                                                  {"text", row.finding.text}}));
    }
    io.out << ToJson(list, {.indent = 2}) << '\n';
  }
};

}  // namespace

std::unique_ptr<Command> MakeCrdCompatCommand() { return std::make_unique<CrdCompatCommand>(); }

}  // namespace kube::app
