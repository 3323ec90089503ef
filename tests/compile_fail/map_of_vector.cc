// A map's values are moved by copying bytes, as a list's elements are.
// says: kube::List instead of std::vector
#include <kube/value/list.h>
#include <kube/value/map.h>

#include <vector>

#ifdef MISTAKE
using Ports = std::vector<int>;
#else
using Ports = kube::List<int>;
#endif

int main() {
  kube::Map<Ports> ports;
  ports["web"].push_back(80);
  return static_cast<int>(ports.size());
}
