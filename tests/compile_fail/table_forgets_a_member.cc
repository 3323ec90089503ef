// says: the table of Backup lacks a member of the struct
#include <kube/kind.h>

struct Backup {
  kube::String schedule{};
  std::optional<std::int32_t> keep{};
  KUBE_TABLE(Backup);
};

#ifdef MISTAKE
KUBE_DEFINE_TABLE(Backup, "example.v1.Backup", KUBE_FIELD(Backup, schedule));
#else
KUBE_DEFINE_TABLE(Backup, "example.v1.Backup", KUBE_FIELD(Backup, schedule), KUBE_FIELD(Backup, keep));
#endif
