// MigrateStorage: rewrites all objects of a custom resource in its storage version, so that older versions can be removed.
//
//   Result<StorageMigration> done = MigrateStorage(ctx, client, "widgets.example.com", {.qps = 50});
//   if (done && done->trimmed) ...           // status.storedVersions has only the storage version left
//
// Each object is written back unchanged; the server stores it in the version that it stores now. `kubexx migrate storage` is the same as a
// command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"

namespace kube {

class Client;

// How far a migration is. It is for one definition in one state: a run with progress of another starts from the beginning.
struct StorageMigrationProgress {
  std::string uid{};                         // of the definition
  std::int64_t generation = 0;               // of the definition
  std::string storage_version{};             // that objects are rewritten in
  std::string after{};                       // "namespace/name" of the last object that is done; objects are in the order of these texts
  std::uint64_t objects = 0;                 // that were seen, those of earlier runs included
  std::optional<std::uint64_t> remaining{};  // objects, if the server says how many
};

struct StorageMigrationOptions {
  double qps = 20;               // writes a second; 0: no limit
  std::int64_t page_size = 500;  // objects that are listed at a time
  // The server checks every write and stores none.
  bool dry_run = false;
  // Continues where an earlier run ended. Without it, everything is written again, which only costs time.
  StorageMigrationProgress resume{};
  // Called on the calling thread after each page, each hundredth object, and when the run is stopped within a page.
  std::function<void(const StorageMigrationProgress&)> on_progress{};
};

struct StorageMigration {
  std::string storage_version{};
  std::vector<std::string> stored_versions{};  // as they were before
  std::uint64_t skipped = 0;                   // done by an earlier run
  std::uint64_t rewritten = 0;
  std::uint64_t changed_by_others = 0;  // meanwhile, so they are in the storage version too if all API servers have the definition
  std::uint64_t deleted = 0;            // meanwhile
  std::uint64_t failed = 0;
  std::vector<std::string> failures{};  // the first 100: "default/a: ..."
  bool trimmed = false;                 // status.storedVersions has only the storage version now, or had before
  std::string not_trimmed_because{};
};

// Reads the definition first; if status.storedVersions has only the storage version, there is nothing to do. status.storedVersions is
// trimmed at the end, only if every object was rewritten and the definition's spec did not change meanwhile. Stopping or killing the
// program at any moment is safe: it leaves objects that are all valid, and a status that names all versions that may be stored.
//
// With several API servers, start it at least a minute after the storage version changed. An API server that still has the old definition
// stores objects in the old version, so neither a write nor a conflict proves the new one before.
//
// Thread safety: may run on several replicas at once.
// Blocking and cancellation: as long as it takes; ends with the context.
// Errors: kApi (IsNotFound: no such definition; IsForbidden), kTransport, the context's; kInvalid for a definition without served versions.
//   Objects that the server refuses, or that cannot be decoded, are no error but counted as failed.
// Cost: a request per object, `qps` at most, and one per page.
KUBE_EXPORT Result<StorageMigration> MigrateStorage(const Context& ctx, const Client& client, const std::string& crd,
                                                    const StorageMigrationOptions& options = {});

}  // namespace kube
