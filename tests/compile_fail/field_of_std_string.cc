// says: Use kube::String for text
#include <kube/kind.h>

#include <string>

struct Backup {
#ifdef MISTAKE
  std::string schedule{};
#else
  kube::String schedule{};
#endif
  KUBE_TABLE(Backup);
};

KUBE_DEFINE_TABLE(Backup, "example.v1.Backup", KUBE_FIELD(Backup, schedule));
