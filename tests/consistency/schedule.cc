#include "schedule.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"

namespace kube::consistency {
namespace {

using testing::ApiServer;
using testing::Fault;
using testing::FaultKind;

constexpr const char* kNamespaces[] = {"red", "green", "default"};
constexpr int kNames = 6;
// Real time that waiting for threads may take before something is wrong; far more than it does.
constexpr std::chrono::seconds kPatience{120};

ClientConfig ConfigOf(const ApiServer& server) {
  ClientConfig config = ToClientConfig(Kubeconfig::Parse(server.Kubeconfig()).value()).value();
  config.qps = -1;
  return config;
}

template <typename T>
std::string Outcome(const Result<T>& result) {
  return result ? "ok" : result.error().ToString();
}

}  // namespace

// ---- World ----

World::World(bool tls) {
  server_ = ApiServer::Start({.http = !tls, .clock = clock_}).value();
  const ClientConfig config = ConfigOf(*server_);
  admin_ = std::make_unique<Client>(Client::FromConfig(config).value());
  client_ = std::make_unique<Client>(Client::FromConfig(config, {.clock = clock_}).value());
  MakeNamespaces();
}

void World::MakeNamespaces() {
  for (const char* ns : kNamespaces) {
    if (ns == std::string_view("default")) continue;
    (void)server_->Load("{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {\"name\": \"" + std::string(ns) + "\"}}");
  }
}

void World::Reset() {
  server_->ClearFaults();
  for (const char* ns : kNamespaces) (void)admin_->DeleteCollection<ConfigMap>(RealTime(), {.ns = ns});
}

void World::Restart(bool keep_state) {
  (void)server_->Restart(keep_state);
  if (!keep_state) MakeNamespaces();
}

// ---- Schedule ----

Schedule::Schedule(World& world, std::uint64_t seed) : world_(world), seed_(seed), random_(seed) {}

std::string Schedule::Run() {
  world_.Reset();
  options_ = {.ns = Chance(70) ? "" : "red",
              .label_selector = Chance(70) ? "" : "color=blue",
              .resync = Chance(50) ? std::chrono::seconds(0) : std::chrono::seconds(30),
              .strip_managed_fields = false,
              .share = Chance(80),
              .watch_list = Chance(50)};
  Note("informer: namespace \"" + options_.ns + "\", labels \"" + options_.label_selector + "\", " +
       (options_.watch_list ? "streams" : "lists") + (options_.resync.count() > 0 ? ", resyncs" : ""));
  factory_ = std::make_unique<InformerFactory>(world_.client());
  informer_ = std::make_unique<SharedInformer<ConfigMap>>(factory_->For<ConfigMap>(options_));
  for (std::uint64_t i = Draw(8); i > 0; --i) Write();
  AddHandler();
  factory_->Start(world_.virtual_time());
  for (std::uint64_t i = 15 + Draw(30); i > 0 && problems_.empty(); --i) Step();
  Heal();
  Compare();
  // Users of an informer go in any order.
  if (Chance(50)) {
    while (!handlers_.empty()) RemoveHandler();
    factory_->Shutdown();
  } else {
    factory_->Shutdown();
    for (Entry& entry : handlers_) entry.recorder->Retire();
    handlers_.clear();
  }
  informer_.reset();
  factory_.reset();
  for (const auto& recorder : recorders_) {
    for (const std::string& mistake : recorder->mistakes()) Problem(mistake);
  }
  return problems_.empty() ? "" : Report();
}

void Schedule::Step() {
  const std::uint64_t what = Draw(100);
  if (what < 55) {
    for (std::uint64_t i = Chance(20) ? 5 : 1; i > 0; --i) Write();
  } else if (what < 63) {
    WaitForLastWrite();
  } else if (what < 75) {
    AddFault();
  } else if (what < 79) {
    Disturb();
  } else if (what < 83) {
    AddHandler();
  } else if (what < 86) {
    RemoveHandler();
  } else if (what < 90) {
    BlockOrUnblock();
  } else {
    MoveTime();
  }
  LookAtCache();
}

// A while for the threads, or until the informer has what was written last. Either is fine, but what it says has to be true.
void Schedule::WaitForLastWrite() {
  if (!last_write_) return;
  Note("wait a little for version " + last_write_->metadata.resource_version.str());
  const Context a_while = Context::Background().WithTimeout(std::chrono::milliseconds(3));
  const ObjectKey key = KeyOf(*last_write_);
  if (!informer_->WaitUntilSeen(a_while, key, last_write_->metadata.resource_version.view())) return;
  const bool wanted = (options_.ns.empty() || options_.ns == key.ns) &&
                      (options_.label_selector.empty() || last_write_->metadata.labels.Get("color") == "blue");
  const Ptr<ConfigMap> cached = informer_->indexer().Get(key);
  if (lossy_ || !wanted) return;
  if (cached == nullptr || VersionOf(*cached) < VersionOf(*last_write_)) Problem("it was seen, but is not in the cache: " + key.ToString());
}

void Schedule::Write() {
  ObjectKey key{kNamespaces[Draw(3)], String("m" + std::to_string(Draw(kNames)))};
  const std::string number = std::to_string(++writes_);
  const bool blue = Chance(60);
  const std::uint64_t what = Draw(100);
  if (what >= 40 && !known_.empty() && Chance(75)) key = *std::next(known_.begin(), static_cast<std::ptrdiff_t>(Draw(known_.size())));
  if (refusing_) {
    // No client can connect; the server itself still can.
    Note("create inside the server: " + key.ToString());
    (void)world_.server().Load("{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"namespace\": \"" + key.ns.str() +
                               "\", \"name\": \"" + key.name.str() + "\", \"labels\": {\"color\": \"blue\"}}}");
    return;
  }
  Result<ConfigMap> written = Error::Invalid("not asked for");
  if (what < 40) {
    ConfigMap object;
    object.metadata.namespace_ = key.ns;
    object.metadata.name = key.name;
    if (blue) object.metadata.labels["color"] = "blue";
    object.data["n"] = number;
    object.data["text"] = std::string(Draw(300), 'x');
    written = world_.admin().Create(World::RealTime(), object);
    Note("create " + key.ToString() + (blue ? " blue: " : ": ") + Outcome(written));
  } else if (what < 80) {
    written =
        world_.admin().Patch<ConfigMap>(World::RealTime(), key,
                                        Patch::Merge("{\"metadata\": {\"labels\": {\"color\": " + std::string(blue ? "\"blue\"" : "null") +
                                                     "}}, \"data\": {\"n\": \"" + number + "\"}}"));
    Note("update " + key.ToString() + (blue ? " blue: " : ": ") + Outcome(written));
  } else {
    const Result<void> deleted = world_.admin().Delete<ConfigMap>(World::RealTime(), key);
    Note("delete " + key.ToString() + ": " + Outcome(deleted));
    if (last_write_ && KeyOf(*last_write_) == key) last_write_.reset();
    known_.erase(key);
  }
  if (!written) return;
  Note("  version " + written->metadata.resource_version.str());
  last_write_ = *std::move(written);
  known_.insert(key);
}

// Affects only requests that the informer sends.
void Schedule::AddFault() {
  static constexpr int kStatuses[] = {429, 429, 500, 503, 504};
  Fault fault{
      .verb = Chance(options_.watch_list ? 20 : 50) ? "list" : "watch", .resource = "configmaps", .times = static_cast<int>(1 + Draw(3))};
  switch (Draw(10)) {
    case 0:
    case 1:
      fault.kind = FaultKind::kStatus;
      fault.status = kStatuses[Draw(5)];
      fault.retry_after_seconds = Chance(50) ? -1 : static_cast<int>(Draw(5));
      break;
    case 2:
      fault.kind = FaultKind::kDrop;
      break;
    case 3:
      fault.kind = FaultKind::kCut;
      fault.bytes = Draw(2000);
      break;
    case 4:
      fault.kind = FaultKind::kGone;
      break;
    case 5:
      fault.kind = FaultKind::kStall;
      break;
    case 6:
      fault.kind = FaultKind::kDuplicateEvent;
      fault.verb = "watch";
      ordered_ = false;
      break;
    case 7:
      fault.kind = FaultKind::kReorderEvents;
      fault.verb = "watch";
      ordered_ = false;
      lossy_ = true;
      break;
    case 8:
      fault.kind = FaultKind::kDelay;
      fault.delay = std::chrono::milliseconds(Draw(20));
      break;
    default:
      fault.kind = FaultKind::kDropEvent;
      fault.verb = "watch";
      lossy_ = true;
      break;
  }
  Note("fault " + std::string(ToString(fault.kind)) + " of " + fault.verb + ", " + std::to_string(fault.times) + " times, status " +
       std::to_string(fault.status) + ", retry after " + std::to_string(fault.retry_after_seconds) + ", bytes " +
       std::to_string(fault.bytes));
  world_.server().AddFault(std::move(fault));
}

void Schedule::Disturb() {
  switch (Draw(9)) {
    case 0:
      Note("compact");
      world_.server().Compact();
      break;
    case 1:
      Note("close connections");
      world_.server().CloseConnections();
      break;
    case 2:
      if (refusing_) return;
      Note("restart with its state");
      world_.Restart(true);
      break;
    case 3:
      if (refusing_) return;
      Note("restart without its state");
      world_.Restart(false);
      last_write_.reset();
      known_.clear();
      break;
    case 4:
    case 5:
      Note(refusing_ ? "accept" : "refuse");
      if (!refusing_) {
        world_.server().Refuse();
        world_.server().CloseConnections();
      } else if (const Result<void> accepted = world_.server().Accept(); !accepted) {
        Problem("the server does not come back: " + accepted.error().ToString());
      }
      refusing_ = !refusing_;
      break;
    case 6:
      Note("the client's wall clock jumps");
      world_.clock().SetWallNow(world_.clock().WallNow() + std::chrono::seconds(static_cast<std::int64_t>(Draw(7200)) - 3600));
      break;
    case 7:
      if (indexed_) return;
      Note("an index by color");
      indexed_ = true;
      if (!informer_->AddIndex("color", [](const ConfigMap& object) { return std::vector<String>{object.metadata.labels.Get("color")}; })) {
        Problem("the index cannot be added");
      }
      break;
    default:
      Note("the server's clock is wrong");
      world_.server().SetClockSkew(std::chrono::seconds(static_cast<std::int64_t>(Draw(7200)) - 3600));
      break;
  }
}

void Schedule::AddHandler() {
  if (handlers_.size() >= 4) return;
  RecorderOptions options{.name = "h" + std::to_string(recorders_.size()),
                          .throw_every = Chance(25) ? static_cast<int>(1 + Draw(5)) : 0,
                          .only_blue = Chance(25),
                          .quick = Chance(40)};
  Note("handler " + options.name + (options.throw_every > 0 ? ", throws" : "") + (options.only_blue ? ", only blue" : "") +
       (options.quick ? ", quick" : ""));
  auto recorder = std::make_shared<Recorder>(options);
  if (Chance(15) && !options.quick) recorder->Block();
  HandlerOptions handler_options{.name = options.name, .quick = options.quick};
  if (Chance(30)) handler_options.resync = std::chrono::seconds(Draw(90));
  Result<HandlerRegistration> registration = informer_->AddEventHandler(recorder->Handler(), handler_options);
  recorders_.push_back(recorder);
  if (!registration) {
    Problem("handler " + options.name + " cannot be added: " + registration.error().ToString());
    return;
  }
  handlers_.push_back({std::move(recorder), *std::move(registration)});
}

void Schedule::RemoveHandler() {
  if (handlers_.empty()) return;
  const auto at = handlers_.begin() + static_cast<std::ptrdiff_t>(Draw(handlers_.size()));
  Note("remove handler " + at->recorder->options().name);
  const std::shared_ptr<Recorder> recorder = at->recorder;
  recorder->Unblock();  // the destructor waits for a call that runs
  handlers_.erase(at);
  recorder->Retire();
}

void Schedule::BlockOrUnblock() {
  if (handlers_.empty()) return;
  Recorder& recorder = *handlers_[Draw(handlers_.size())].recorder;
  const bool block = Chance(50) && !recorder.options().quick;
  Note((block ? "block handler " : "unblock handler ") + recorder.options().name);
  if (block) {
    recorder.Block();
  } else {
    recorder.Unblock();
  }
}

void Schedule::MoveTime() {
  static constexpr int kMilliseconds[] = {1, 800, 1000, 2000, 5000, 5000, 31000, 31000, 61000, 300000, 660000};
  const int by = kMilliseconds[Draw(std::size(kMilliseconds))];
  Note("time +" + std::to_string(by) + "ms");
  world_.clock().Advance(std::chrono::milliseconds(by));
}

// What readers may see at any time never moves backwards.
void Schedule::LookAtCache() {
  for (const auto& [key, object] : CacheView()) {
    std::uint64_t& newest = seen_[key];
    if (VersionOf(*object) < newest) {
      Problem("the cache went back from " + std::to_string(newest) + " to " + std::to_string(VersionOf(*object)) + " at " + key.ToString());
    }
    newest = std::max(newest, VersionOf(*object));
  }
  const std::string text = informer_->indexer().resource_version();
  const std::uint64_t version = text.empty() ? 0 : std::stoull(text);
  if (ordered_ && !lossy_ && version < last_version_) {
    Problem("the cache's version went back from " + std::to_string(last_version_) + " to " + text);
  }
  last_version_ = version;
}

// ---- The end ----

View Schedule::CacheView() const {
  View view;
  for (const Ptr<ConfigMap>& object : informer_->lister().List()) view[KeyOf(*object)] = object;
  return view;
}

View Schedule::ServerView() {
  View view;
  const ListOptions what{.ns = options_.ns, .label_selector = options_.label_selector};
  const Result<ObjectList<ConfigMap>> list = world_.admin().List<ConfigMap>(World::RealTime(), what);
  if (!list) {
    Problem("the server does not list: " + list.error().ToString());
    return view;
  }
  for (const ConfigMap& object : list->items) view[KeyOf(object)] = std::make_shared<ConfigMap>(object);
  return view;
}

// A lost event cannot be detected. So the informer is made to list: it is cut off during a change that the server has forgotten by the time
// the informer reconnects.
void Schedule::ForceRelist() {
  Note("force a new list");
  ApiServer& server = world_.server();
  server.Refuse();
  server.CloseConnections();
  const auto until = std::chrono::steady_clock::now() + kPatience;
  // A connection that survived would deliver the change below, and the informer, which missed nothing then, would have no need to list.
  while (server.connections() > 0) {
    if (std::chrono::steady_clock::now() > until) {
      Problem("the server does not close its connections");
      break;
    }
    (void)Context::Background().SleepFor(std::chrono::milliseconds(1));
  }
  while (informer_->status().reflector.state != ReflectorState::kWaiting) {
    if (std::chrono::steady_clock::now() > until) {
      Problem("the informer does not notice that the server is gone: " + informer_->status().ToString());
      break;
    }
    (void)Context::Background().SleepFor(std::chrono::milliseconds(1));
    world_.clock().Advance(std::chrono::milliseconds(500));
  }
  (void)server.Load(
      "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"namespace\": \"red\", \"generateName\": \"relist-\"}}");
  server.Compact();
  if (const Result<void> accepted = server.Accept(); !accepted) Problem("the server does not come back: " + accepted.error().ToString());
}

void Schedule::Heal() {
  Note("heal");
  ApiServer& server = world_.server();
  server.ClearFaults();
  if (refusing_) {
    if (const Result<void> accepted = server.Accept(); !accepted) Problem("the server does not come back: " + accepted.error().ToString());
    refusing_ = false;
  }
  server.SetClockSkew(std::chrono::seconds(0));
  for (Entry& entry : handlers_) entry.recorder->Unblock();
  if (lossy_) ForceRelist();
}

void Schedule::Compare() {
  ConfigMap marker;
  marker.metadata = {.name = "marker", .namespace_ = "red", .labels = {{"color", "blue"}}};
  Result<ConfigMap> written = world_.admin().Create(World::RealTime(), marker);
  // The connection that the last disturbance cut may only be found out now.
  for (int tries = 0; !written && written.error().kind() == ErrorKind::kTransport && tries < 5; ++tries) {
    marker.metadata.name = "marker" + std::to_string(tries);
    written = world_.admin().Create(World::RealTime(), marker);
  }
  if (!written) {
    Problem("the last object cannot be written: " + written.error().ToString());
    return;
  }
  const View wanted = ServerView();
  // Time moves as far as any wait of the informer may need, the faster the longer it takes.
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (int round = 0; !Difference(CacheView(), wanted).empty(); ++round) {
    if (std::chrono::steady_clock::now() > until) {
      Problem("the cache (first) and the server (second) differ:\n" + Difference(CacheView(), wanted) + "  " +
              informer_->status().ToString());
      return;
    }
    const Context a_while = Context::Background().WithTimeout(std::chrono::milliseconds(round < 20 ? 2 : 20));
    const Result<void> seen = informer_->WaitUntilSeen(a_while, KeyOf(*written), written->metadata.resource_version.view());
    if (seen) (void)a_while.SleepFor(std::chrono::milliseconds(round));
    world_.clock().Advance(round < 20 ? std::chrono::milliseconds(500) : std::chrono::seconds(10));
  }
  LookAtCache();
  const View cache = CacheView();
  const auto blue = static_cast<std::size_t>(
      std::count_if(cache.begin(), cache.end(), [](const auto& each) { return each.second->metadata.labels.Get("color") == "blue"; }));
  if (informer_->lister().List(*Selector::Parse("color=blue")).size() != blue) Problem("the lister does not find all blue objects");
  if (indexed_ && informer_->indexer().ByIndex("color", "blue").value().size() != blue) Problem("the index does not find all blue objects");
  for (const Entry& entry : handlers_) {
    View view = cache;
    if (entry.recorder->options().only_blue) {
      std::erase_if(view, [](const auto& each) { return each.second->metadata.labels.Get("color") != "blue"; });
    }
    if (!entry.recorder->WaitFor(view, kPatience)) {
      Problem("handler " + entry.recorder->options().name + " (first) and the cache (second) differ:\n" +
              Difference(entry.recorder->view(), view));
    }
    if (const Result<void> synced = entry.registration.WaitForSync(World::RealTime()); !synced) {
      Problem("handler " + entry.recorder->options().name + " has not synced: " + synced.error().ToString());
    }
  }
}

std::string Schedule::Report() const {
  std::string text = "seed " + std::to_string(seed_) + "\n" + problems_ + "What was done:\n";
  for (const std::string& step : trace_) text += "    " + step + "\n";
  for (const auto& recorder : recorders_) text += "Calls of " + recorder->options().name + ":\n" + recorder->History();
  return text;
}

}  // namespace kube::consistency
