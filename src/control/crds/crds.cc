#include "kube/control/crds.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "control/crds/crd_client.h"
#include "kube/base/backoff.h"
#include "kube/client/client.h"
#include "kube/client/wait.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "kube/transport/http.h"

namespace kube {
namespace {

using internal::CrdClient;

constexpr std::string_view kApiVersion = "apiextensions.k8s.io/v1";
constexpr std::string_view kKind = "CustomResourceDefinition";
// Another client may write the definition each time that it was checked; more often than this it is a fight.
constexpr int kMostTries = 10;
constexpr std::string_view kNoVersion = "1";

std::string NameOf(const CrdSource& source) { return source.crd.name().str(); }

// "crds.yaml: document 2 (widgets.example.com)"
std::string PlaceOf(const CrdSource& source) {
  return source.where.empty() ? NameOf(source) : fmt::format("{} ({})", source.where, NameOf(source));
}

Result<void> Collect(DynamicObject object, const std::string& where, std::vector<CrdSource>& out) {
  if (object.is_list()) {
    std::size_t i = 0;
    for (DynamicObject& item : object.Items()) {
      if (Result<void> ok = Collect(std::move(item), fmt::format("{}, item {}", where, ++i), out); !ok) return ok;
    }
    return {};
  }
  if (object.kind() != kKind) {
    return Error::Invalid(fmt::format("{}: expected a CustomResourceDefinition, got {} {} \"{}\"", where, object.api_version().view(),
                                      object.kind().view(), object.name().view()));
  }
  if (object.api_version() != kApiVersion) {
    return Error::Invalid(
        fmt::format("{}: expected apiVersion {}, got \"{}\": convert it first", where, kApiVersion, object.api_version().view()));
  }
  if (object.name().empty()) return Error::Invalid(fmt::format("{}: metadata.name is missing", where));
  out.push_back({std::move(object), where});
  return {};
}

Result<std::string> ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  // read() turns the exceptions of a file buffer into badbit; a stream buffer iterator would pass them on.
  char block[1 << 14];
  while (in.read(block, sizeof(block)) || in.gcount() > 0) text.append(block, static_cast<std::size_t>(in.gcount()));
  if (!in.is_open() || in.bad()) return Error(ErrorKind::kConfig, fmt::format("{}: cannot be read", path.string()));
  return text;
}

const Value* Condition(const DynamicObject& crd, std::string_view type) {
  for (const Value& condition : crd["status"]["conditions"].list()) {
    if (condition["type"].string_value() == type) return &condition;
  }
  return nullptr;
}
bool IsTrue(const Value* condition) { return condition != nullptr && (*condition)["status"].string_value() == "True"; }
bool IsFalse(const Value* condition) { return condition != nullptr && (*condition)["status"].string_value() == "False"; }

std::string Describe(const Value& condition) {
  return fmt::format("{}={} ({}: {})", condition["type"].string_value().view(), condition["status"].string_value().view(),
                     condition["reason"].string_value().view(), condition["message"].string_value().view());
}
std::string DescribeAll(const DynamicObject& crd) {
  std::string out;
  for (const Value& condition : crd["status"]["conditions"].list()) out += (out.empty() ? "" : ", ") + Describe(condition);
  return out.empty() ? "no conditions yet" : out;
}

std::set<std::string> ServedVersions(const DynamicObject& crd) {
  std::set<std::string> out;
  for (const Value& version : crd["spec"]["versions"].list()) {
    if (version["served"].bool_value()) out.insert(version["name"].string_value().str());
  }
  return out;
}

// Whether the server's discovery has this resource.
Result<bool> IsServed(const Context& ctx, const Client& client, const DynamicObject& crd, const std::string& version) {
  HttpRequest request;
  request.target = fmt::format("/apis/{}/{}", crd["spec"]["group"].string_value().view(), version);
  request.url_template = "/apis/{group}/{version}";
  request.verb = "get";
  request.headers.Add("Accept", "application/json");
  Result<HttpResponse> answer = client.Raw(ctx, std::move(request));
  if (!answer) {
    if (IsNotFound(answer.error())) return false;
    return answer.error();
  }
  const Result<Value> document = ParseJson(answer->body);
  if (!document) return document.error();
  for (const Value& resource : std::as_const(*document)["resources"].list()) {
    if (resource["name"] == crd["spec"]["names"]["plural"]) return true;
  }
  return false;
}

// A server has no watch for its discovery, so this asks again, at most every second.
Result<void> WaitServed(const Context& ctx, const Client& client, const std::vector<CrdSource>& crds) {
  Backoff pause{.duration = std::chrono::milliseconds(5), .factor = 2, .jitter = 0.1, .steps = 20, .cap = std::chrono::seconds(1)};
  for (;;) {
    const Result<std::vector<std::string>> missing = FindUnservedCrds(ctx, client, crds);
    if (missing && missing->empty()) return {};
    if (!missing && (missing.error().kind() == ErrorKind::kAuth || IsForbidden(missing.error()))) return missing.error();
    if (Result<void> slept = ctx.SleepFor(pause.Step()); !slept) {
      if (!missing) return slept.error().WithContext(missing.error().ToString());
      return slept.error().WithContext(fmt::format("not served yet: {}", fmt::join(*missing, ", ")));
    }
  }
}

class Installer {
 public:
  Installer(const Context& ctx, const Client& client, const std::vector<CrdSource>& crds, const InstallCrdsOptions& options)
      : ctx_(ctx.WithTimeout(options.timeout)), client_(client), resource_(CrdClient(client)), sources_(crds), options_(options) {}

