// A list grows by copying bytes, which a std::string does not survive.
// says: kube::String instead of std::string
#include <kube/value/list.h>
#include <kube/value/string.h>

#include <string>

#ifdef MISTAKE
using Text = std::string;
#else
using Text = kube::String;
#endif

int main() {
  kube::List<Text> names;
  names.push_back("web");
  return static_cast<int>(names.size());
}
