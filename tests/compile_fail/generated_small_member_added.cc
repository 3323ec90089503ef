// The struct has changed since its table was generated.
// says: the table of Backup lacks a member of the struct: run `kubexx generate`
// errors: 1
#include <kube/kind.h>
#include <kube/value/generated_table.h>

struct Backup {
  kube::String schedule{};
  std::int32_t keep = 0;
#ifdef MISTAKE
  std::int32_t retries = 0;
#endif
  kube::Map<kube::List<kube::String>> targets{};
  KUBE_TABLE(Backup);
};

KUBE_GENERATED_FIRST(Backup, schedule, kube::String, "schedule", .required = true);
KUBE_GENERATED_NEXT(Backup, schedule, keep, std::int32_t, "keep");
KUBE_GENERATED_NEXT(Backup, keep, targets, kube::Map<kube::List<kube::String>>, "targets");
KUBE_GENERATED_TABLE(Backup, "example.v1.Backup", KUBE_COLUMN(Backup, schedule), KUBE_COLUMN(Backup, keep), KUBE_COLUMN(Backup, targets));
