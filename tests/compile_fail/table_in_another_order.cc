// says: the table of Backup names a member twice, or in another order than the struct
// errors: 1
#include <kube/kind.h>

struct Backup {
  kube::String schedule{};
  kube::String time_zone{};
  KUBE_TABLE(Backup);
};

#ifdef MISTAKE
KUBE_DEFINE_TABLE(Backup, "example.v1.Backup", KUBE_FIELD(Backup, time_zone), KUBE_FIELD(Backup, schedule));
#else
KUBE_DEFINE_TABLE(Backup, "example.v1.Backup", KUBE_FIELD(Backup, schedule), KUBE_FIELD(Backup, time_zone));
#endif
