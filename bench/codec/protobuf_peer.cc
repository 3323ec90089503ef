#include "k8s.io/api/core/v1/generated.pb.h"
#include "peers.h"

namespace kube::bench {

std::shared_ptr<void> ProtobufParsePodList(std::string_view message, std::size_t* items) {
  auto list = std::make_shared<k8s::io::api::core::v1::PodList>();
  if (!list->ParseFromArray(message.data(), static_cast<int>(message.size()))) return nullptr;
  *items = static_cast<std::size_t>(list->items_size());
  return list;
}

}  // namespace kube::bench
