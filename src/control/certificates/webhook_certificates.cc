#include "control/certificates/webhook_certificates.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "codec/base64.h"
#include "kube/api/core/v1.h"
#include "kube/base/backoff.h"
#include "kube/base/log.h"
#include "kube/base/wait_until.h"
#include "kube/value/time.h"

namespace kube::internal {
namespace {

using core::v1::Secret;
using WallTime = Clock::WallTime;

constexpr std::string_view kStateKey = "ca.json";
constexpr std::chrono::seconds kRequestTimeout(10);
// Everything is read again now and then, whatever the watches say.
constexpr std::chrono::seconds kReadAgain(600);
// A writer that undoes at once what this one does, or a server that stores something else, is not fought at full speed: after so many
// passes that wrote within this time, nothing happens for as long.
constexpr int kMostPasses = 20;
constexpr std::chrono::seconds kTooManyPasses(5);

constexpr const char* kFight = "keep what it writes";

Logger Log() { return Logger("control.webhooks"); }

StoredCa StoredOf(const Secret& secret) {
  const auto found = secret.data.Find(kStateKey);
  return {.json = found == nullptr ? std::string() : std::string(found->view()),
          .resource_version = secret.metadata.resource_version.str()};
}

std::string TimeText(WallTime time) {
  return Time::FromUnix(std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count()).ToString();
}

std::string Base64(std::string_view bytes) {
  std::string out;
  AppendBase64(bytes, out);
  return out;
}

ObjectKey KeyOf(const InjectionTarget& target) { return {String(target.ns), String(target.name)}; }

double SecondsUntil(WallTime time, WallTime now) { return std::chrono::duration<double>(time - now).count(); }

}  // namespace

WebhookCertificates::WebhookCertificates(Parts parts)
    : parts_(std::move(parts)), keeper_(parts_.name, parts_.times), seen_(parts_.inject ? parts_.targets.size() : 0) {}

void WebhookCertificates::Wake() {
  MutexLock lock(mu_);
  due_ = true;
  changed_.NotifyAll();
}

Result<std::string> WebhookCertificates::Await(const Context& ctx) const {
  MutexLock lock(mu_);
  const auto done = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return settled_.has_value(); };
  if (Result<void> waited = WaitUntil(ctx, mu_, changed_, done); !waited) return waited.error();
  return *settled_;
}

Result<std::vector<HandlerRegistration>> WebhookCertificates::WatchAll(InformerFactory& informers) {
  std::vector<HandlerRegistration> handlers;
  const auto watch = [&](const Gvr& gvr, const std::string& ns, const std::string& name) -> Result<void> {
    const auto informer = informers.ForMetadata(gvr, {.ns = ns, .field_selector = "metadata.name=" + name});
    Result<HandlerRegistration> added = informer.AddEventHandler({.on_add = [this](const auto&, bool) { Wake(); },
                                                                  .on_update = [this](const auto&, const auto&) { Wake(); },
                                                                  .on_delete = [this](const auto&) { Wake(); }},
                                                                 {.name = "webhooks", .quick = true});
    if (!added) return added.error();
    handlers.push_back(*std::move(added));
    return {};
  };
  if (Result<void> watching = watch(GvrOf<Secret>(), parts_.ns, parts_.secret); !watching) return watching.error();
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const InjectionTarget& target = parts_.targets[i];
    if (Result<void> watching = watch(target.resource, target.ns, target.name); !watching) return watching.error();
  }
  return handlers;
}

