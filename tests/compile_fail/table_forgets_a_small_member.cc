// The forgotten member lies where padding could be.
// says: the table of Backup lacks a member of the struct
// errors: 1
#include <kube/kind.h>

struct Backup {
  std::int32_t keep = 0;
  std::int32_t retries = 0;
  kube::String schedule{};
  KUBE_TABLE(Backup);
};

#ifdef MISTAKE
KUBE_DEFINE_TABLE(Backup, "example.v1.Backup", KUBE_FIELD(Backup, keep), KUBE_FIELD(Backup, schedule));
#else
KUBE_DEFINE_TABLE(Backup, "example.v1.Backup", KUBE_FIELD(Backup, keep), KUBE_FIELD(Backup, retries), KUBE_FIELD(Backup, schedule));
#endif
