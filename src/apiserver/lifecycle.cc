#include "apiserver/lifecycle.h"

#include <algorithm>
#include <utility>

#include "apiserver/crd.h"
#include "apiserver/errors.h"
#include "apiserver/object_meta.h"

namespace kube::apiserver {
namespace {

constexpr std::string_view kNamespaces = "/namespaces";
constexpr std::string_view kForeground = "foregroundDeletion";

const Value* OwnerReference(const Value& object, const std::string& uid) {
  for (const Value& reference : MetaOf(object)["ownerReferences"].list()) {
    if (reference["uid"].string_value() == uid) return &reference;
  }
  return nullptr;
}

void RemoveOwner(Value& object, const std::string& uid) {
  Value& meta = object["metadata"];
  meta["ownerReferences"].MutableList().erase_if([&](const Value& r) { return r["uid"].string_value() == uid; });
  DropEmpty(meta, "ownerReferences");
}

}  // namespace

Lifecycle::Lifecycle(ApiCore& core) : core_(core) {
  core_.store().OnChange([this](const std::string& resource, const StoreEvent& event) { OnChange(resource, event); });
}

Lifecycle::~Lifecycle() { Stop(); }

void Lifecycle::Start() {
  {
    MutexLock lock(mu_);
    stop_ = false;
  }
  thread_.emplace("kube-lifecycle", [this] { Run(); });
}

void Lifecycle::Stop() {
  {
    MutexLock lock(mu_);
    stop_ = true;
    changed_.NotifyAll();
  }
  thread_.reset();
}

void Lifecycle::Forget() {
  MutexLock lock(mu_);
  queue_.clear();
  queued_.clear();
  by_uid_.clear();
  dependents_.clear();
}

bool Lifecycle::WaitIdle(std::chrono::milliseconds limit) {
  auto deadline = std::chrono::steady_clock::now() + limit;
  MutexLock lock(mu_);
  while (busy_ || !queue_.empty()) {
    if (!changed_.WaitUntil(mu_, deadline)) return !busy_ && queue_.empty();
  }
  return true;
}

void Lifecycle::Enqueue(Place place) {
  if (!queued_.insert(place).second) return;
  queue_.push_back(std::move(place));
  changed_.NotifyAll();
}

void Lifecycle::OnChange(const std::string& resource, const StoreEvent& event) {
  const StoredObject& object = *event.object;
  Place place{resource, object.ns, object.name, object.uid};
  MutexLock lock(mu_);
  if (event.previous != nullptr) {
    for (const std::string& owner : event.previous->owners) {
      auto it = dependents_.find(owner);
      if (it == dependents_.end()) continue;
      it->second.erase(place);
      if (it->second.empty()) dependents_.erase(it);
      // An owner may wait for just this reference to go or to block no longer.
      auto waiting = by_uid_.find(owner);
      if (waiting == by_uid_.end() || event.type == EventType::kDeleted) continue;
      ObjectPtr object_of = core_.store().Get(waiting->second.resource, waiting->second.ns, waiting->second.name);
      if (object_of && object_of->deleting) Enqueue(waiting->second);
    }
  }
  // Changes may be reported out of order: the state kept here is what the store has now.
  ObjectPtr live = event.type == EventType::kDeleted ? nullptr : core_.store().Get(resource, object.ns, object.name);
  if (live && live->uid != object.uid) live = nullptr;
  if (!live) {
    by_uid_.erase(object.uid);
    if (auto it = dependents_.find(object.uid); it != dependents_.end()) {
      for (const Place& dependent : it->second) Enqueue(dependent);
    }
    // An owner that waits for its dependents, and a namespace that waits for its content, may go on.
    for (const std::string& owner : object.owners) {
      if (auto it = by_uid_.find(owner); it != by_uid_.end()) Enqueue(it->second);
    }
    if (!object.ns.empty()) Enqueue({std::string(kNamespaces), "", object.ns, ""});
    // The CRD of "example.com/carts" is "carts.example.com".
    if (std::size_t slash = resource.find('/'); slash != 0 && slash != std::string::npos) {
      Enqueue({std::string(kCrdStorage), "", resource.substr(slash + 1) + "." + resource.substr(0, slash), ""});
    }
    return;
  }
  by_uid_[object.uid] = place;
  for (const std::string& owner : live->owners) dependents_[owner].insert(place);
  if (live->deleting || !live->owners.empty()) Enqueue(place);
}

std::vector<Lifecycle::Place> Lifecycle::DependentsOf(const std::string& uid) const {
  MutexLock lock(mu_);
  auto it = dependents_.find(uid);
  if (it == dependents_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

bool Lifecycle::Exists(const std::string& uid) const {
  MutexLock lock(mu_);
  return by_uid_.contains(uid);
}

void Lifecycle::Run() {
  for (;;) {
    Place place;
    {
      MutexLock lock(mu_);
      while (!stop_ && queue_.empty()) changed_.Wait(mu_);
      if (stop_) return;
      place = std::move(queue_.front());
      queue_.pop_front();
      queued_.erase(place);
      busy_ = true;
    }
    Process(place);
    MutexLock lock(mu_);
    busy_ = false;
    if (queue_.empty()) changed_.NotifyAll();
  }
}

void Lifecycle::Process(const Place& place) {
  if (place.resource == kNamespaces) {
    ProcessNamespace(place.name);
    return;
  }
  ResourcePtr resource = core_.registry().current()->FindStorage(place.resource);
  if (!resource) return;
  ObjectPtr current = core_.store().Get(place.resource, place.ns, place.name);
  if (!current || (!place.uid.empty() && current->uid != place.uid)) return;
  Value object = current->Parse();
  if (current->deleting) {
    if (place.resource == kCrdStorage && HasFinalizer(object, kCrdCleanup)) ProcessCrd(object);
    ProcessDeleting(*resource, place, object);
  } else if (!current->owners.empty()) {
    ProcessOwners(*resource, place, object);
  }
}

void Lifecycle::ProcessDeleting(const ServedResource& resource, const Place& place, const Value& object) {
  bool orphan = HasFinalizer(object, "orphan"), foreground = HasFinalizer(object, kForeground);
  if (!orphan && !foreground) return;
  bool blocked = false;
  for (const Place& dependent : DependentsOf(place.uid)) {
    ResourcePtr other = core_.registry().current()->FindStorage(dependent.resource);
    ObjectPtr current = core_.store().Get(dependent.resource, dependent.ns, dependent.name);
    if (!other || !current || current->uid != dependent.uid) continue;
    if (orphan) {
      (void)core_.Rewrite(*other, dependent.ns, dependent.name, [&](const Value& live) -> Result<Value> {
        Value next = live;
        RemoveOwner(next, place.uid);
        return next;
      });
      continue;
    }
    Value value = current->Parse();
    const Value* reference = OwnerReference(value, place.uid);
    if (reference == nullptr) continue;
    if (!current->deleting) {
      bool only_owner = true;
      for (const std::string& owner : current->owners) only_owner = only_owner && (owner == place.uid || !Exists(owner));
      if (only_owner) {
        // A dependent that has dependents of its own is deleted after them.
        std::string policy = DependentsOf(dependent.uid).empty() ? "Background" : "Foreground";
        (void)core_.DeleteObject(*other, dependent.ns, dependent.name, {.uid = dependent.uid, .propagation = policy});
      } else {
        (void)core_.Rewrite(*other, dependent.ns, dependent.name, [&](const Value& live) -> Result<Value> {
          Value next = live;
          RemoveOwner(next, place.uid);
          return next;
        });
        continue;
      }
    }
    ObjectPtr still = core_.store().Get(dependent.resource, dependent.ns, dependent.name);
    if (still && still->uid == dependent.uid && (*reference)["blockOwnerDeletion"].bool_value()) blocked = true;
  }
  if (blocked) return;
  (void)core_.Rewrite(resource, place.ns, place.name, [&](const Value& live) -> Result<Value> {
    Value next = live;
    RemoveFinalizer(next, orphan ? "orphan" : kForeground);
    return next;
  });
}

void Lifecycle::ProcessOwners(const ServedResource& resource, const Place& place, const Value& object) {
  std::vector<std::string> gone;
  bool any_left = false;
  for (const Value& reference : MetaOf(object)["ownerReferences"].list()) {
    std::string uid = reference["uid"].string_value().str();
    MutexLock lock(mu_);
    auto it = by_uid_.find(uid);
    // A namespaced owner must be in the object's own namespace.
    bool there = it != by_uid_.end() && (it->second.ns.empty() || it->second.ns == place.ns) &&
                 it->second.name == reference["name"].string_value().view();
    if (there) {
      any_left = true;
    } else {
      gone.push_back(std::move(uid));
    }
  }
  if (gone.empty()) return;
  if (!any_left) {
    (void)core_.DeleteObject(resource, place.ns, place.name,
                             {.uid = place.uid, .propagation = HasFinalizer(object, "orphan") ? "Orphan" : "Background"});
    return;
  }
  (void)core_.Rewrite(resource, place.ns, place.name, [&](const Value& live) -> Result<Value> {
    Value next = live;
    for (const std::string& uid : gone) RemoveOwner(next, uid);
    return next;
  });
}

void Lifecycle::ProcessCrd(const Value& crd) {
  std::shared_ptr<const Resources> resources = core_.registry().current();
  std::string storage = crd["spec"]["group"].string_value().str() + "/" + crd["spec"]["names"]["plural"].string_value().str();
  ResourcePtr resource = resources->FindStorage(storage);
  ResourcePtr definitions = resources->Find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  (void)core_.Rewrite(*definitions, "", NameOf(crd), [this](const Value& live) -> Result<Value> {
    Value next = live;
    SetCrdCondition(next, "Terminating", true, "InstanceDeletionInProgress", "CustomResource deletion is in progress", core_.Now());
    return next;
  });
  bool empty = true;
  for (const ObjectPtr& object : core_.store().List(storage, "").objects) {
    if (resource && !object->deleting) (void)core_.DeleteObject(*resource, object->ns, object->name, {.propagation = "Background"});
    if (core_.store().Get(storage, object->ns, object->name)) empty = false;
  }
  if (!empty) return;
  (void)core_.Rewrite(*definitions, "", NameOf(crd), [](const Value& live) -> Result<Value> {
    Value next = live;
    RemoveFinalizer(next, kCrdCleanup);
    return next;
  });
}

void Lifecycle::ProcessNamespace(const std::string& name) {
  ObjectPtr ns = core_.store().Get(std::string(kNamespaces), "", name);
  if (!ns || !ns->deleting) return;
  std::shared_ptr<const Resources> resources = core_.registry().current();
  bool empty = true;
  for (const auto& [resource_name, object] : core_.store().All()) {
    if (object->ns != name) continue;
    ResourcePtr resource = resources->FindStorage(resource_name);
    if (!resource) continue;
    if (!object->deleting) (void)core_.DeleteObject(*resource, object->ns, object->name, {.grace_seconds = 0, .propagation = "Background"});
    ObjectPtr still = core_.store().Get(resource_name, object->ns, object->name);
    if (still) empty = false;
  }
  if (!empty) return;
  ResourcePtr namespaces = resources->Find("", "v1", "namespaces");
  (void)core_.Rewrite(*namespaces, "", name, [](const Value& live) -> Result<Value> {
    Value next = live;
    Value& spec = next["spec"];
    spec["finalizers"].MutableList().erase_if([](const Value& f) { return f.string_value() == "kubernetes"; });
    DropEmpty(spec, "finalizers");
    return next;
  });
}

}  // namespace kube::apiserver