Result<void> WebhookCertificates::Run(const Context& ctx) {
  InformerFactory informers(parts_.client, {.metrics = parts_.metrics});
  Result<std::vector<HandlerRegistration>> handlers = WatchAll(informers);
  if (!handlers) return handlers.error();
  informers.Start(ctx);
  Backoff retry{.duration = std::chrono::milliseconds(100), .factor = 2, .jitter = 0.2, .steps = 9, .cap = std::chrono::seconds(30)};
  const Backoff fresh = retry;
  int passes = 0;  // since
  Clock::TimePoint since = parts_.clock->Now();
  while (!ctx.stopped()) {
    {
      MutexLock lock(mu_);
      due_ = false;
    }
    Outcome outcome;
    if (Result<void> passed = Pass(ctx, outcome); !passed) return passed;
    const bool is_new = parts_.clock->Now() - since >= kTooManyPasses;
    if (is_new) passes = 0;
    if (outcome.at_once && passes++ == 0) since = parts_.clock->Now();
    const bool fights = outcome.at_once && passes >= kMostPasses;
    if (outcome.at_once && !fights) continue;
    if (fights) {
      Problem(kFight, Error::Internal("another client keeps reverting it, perhaps a program of the same name in another namespace"));
      Publish();
    } else if (is_new && problems_.count(kFight) != 0) {
      Solved(kFight);
      Publish();
    }
    if (leaf_ && keeper_.may_inject()) {
      MutexLock lock(mu_);
      settled_ = keeper_.held()->Bundle();
      changed_.NotifyAll();
    }
    Clock::TimePoint wake = parts_.clock->Later(fights ? kTooManyPasses : kReadAgain);
    if (outcome.again) {
      // At least a moment: times of certificates are whole seconds.
      const auto wait = std::max<std::chrono::nanoseconds>(*outcome.again - now(), std::chrono::milliseconds(10));
      wake = std::min(wake, parts_.clock->Later(wait));
    }
    if (problems_.empty()) {
      retry = fresh;
    } else if (!fights) {
      wake = std::min(wake, parts_.clock->Later(retry.Step()));
    }
    MutexLock lock(mu_);
    (void)WaitUntil(ctx.WithDeadline(wake), mu_, changed_, [&]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return due_ && !fights; });
  }
  return {};
}

Result<void> WebhookCertificates::Pass(const Context& ctx, Outcome& outcome) {
  if (Result<void> read = ReadTargets(ctx); !read) return read;
  ReadSecret(ctx);
  UpdateTrust();
  Inject(ctx, outcome);
  if (Result<void> written = WriteSecret(ctx, outcome); !written) return written;
  if (Result<void> renewed = RenewLeaf(outcome); !renewed) return renewed;
  UpdateTrust();
  ReportMissing(outcome);
  Publish();
  return {};
}

Result<void> WebhookCertificates::ReadTargets(const Context& ctx) {
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const InjectionTarget& target = parts_.targets[i];
    Seen& seen = seen_[i];
    Result<DynamicObject> object = ClientOf(target).Get(ctx.WithTimeout(kRequestTimeout), KeyOf(target));
    const std::string where = "read " + target.ToString();
    if (!object && !IsNotFound(object.error())) {
      seen.read = false;
      seen.refused = IsForbidden(object.error());
      if (!ctx.stopped()) Problem(where, object.error());
      continue;
    }
    seen.read = true;
    Solved(where);
    seen.found = object.ok();
    seen.object.reset();
    if (object) seen.object = *std::move(object);
    seen.plan = seen.object ? PlanInjection(target, *seen.object, "", false) : InjectionPlan();
    const std::string converts = "convert " + target.ToString();
    if (!seen.plan.problem) {
      Solved(converts);
    } else if (seen.checked || target.managed) {
      // Another client changed it, or the manager has yet to install its own.
      Problem(converts, *seen.plan.problem);
    } else {
      return *seen.plan.problem;
    }
    seen.checked = seen.checked || seen.found;
  }
  return {};
}

void WebhookCertificates::ReadSecret(const Context& ctx) {
  const Result<Secret> secret = parts_.client.Get<Secret>(ctx.WithTimeout(kRequestTimeout), {String(parts_.ns), String(parts_.secret)});
  if (!secret && !IsNotFound(secret.error())) {
    secret_read_ = false;
    if (!ctx.stopped()) Problem("read the Secret", secret.error());
    return;
  }
  Solved("read the Secret");
  secret_read_ = true;
  if (secret) secret_uid_ = secret->metadata.uid.str();
  keeper_.Saw(secret ? std::optional(StoredOf(*secret)) : std::nullopt, now());
}

