// Reading an optional struct never makes it present; writing says so.
// says: const
#include <kube/api/core/v1.h>

int main() {
  kube::core::v1::Pod pod;
#ifdef MISTAKE
  pod.spec.security_context->run_as_user = 1000;
#else
  pod.spec.security_context.Mutable().run_as_user = 1000;
#endif
  return pod.spec.security_context.has_value() ? 0 : 1;
}
