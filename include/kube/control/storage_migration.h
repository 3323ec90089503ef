// MigrateStorage: rewrites all objects of a custom resource in its storage version, so that older versions can be removed.
//
//   Result<StorageMigration> done = MigrateStorage(ctx, client, "widgets.example.com", {.qps = 50});
//   if (done && done->trimmed) ...           // status.storedVersions has only the storage version left
//
// Each object is written back unchanged, and the API server stores it in the current storage version. `kubexx migrate storage` does the
// same from the command line.
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

// Progress of a migration, valid for one definition in one state. A run that gets progress of another one starts from the beginning.
struct StorageMigrationProgress {
  std::string uid{};              // of the definition
  std::int64_t generation = 0;    // of the definition
  std::string storage_version{};  // the version that objects are rewritten in
  // "namespace/name" of the last finished object. Objects are processed in this order.
  std::string after{};
  std::uint64_t objects = 0;                 // seen so far, including earlier runs
  std::optional<std::uint64_t> remaining{};  // objects left, if the server reports it
};

// Options of MigrateStorage.
struct StorageMigrationOptions {
  double qps = 20;               // writes per second; 0 means no limit
  std::int64_t page_size = 500;  // objects per list request
  // Sends every write as a server-side dry run.
  bool dry_run = false;
  // Continues an earlier run. Without it everything is written again, which is safe but slower.
  StorageMigrationProgress resume{};
  // Called on the calling thread after each page, each hundredth object, and when the run is stopped within a page.
  std::function<void(const StorageMigrationProgress&)> on_progress{};
};

// The outcome of MigrateStorage.
struct StorageMigration {
  std::string storage_version{};
  std::vector<std::string> stored_versions{};  // before the migration
  std::uint64_t skipped = 0;                   // done by an earlier run
  std::uint64_t rewritten = 0;                 // written by this run
  // Objects that other clients wrote meanwhile. They are in the storage version too if all API servers have the definition.
  std::uint64_t changed_by_others = 0;
  std::uint64_t deleted = 0;            // meanwhile
  std::uint64_t failed = 0;             // rejected or not decodable; the first are in `failures`
  std::vector<std::string> failures{};  // the first 100: "default/a: ..."
  // Whether status.storedVersions now has only the storage version (or already had).
  bool trimmed = false;
  std::string not_trimmed_because{};  // the reason, if status.storedVersions was not trimmed
};

// Reads the definition first. If status.storedVersions has only the storage version, there is nothing to do. status.storedVersions is
// trimmed at the end, but only if every object was rewritten and the definition's spec did not change meanwhile. The program may be stopped
// or killed at any moment: all objects stay valid, and status.storedVersions names every version that may be stored.
//
// With several API servers, start at least a minute after the storage version changed. An API server with the old definition still stores
// the old version, so before that neither a write nor a conflict proves that the new version is stored.
//
// Thread safety: may run on several replicas at once.
// Blocking and cancellation: as long as it takes; ends with the context.
// Errors: kApi (IsNotFound: no such definition; IsForbidden), kTransport, the context's; kInvalid if the definition has no served versions.
//   Objects that the server rejects, or that cannot be decoded, are counted as failed.
// Cost: one request per object, at most `qps` per second, and one per page.
KUBE_EXPORT Result<StorageMigration> MigrateStorage(const Context& ctx, const Client& client, const std::string& crd,
                                                    const StorageMigrationOptions& options = {});

}  // namespace kube