std::optional<std::vector<std::string>> WebhookCertificates::TrustedEverywhere() const {
  std::optional<std::set<std::string>> all;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const Seen& seen = seen_[i];
    // What this program will create in a moment is not there yet; what was deleted returns with the CA that it had.
    if (parts_.targets[i].is_service()) continue;
    const bool comes = !seen.found && parts_.install && !parts_.targets[i].object.is_null();
    if (!seen.read || comes) return std::nullopt;
    for (const std::vector<std::string>& place : seen.plan.trusted) {
      std::set<std::string> here(place.begin(), place.end());
      if (all) std::erase_if(here, [&](const std::string& certificate) { return all->count(certificate) == 0; });
      all = std::move(here);
    }
  }
  if (all) return std::vector<std::string>(all->begin(), all->end());
  // Nothing that API servers would verify it by.
  return keeper_.held() ? keeper_.held()->Certificates() : std::vector<std::string>();
}

void WebhookCertificates::UpdateTrust() {
  // What cannot be read now stays as it was read last: an API server that is away does not make this replica unready.
  if (const std::optional<std::vector<std::string>> trusted = TrustedEverywhere()) trust_.Saw(*trusted, now());
}

void WebhookCertificates::Inject(const Context& ctx, Outcome& outcome) {
  if (!secret_read_ || !keeper_.may_inject()) return;
  const std::string bundle = keeper_.held()->Bundle();
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const InjectionTarget& target = parts_.targets[i];
    Seen& seen = seen_[i];
    const std::string where = (target.is_service() ? "write " : "write the CA into ") + target.ToString();
    if (!seen.read) continue;
    const auto client = ClientOf(target);
    const WriteOptions options{.field_manager = parts_.name + "-webhooks"};
    Result<void> done;
    if (!seen.found) {
      Solved(where);
      if (!parts_.install || target.object.is_null()) continue;
      if (Result<DynamicObject> made = client.Create(ctx.WithTimeout(kRequestTimeout), NewObjectOf(target, bundle), options); !made)
        done = made.error();
    } else {
      const InjectionPlan plan = PlanInjection(target, *seen.object, bundle, parts_.install || (target.managed && parts_.leads()));
      if (plan.foreign && target.is_service()) {
        Solved(where);
        continue;
      }
      if (plan.foreign) {
        Problem(where, Error::Invalid("cert-manager's annotations say that cert-manager writes it: remove them, or give the program "
                                      "cert-manager's certificate (--webhook-cert-path)"));
        continue;
      }
      if (!plan.changes()) {
        Solved(where);
        continue;
      }
      if (Result<DynamicObject> patched = client.Patch(ctx.WithTimeout(kRequestTimeout), KeyOf(target), Patch::Json(plan.patch), options);
          !patched)
        done = patched.error();
    }
    const bool reads_again = done || IsConflict(done.error()) || IsAlreadyExists(done.error()) || IsNotFound(done.error());
    outcome.at_once = outcome.at_once || reads_again;
    if (done) {
      Solved(where);
      if (target.is_service()) {
        Log().Info("Wrote the Service of the webhooks", {{"object", target.ToString()}});
        continue;
      }
      if (parts_.metrics) parts_.metrics->Add("kubexx_webhook_ca_injections_total", {});
      Log().Info("Wrote the CA of the webhooks", {{"object", target.ToString()}, {"revision", keeper_.held()->revision}});
    } else if (!reads_again && !ctx.stopped()) {
      Problem(where, done.error());
    }
  }
}

void WebhookCertificates::ReportSecret() {
  if (keeper_.problem().empty()) {
    problems_.erase("Secret");
    return;
  }
  if (problems_.count("Secret") == 0) {
    if (parts_.metrics) parts_.metrics->Add("kubexx_webhook_certificate_errors_total", {});
    Log().Warn("The Secret of the webhooks' CA is not usable", {{"secret", parts_.secret}, {"why", keeper_.problem()}});
    Tell(EventType::kWarning, "WebhookCaNotUsable", keeper_.problem());
  }
  problems_["Secret"] = keeper_.problem();
}

