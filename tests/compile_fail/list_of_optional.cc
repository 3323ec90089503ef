// says: kube::List and kube::Map, also of each other
// errors: 1
#include <kube/kind.h>

struct Backup {
#ifdef MISTAKE
  kube::Map<kube::List<std::optional<bool>>> days{};
#else
  kube::Map<kube::List<bool>> days{};
#endif
  KUBE_TABLE(Backup);
};

KUBE_DEFINE_TABLE(Backup, "example.v1.Backup", KUBE_FIELD(Backup, days));
