// A client reads kinds, not parts of them.
// says: Resource
#include <kube/api/core/v1.h>
#include <kube/client/client.h>

#ifdef MISTAKE
using Wanted = kube::core::v1::Container;
#else
using Wanted = kube::core::v1::Pod;
#endif

bool Exists(const kube::Context& ctx, const kube::Client& client) { return client.Get<Wanted>(ctx, {"default", "web"}).ok(); }