Result<Secret> WebhookCertificates::SendSecret(const Context& ctx, const CaKeeper::Write& write) const {
  const WriteOptions options{.field_manager = parts_.name + "-webhooks"};
  if (write.replaces) {
    // A merge patch keeps the fields that other programs set.
    const Patch patch = Patch::Merge(Value::Object({{"metadata", Value::Object({{"resourceVersion", Value(*write.replaces)}})},
                                                    {"data", Value::Object({{kStateKey, Value(Base64(write.json))}})}}));
    return parts_.client.Patch<Secret>(ctx.WithTimeout(kRequestTimeout), {String(parts_.ns), String(parts_.secret)}, patch, options);
  }
  Secret secret;
  secret.metadata.namespace_ = parts_.ns;
  secret.metadata.name = parts_.secret;
  secret.metadata.labels["app.kubernetes.io/name"] = parts_.name;
  secret.data[kStateKey] = write.json;
  return parts_.client.Create<Secret>(ctx.WithTimeout(kRequestTimeout), secret, options);
}

Result<void> WebhookCertificates::WriteSecret(const Context& ctx, Outcome& outcome) {
  if (!secret_read_) return {};
  ReportSecret();
  CaKeeper::Situation known{.leads = parts_.leads()};
  bool all_read = true;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (parts_.targets[i].is_service()) continue;
    const Seen& seen = seen_[i];
    all_read = all_read && seen.read;
    // A replica that starts decides about trust only with all of it.
    if (!seen.read && !seen.refused && !keeper_.may_inject()) return {};
    if (seen.plan.foreign) continue;
    for (const std::vector<std::string>& place : seen.plan.trusted) {
      for (const std::string& certificate : place) known.trusted += certificate;
    }
  }
  if (keeper_.held() && all_read) known.injected_since = trust_.SinceAll(keeper_.held()->Certificates());
  const bool may_inject = keeper_.may_inject();
  Result<CaKeeper::Decision> decision = keeper_.Next(known, now());
  if (!decision) return decision.error();
  outcome.again = decision->again;
  outcome.at_once = outcome.at_once || (!may_inject && keeper_.may_inject() && !seen_.empty());
  if (!decision->write) return {};
  const CaKeeper::Write& write = *decision->write;
  const Result<Secret> done = SendSecret(ctx, write);
  if (!done) {
    // Another replica was faster: read what it wrote.
    if (IsConflict(done.error()) || IsAlreadyExists(done.error()) || (write.replaces && IsNotFound(done.error()))) {
      outcome.at_once = true;
    } else if (!ctx.stopped()) {
      Problem("write the Secret", done.error());
    }
    return {};
  }
  Solved("write the Secret");
  secret_uid_ = done->metadata.uid.str();
  keeper_.Saw(StoredOf(*done), now());
  outcome.at_once = true;
  if (parts_.metrics) parts_.metrics->Add("kubexx_webhook_ca_writes_total", {{"repair", write.repairs ? "true" : "false"}});
  if (write.repairs) {
    Log().Warn("Repaired the Secret of the webhooks' CA", {{"secret", parts_.secret}, {"what", write.what}});
  } else {
    Log().Info("Wrote the Secret of the webhooks' CA", {{"secret", parts_.secret}, {"what", write.what}});
  }
  Tell(write.repairs ? EventType::kWarning : EventType::kNormal, write.repairs ? "WebhookCaRepaired" : "WebhookCaChanged", write.what);
  return {};
}

Result<void> WebhookCertificates::RenewLeaf(Outcome& outcome) {
  if (!keeper_.held()) return {};
  if (NeedsLeaf(leaf_, *keeper_.held(), now())) {
    Result<WebhookLeaf> leaf = IssueLeaf(*keeper_.held(), parts_.hosts, now(), parts_.times);
    if (!leaf) return leaf.error().WithContext("issue the webhooks' certificate");
    if (Result<void> used = parts_.use({.certificate_pem = leaf->pair.certificate_pem, .key_pem = leaf->pair.key_pem}); !used) return used;
    leaf_ = *std::move(leaf);
    Log().Info(
        "Issued a certificate for the webhooks",
        {{"until", TimeText(leaf_->info.not_after)}, {"fingerprint", leaf_->info.fingerprint}, {"ca_revision", keeper_.held()->revision}});
  }
  if (leaf_->renew_at > now() && (!outcome.again || leaf_->renew_at < *outcome.again)) outcome.again = leaf_->renew_at;
  return {};
}