  Result<std::vector<InstalledCrd>> Run() {
    if (options_.field_manager.empty()) return Error::Invalid("InstallCrdsOptions::field_manager is empty");
    std::set<std::string> names;
    for (const CrdSource& source : sources_) {
      if (source.crd.name().empty() || source.crd.kind() != kKind) {
        return Error::Invalid(fmt::format("{}: not a CustomResourceDefinition with a name", PlaceOf(source)));
      }
      if (!names.insert(NameOf(source)).second) return Error::Invalid(fmt::format("{}: defined twice", PlaceOf(source)));
    }
    std::vector<Plan> plans;
    std::string refused;
    for (const CrdSource& source : sources_) {
      Result<Plan> plan = MakePlan(source);
      if (!plan) return plan.error().WithContext(PlaceOf(source));
      if (plan->refused()) refused += (refused.empty() ? "" : "\n") + Refusal(source, *plan);
      plans.push_back(*std::move(plan));
    }
    if (!refused.empty()) return Error::Invalid(refused);
    std::vector<InstalledCrd> out;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (!options_.dry_run) {
        if (Result<void> written = Write(sources_[i], plans[i]); !written) return written.error().WithContext(PlaceOf(sources_[i]));
      }
      out.push_back({NameOf(sources_[i]), plans[i].change, std::move(plans[i].findings)});
    }
    if (options_.dry_run) return out;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (Result<void> ready = WaitEstablished(sources_[i], plans[i]); !ready) return ready.error().WithContext(PlaceOf(sources_[i]));
    }
    if (Result<void> served = WaitServed(ctx_, client_, sources_); !served) return served.error().WithContext("install CRDs");
    return out;
  }

 private:
  struct Plan {
    std::optional<DynamicObject> live;  // nothing: it does not exist
    DynamicObject apply;
    CrdChange change = CrdChange::kCreated;
    std::vector<CrdFinding> findings;
    std::optional<Error> server;  // refused by the dry run, and something breaks

    bool breaks() const {
      return std::any_of(findings.begin(), findings.end(), [](const CrdFinding& f) { return f.breaks(); });
    }
    bool allowed = false;
    bool refused() const { return server.has_value() || (breaks() && !allowed); }
  };

  const Context ctx_;
  const Client& client_;
  const ResourceClient<DynamicObject> resource_;
  const std::vector<CrdSource>& sources_;
  const InstallCrdsOptions& options_;

  std::string Refusal(const CrdSource& source, const Plan& plan) const {
    std::string out =
        fmt::format("{}: {}", PlaceOf(source),
                    plan.server ? plan.server->message() : "the change breaks what exists; InstallCrdsOptions::allow_breaking installs it");
    for (const CrdFinding& finding : plan.findings) {
      if (finding.breaks()) out += "\n  " + finding.ToString();
    }
    return out;
  }

  ApplyOptions HowToApply(bool dry_run) const { return {.field_manager = options_.field_manager, .force = true, .dry_run = dry_run}; }

  Result<Plan> MakePlan(const CrdSource& source) const {
    for (int attempt = 1;; ++attempt) {
      Result<Plan> plan = TryPlan(source);
      // Another client wrote between reading and the dry run.
      if (plan || !IsConflict(plan.error()) || attempt == kMostTries) return plan;
    }
  }

  Result<Plan> TryPlan(const CrdSource& source) const {
    Plan plan;
    plan.allowed = options_.allow_breaking;
    Result<DynamicObject> live = resource_.Get(ctx_, {"", source.crd.name()});
    if (live) {
      plan.live = *std::move(live);
    } else if (!IsNotFound(live.error())) {
      return live.error();
    }
    if (plan.live && !plan.live->deletion_timestamp().IsZero()) {
      return Error(ErrorKind::kInternal, "is being deleted: try again when it and its objects do not exist any more");
    }
    plan.apply = ToApply(source.crd, plan.live);
    Result<DynamicObject> next = resource_.Apply(ctx_, plan.apply, HowToApply(true));
    if (!plan.live) {
      if (!next) return next.error();
      return plan;
    }
    if (!next) {
      if (!IsInvalid(next.error())) return next.error();
      plan.findings = CompareCrds(*plan.live, source.crd);
      if (!plan.breaks()) return next.error();
      plan.server = next.error();
      return plan;
    }
    plan.findings = CompareCrds(*plan.live, *next);
    plan.change = (*next)["spec"] == std::as_const(*plan.live)["spec"] && next->labels() == plan.live->labels() &&
                          next->annotations() == plan.live->annotations()
                      ? CrdChange::kUnchanged
                      : CrdChange::kUpdated;
    return plan;
  }

  // The fields that this program owns: the manifest's, without those that are the server's or that another client has set.
  DynamicObject ToApply(const DynamicObject& manifest, const std::optional<DynamicObject>& live) const {
    DynamicObject out(Gvk{"apiextensions.k8s.io", "v1", kKind}, {"", manifest.name()});
    for (const char* member : {"labels", "annotations"}) {
      const Value& wanted = manifest["metadata"][member];
      if (wanted.is_object() && !wanted.object().empty()) out.mutable_value()["metadata"][member] = wanted;
    }
    Value& spec = out.mutable_value()["spec"];
    spec = manifest["spec"];
    if (!live) {
      // Only creates: a server ignores this resourceVersion on creation, and no object ever has it.
      out.set_resource_version(kNoVersion);
      return out;
    }
    // Only what was checked is changed.
    out.set_uid(live->uid());
    out.set_resource_version(live->resource_version());
    KeepBundle(spec, *live);
    if (options_.keep_scale) KeepScale(spec, *live);
    return out;
  }

  void KeepBundle(Value& spec, const DynamicObject& live) const {
    const Value* bundle = live.FindNested({"spec", "conversion", "webhook", "clientConfig", "caBundle"});
    if (bundle == nullptr || std::as_const(spec)["conversion"]["strategy"].string_value() != "Webhook") return;
    Value& config = spec["conversion"]["webhook"]["clientConfig"];
    if (!OnlyWeOwnBundle(live)) {
      config.MutableObject().Erase("caBundle");  // it stays, and is not ours
    } else if (std::as_const(config)["caBundle"].string_value().empty()) {
      config["caBundle"] = *bundle;  // leaving it out would remove it
    }
  }
  bool OnlyWeOwnBundle(const DynamicObject& live) const {
    bool ours = false;
    for (const Value& entry : live["metadata"]["managedFields"].list()) {
      if (entry["fieldsV1"]["f:spec"]["f:conversion"]["f:webhook"]["f:clientConfig"].Find("f:caBundle") == nullptr) continue;
      if (entry["manager"].string_value() != options_.field_manager || entry["operation"].string_value() != "Apply") return false;
      ours = true;
    }
    return ours;
  }

  static void KeepScale(Value& spec, const DynamicObject& live) {
    const Value wanted = spec["versions"];
    for (std::size_t i = 0; i < wanted.list().size(); ++i) {
      if (wanted.list()[i]["subresources"].Find("scale") != nullptr) continue;
      for (const Value& version : live["spec"]["versions"].list()) {
        const Value* scale = version["subresources"].Find("scale");
        if (scale == nullptr || !(version["name"] == wanted.list()[i]["name"])) continue;
        spec["versions"].MutableList()[i]["subresources"]["scale"] = *scale;
      }
    }
  }

  Result<void> Write(const CrdSource& source, Plan& plan) const {
    for (int attempt = 1;; ++attempt) {
      Result<DynamicObject> written = resource_.Apply(ctx_, plan.apply, HowToApply(false));
      if (written) {
        if (plan.live && written->resource_version() == plan.live->resource_version()) plan.change = CrdChange::kUnchanged;
        return {};
      }
      if (!IsConflict(written.error()) || attempt == kMostTries) return written.error();
      // Another client was faster. What it wrote has to be checked, too.
      Result<Plan> again = MakePlan(source);
      if (!again) return again.error();
      if (again->refused()) return Error::Invalid(Refusal(source, *again));
      plan = *std::move(again);
    }
  }

  Result<void> WaitEstablished(const CrdSource& source, const Plan& plan) const {
    std::optional<Error> problem;
    std::string seen;
    // Conditions from before the write do not count as errors: controllers have yet to judge the new names and the new schema.
    const auto is_old = [&](const Value& condition) {
      if (!plan.live || plan.change != CrdChange::kUpdated) return false;
      const Value* before = Condition(*plan.live, condition["type"].string_value().view());
      return before != nullptr && *before == condition;
    };
    const Result<std::optional<DynamicObject>> found =
        WaitUntil<DynamicObject>(resource_, ctx_, {"", source.crd.name()}, [&](const DynamicObject* crd) {
          if (crd == nullptr) {
            problem = Error(ErrorKind::kInternal, "was deleted while it was installed");
            return true;
          }
          seen = DescribeAll(*crd);
          const Value* names = Condition(*crd, "NamesAccepted");
          if (IsFalse(names) && !is_old(*names)) {
            problem = Error(ErrorKind::kInternal, "its names are not accepted: " + Describe(*names));
            return true;
          }
          const Value* structural = Condition(*crd, "NonStructuralSchema");
          if (IsTrue(structural) && !is_old(*structural)) {
            problem = Error(ErrorKind::kInternal, "its schema is not structural: " + Describe(*structural));
            return true;
          }
          return IsTrue(names) && !IsTrue(structural) && IsTrue(Condition(*crd, "Established"));
        });
    if (problem) return *problem;
    if (!found) return found.error().WithContext(fmt::format("not established yet, {}", seen.empty() ? "never seen" : seen));
    return {};
  }
};

}  // namespace

