// pod_watch: prints what happens to the pods of a namespace until the server ends the watch, or Ctrl-C.
//
//   pod_watch [--kubeconfig FILE] [--context NAME] [--namespace NAME] [--timeout SECONDS]
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "kube/api/core/v1.h"
#include "kube/base/context.h"
#include "kube/client/client.h"
#include "kube/config/load.h"

using kube::Result;
using kube::core::v1::Pod;

namespace {

int Fail(const kube::Error& error) {
  std::cerr << "pod_watch: " << error.ToString() << "\n";
  return 1;
}

int Usage() {
  std::cerr << "usage: pod_watch [flags]\n  --timeout SECONDS      let the server end the watch after so long\n"
            << kube::ConfigFlags::Help();
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  kube::ConfigFlags flags;
  const Result<std::vector<std::string>> rest = flags.Parse(argc, argv);
  if (!rest) return Fail(rest.error());
  std::optional<std::int64_t> timeout;
  if (rest->size() == 2 && (*rest)[0] == "--timeout") {
    timeout = std::atoll((*rest)[1].c_str());
  } else if (!rest->empty()) {
    return Usage();
  }
  const Result<kube::ClientConfig> config = flags.Load();
  if (!config) return Fail(config.error());
  const Result<kube::Client> client = kube::Client::FromConfig(*config);
  if (!client) return Fail(client.error());
  const kube::Context ctx = kube::SignalContext();

  Result<kube::Watcher<Pod>> watcher =
      client->Watch<Pod>(ctx, {.ns = client->default_namespace(), .bookmarks = true, .timeout_seconds = timeout});
  if (!watcher) return Fail(watcher.error());
  std::cerr << "watching the pods of namespace " << client->default_namespace() << std::endl;
  for (;;) {
    const Result<std::optional<kube::WatchEvent<Pod>>> event = watcher->Next(ctx);
    if (!event) return kube::IsCancelled(event.error()) ? 0 : Fail(event.error());
    if (!*event) break;
    const kube::String& name = (*event)->object.metadata.name;
    switch ((*event)->type) {
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
        std::cout << "unable to understand watch event: " << (*event)->error->ToString() << std::endl;
        break;
    }
  }
  std::cout << "watcher channel closed\n";
  return 0;
}