void WebhookCertificates::ReportMissing(Outcome& outcome) {
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const InjectionTarget& target = parts_.targets[i];
    Seen& seen = seen_[i];
    if (!seen.read) continue;
    if (seen.found && seen.plan.missing.empty()) {
      if (seen.told) Log().Info("An object that the webhooks need exists now", {{"object", target.ToString()}});
      seen.told = false;
      seen.absent_since.reset();
      continue;
    }
    if (seen.told) continue;
    if (!seen.absent_since) seen.absent_since = now();
    // Something installs it now, perhaps another replica.
    const WallTime due = *seen.absent_since + std::chrono::duration_cast<WallTime::duration>(parts_.times.repair_delay);
    if (now() < due) {
      if (!outcome.again || due < *outcome.again) outcome.again = due;
      continue;
    }
    seen.told = true;
    const std::string what = seen.found ? fmt::format("{} lacks {}", target.ToString(), fmt::join(seen.plan.missing, ", "))
                                        : target.ToString() + " was not found";
    Log().Warn("API servers do not call all webhooks of this program", {{"why", what}});
    Tell(EventType::kWarning, "WebhookNotConfigured", what);
  }
}

void WebhookCertificates::Problem(const std::string& where, const Error& error) {
  std::string text = error.ToString();
  std::string& known = problems_[where];
  if (known == text) return;
  known = std::move(text);
  if (parts_.metrics) parts_.metrics->Add("kubexx_webhook_certificate_errors_total", {});
  Log().Error(error, "Could not maintain the certificates of the webhooks; retrying", {{"what", where}});
}

void WebhookCertificates::Solved(const std::string& where) { problems_.erase(where); }

void WebhookCertificates::Tell(EventType type, std::string_view reason, const std::string& note) {
  parts_.events.Event(
      EventObject{
          .api_version = "v1", .kind = "Secret", .ns = String(parts_.ns), .name = String(parts_.secret), .uid = String(secret_uid_)},
      type, reason, "Keep", note);
}

void WebhookCertificates::Publish() {
  Status status;
  if (leaf_) status.leaf = leaf_->info;
  if (keeper_.held()) {
    status.ca = keeper_.held()->current.info;
    status.phase = keeper_.held()->phase();
    status.revision = keeper_.held()->revision;
    status.rotates_at = keeper_.held()->RotatesAt(parts_.times);
  }
  status.secret_problem = keeper_.problem();
  if (leaf_) status.trusted_since = trust_.Since(leaf_->issuer);
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const Seen& seen = seen_[i];
    const auto trusts = [&](const std::vector<std::string>& place) {
      return leaf_ && std::find(place.begin(), place.end(), leaf_->issuer) != place.end();
    };
    const bool all = std::all_of(seen.plan.trusted.begin(), seen.plan.trusted.end(), trusts);
    const InjectionTarget& target = parts_.targets[i];
    const bool has_ca = target.is_service() || (!seen.plan.foreign && !seen.plan.trusted.empty() && all);
    status.targets.push_back({.kind = target.kind.kind.str(),
                              .name = target.name,
                              .state = !seen.read                  ? "cannot be read"
                                       : !seen.found               ? "not found"
                                       : target.is_service()       ? seen.plan.foreign ? "is not this program's" : "is there"
                                       : seen.plan.foreign         ? "cert-manager's"
                                       : seen.plan.trusted.empty() ? "has no webhook of this program"
                                       : all                       ? "has the CA"
                                                                   : "does not have the CA",
                              .missing = seen.plan.missing,
                              .is_service = target.is_service(),
                              .complete = seen.read && seen.found && has_ca && seen.plan.missing.empty()});
  }
  for (const auto& [where, text] : problems_) status.problems.push_back(where + ": " + text);
  MutexLock lock(mu_);
  status_ = std::move(status);
}

