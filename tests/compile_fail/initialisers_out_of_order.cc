// Designated initialisers follow the order of the API's documentation.
// says: order
#include <kube/api/core/v1.h>

int main() {
#ifdef MISTAKE
  kube::core::v1::ServicePort port{.port = 80, .name = "http", .target_port = "http"};
#else
  kube::core::v1::ServicePort port{.name = "http", .port = 80, .target_port = "http"};
#endif
  return port.port == 80 ? 0 : 1;
}
