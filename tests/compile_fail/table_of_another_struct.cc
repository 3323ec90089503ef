// says: KUBE_TABLE(Policy) is in another struct
// errors: 1
#include <kube/kind.h>

struct Policy {
  bool strict = false;
  KUBE_TABLE(Policy);
};
struct Backup {
  kube::String schedule{};
#ifdef MISTAKE
  KUBE_TABLE(Policy);
#else
  KUBE_TABLE(Backup);
#endif
};

KUBE_DEFINE_TABLE(Policy, "example.v1.Policy", KUBE_FIELD(Policy, strict));
KUBE_DEFINE_TABLE(Backup, "example.v1.Backup", KUBE_FIELD(Backup, schedule));
