// says: kube::Box for an optional struct
#include <kube/kind.h>

struct Policy {
  bool strict = false;
  KUBE_TABLE(Policy);
};
struct Backup {
#ifdef MISTAKE
  std::optional<Policy> policy{};
#else
  kube::Box<Policy> policy{};
#endif
  KUBE_TABLE(Backup);
};

KUBE_DEFINE_TABLE(Policy, "example.v1.Policy", KUBE_FIELD(Policy, strict));
KUBE_DEFINE_TABLE(Backup, "example.v1.Backup", KUBE_FIELD(Backup, policy));