Result<void> WebhookCertificates::Ready() const {
  const WallTime at = now();
  MutexLock lock(mu_);
  const auto because = [&](std::string why) KUBE_NO_THREAD_SAFETY_ANALYSIS -> Result<void> {
    if (!status_.problems.empty()) why += fmt::format(" ({})", fmt::join(status_.problems, "; "));
    return Error::Internal(std::move(why));
  };
  if (!status_.leaf) return because("there is no certificate yet");
  if (at < status_.leaf->not_before || at >= status_.leaf->not_after) return because("the certificate is not valid at this time");
  for (const Status::Target& target : status_.targets) {
    if (target.state == "cert-manager's") return because(target.kind + " " + target.name + " is cert-manager's");
  }
  if (!status_.trusted_since) {
    std::vector<std::string> where;
    for (const Status::Target& target : status_.targets) {
      if (!target.is_service && target.state != "has the CA") where.push_back(target.kind + " " + target.name + " " + target.state);
    }
    return because(fmt::format("its CA is not in all configurations: {}", fmt::join(where, ", ")));
  }
  // A time to come: the clock was set back since, so it is not just now.
  if (at >= *status_.trusted_since && at < *status_.trusted_since + parts_.times.ready_wait)
    return because("its CA has just been written into the configurations");
  return {};
}

std::string WebhookCertificates::Note() const {
  std::string out;
  MutexLock lock(mu_);
  for (const Status::Target& target : status_.targets) {
    if (target.complete) continue;
    out += fmt::format("{}{} {} {}", out.empty() ? "" : "; ", target.kind, target.name,
                       target.missing.empty() ? target.state : fmt::format("lacks {}", fmt::join(target.missing, ", ")));
  }
  return out;
}

Value WebhookCertificates::Report() const {
  Value out = Value::Object();
  const auto certificate = [](const serve::CertificateInfo& info) {
    Value value = Value::Object({{"fingerprint", Value(info.fingerprint)},
                                 {"notBefore", Value(TimeText(info.not_before))},
                                 {"notAfter", Value(TimeText(info.not_after))}});
    for (const auto* names : {&info.dns_names, &info.addresses}) {
      for (const std::string& name : *names) value["hosts"].MutableList().push_back(Value(name));
    }
    return value;
  };
  MutexLock lock(mu_);
  out["secret"] = Value(parts_.ns + "/" + parts_.secret);
  if (status_.leaf) out["certificate"] = certificate(*status_.leaf);
  if (status_.ca) {
    out["ca"] = certificate(*status_.ca);
    out["ca"]["revision"] = Value(status_.revision);
    out["ca"]["phase"] = Value(status_.phase);
    if (status_.rotates_at) out["ca"]["rotatesAt"] = Value(TimeText(*status_.rotates_at));
  }
  List<Value> targets;
  for (const Status::Target& target : status_.targets) {
    Value value = Value::Object({{"kind", Value(target.kind)}, {"name", Value(target.name)}, {"state", Value(target.state)}});
    for (const std::string& name : target.missing) value["missing"].MutableList().push_back(Value(name));
    targets.push_back(std::move(value));
  }
  out["configurations"] = Value(std::move(targets));
  for (const std::string& problem : status_.problems) out["problems"].MutableList().push_back(Value(problem));
  return out;
}

void WebhookCertificates::Collect(MetricsSink& sink) const {
  const WallTime at = now();
  MutexLock lock(mu_);
  const auto expiry = [&](const char* which, const std::optional<serve::CertificateInfo>& info) {
    if (info) sink.Set("kubexx_webhook_certificate_expiry_seconds", {{"certificate", which}}, SecondsUntil(info->not_after, at));
  };
  expiry("serving", status_.leaf);
  expiry("ca", status_.ca);
  for (const Status::Target& target : status_.targets)
    sink.Set("kubexx_webhook_object_complete", {{"kind", target.kind}, {"name", target.name}}, target.complete ? 1 : 0);
}

}  // namespace kube::internal