std::string_view ToString(CrdChange change) {
  switch (change) {
    case CrdChange::kUnchanged:
      return "unchanged";
    case CrdChange::kCreated:
      return "created";
    case CrdChange::kUpdated:
      return "updated";
  }
  return "";
}

Result<std::vector<CrdSource>> ParseCrds(std::string_view text, std::string_view where) {
  Result<std::vector<YamlDocument>> documents = ReadYaml(text);
  if (!documents) return documents.error().WithContext(std::string(where));
  std::vector<CrdSource> out;
  std::size_t number = 0;
  for (YamlDocument& document : *documents) {
    const std::string place = fmt::format("{}: document {} (line {})", where, ++number, document.line);
    if (!document.duplicates.empty()) return Error::Invalid(fmt::format("{}: duplicate field {}", place, document.duplicates.front()));
    Result<DynamicObject> object = DynamicObject::FromValue(std::move(document.value));
    if (!object) return Error::Invalid(fmt::format("{}: {}", place, object.error().message()));
    if (Result<void> ok = Collect(*std::move(object), place, out); !ok) return ok.error();
  }
  if (out.empty()) return Error::Invalid(fmt::format("{}: holds no CustomResourceDefinition", where));
  return out;
}

Result<std::vector<CrdSource>> ReadCrds(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<CrdSource> out;
  for (const std::string& given : paths) {
    std::vector<fs::path> files;
    std::error_code error;
    if (fs::is_directory(given, error)) {
      for (fs::directory_iterator it(given, error), end; !error && it != end; it.increment(error)) {
        const std::string extension = it->path().extension().string();
        if (extension != ".yaml" && extension != ".yml" && extension != ".json") continue;
        std::error_code unknown;  // such as a loop of symbolic links: reading it fails and names the file
        if (!it->is_directory(unknown)) files.push_back(it->path());
      }
      if (error) return Error(ErrorKind::kConfig, fmt::format("{}: {}", given, error.message()));
      if (files.empty()) return Error(ErrorKind::kConfig, fmt::format("{}: the folder has no files *.yaml, *.yml or *.json", given));
      std::sort(files.begin(), files.end());
    } else {
      files.emplace_back(given);
    }
    for (const fs::path& file : files) {
      const Result<std::string> text = ReadText(file);
      if (!text) return text.error();
      Result<std::vector<CrdSource>> crds = ParseCrds(*text, file.string());
      if (!crds) return crds.error();
      out.insert(out.end(), std::make_move_iterator(crds->begin()), std::make_move_iterator(crds->end()));
    }
  }
  return out;
}

