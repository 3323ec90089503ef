// Ignoring a Result is a compiler error.
// says: nodiscard
#include <kube/base/result.h>

kube::Result<void> Save() { return {}; }

int main() {
#ifdef MISTAKE
  Save();
  return 0;
#else
  return Save() ? 0 : 1;
#endif
}
