// pod_watch: prints what happens to the pods of a namespace until the server ends the watch, or Ctrl-C.
//
//   pod_watch [--kubeconfig FILE] [--context NAME] [--namespace NAME] [--timeout SECONDS]
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include "kube/api/core/v1.h"
#include "kube/base/context.h"
#include "kube/client/client.h"
#include "kube/client/config_flags.h"

using kube::core::v1::Pod;

int main(int argc, char** argv) {
  kube::ConfigFlags flags("pod_watch");
  std::optional<std::int64_t> timeout;
  flags.Add("timeout", &timeout, "seconds after which the server ends the watch");
  return flags.Run(argc, argv, [&](const kube::Context& ctx, const kube::Client& client) {
    // [watch]
    kube::Watcher<Pod> watcher =
        client.Watch<Pod>(ctx, {.ns = client.default_namespace(), .bookmarks = true, .timeout_seconds = timeout}).value();
    std::cerr << "watching the pods of namespace " << client.default_namespace() << std::endl;
    while (const std::optional<kube::WatchEvent<Pod>> event = watcher.Next(ctx).value()) {
      const kube::String& name = event->object.metadata.name;
      switch (event->type) {
        case kube::WatchEventType::kAdded:
          std::cout << "added event from " << name << std::endl;
          break;
        case kube::WatchEventType::kModified:
          std::cout << "modified event from " << name << std::endl;
          break;
        case kube::WatchEventType::kDeleted:
          std::cout << "deleted event from " << name << std::endl;
          break;
        case kube::WatchEventType::kBookmark:
          std::cout << "`Bookmark` means watch has synced here, just update the resourceVersion" << std::endl;
          break;
        case kube::WatchEventType::kError:
          std::cout << "unable to understand watch event: " << event->error->ToString() << std::endl;
          break;
      }
    }
    std::cout << "watcher channel closed\n";
    // [end]
  });
}