Result<std::vector<InstalledCrd>> InstallCrds(const Context& ctx, const Client& client, const std::vector<CrdSource>& crds,
                                              const InstallCrdsOptions& options) {
  return Installer(ctx, client, crds, options).Run();
}

Result<std::vector<std::string>> FindUnservedCrds(const Context& ctx, const Client& client, const std::vector<CrdSource>& crds) {
  std::vector<std::string> out;
  for (const CrdSource& source : crds) {
    for (const std::string& version : ServedVersions(source.crd)) {
      const Result<bool> served = IsServed(ctx, client, source.crd, version);
      if (!served) return served.error();
      if (!*served) out.push_back(NameOf(source) + "/" + version);
    }
  }
  return out;
}

Result<void> WaitForCrds(const Context& ctx, const Client& client, const std::vector<CrdSource>& crds) {
  const ResourceClient<DynamicObject> resource = CrdClient(client);
  for (const CrdSource& source : crds) {
    const std::set<std::string> wanted = ServedVersions(source.crd);
    const Result<std::optional<DynamicObject>> found =
        WaitUntil<DynamicObject>(resource, ctx, {"", source.crd.name()}, [&](const DynamicObject* crd) {
          if (crd == nullptr || !IsTrue(Condition(*crd, "Established"))) return false;
          if (internal::ConvertsByWebhook(source.crd) && !internal::ConvertsByWebhook(*crd)) return false;
          const std::set<std::string> served = ServedVersions(*crd);
          return std::includes(served.begin(), served.end(), wanted.begin(), wanted.end());
        });
    if (!found && !IsForbidden(found.error())) return found.error().WithContext("wait for " + PlaceOf(source));
    if (!found) break;
  }
  return WaitServed(ctx, client, crds);
}

std::vector<AccessNeed> NeedsOf(const ManagedCrds& managed) {
  std::vector<AccessNeed> out;
  const auto need = [&](std::string group, std::string resource, std::vector<std::string> verbs, std::string name, std::string why) {
    out.push_back({.group = std::move(group),
                   .resource = std::move(resource),
                   .verbs = std::move(verbs),
                   .ns = "",
                   .name = std::move(name),
                   .selects_name = true,
                   .why = std::move(why)});
  };
  const std::string group = "apiextensions.k8s.io", definitions = "customresourcedefinitions";
  for (const CrdSource& source : managed.crds) {
    const std::string name = NameOf(source);
    need(group, definitions, {"create", "get", "list", "patch", "watch"}, name, "installs the CRD " + name);
    if (!managed.migrate_storage) continue;
    need(group, definitions + "/status", {"update"}, name, "migrates the storage of " + name);
    const Value& spec = source.crd["spec"];
    need(spec["group"].string_value().str(), spec["names"]["plural"].string_value().str(), {"list", "update"}, "",
         "migrates the storage of " + name);
  }
  return out;
}

}  // namespace kube
