// The program that tests of this room kill: makes what its argument says, prints where that is, and waits.
//
//   testing_test_helper directory <prefix>     the path of a TemporaryDirectory with a file in it
//   testing_test_helper control-plane          the folder of a ControlPlane, the pids of its etcd and of its API server
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <string_view>

#include "kube/testing/control_plane.h"
#include "testing/temporary_directory.h"

namespace kube::testing {
namespace {

int Fail(const Error& error) {
  std::cerr << error.ToString() << '\n';
  return 1;
}

[[noreturn]] void Wait() {
  std::cout << std::flush;
  while (true) pause();
}

int MakeDirectory(const char* prefix) {
  auto made = internal::TemporaryDirectory::Create(prefix);
  if (!made) return Fail(made.error());
  std::ofstream((*made)->path() + "/file") << "x";
  std::cout << (*made)->path() << '\n';
  Wait();
}

int StartControlPlane() {
  using Part = ControlPlane::Part;
  auto plane = ControlPlane::Start(Context::Background().WithTimeout(std::chrono::minutes(2)));
  if (!plane) return Fail(plane.error());
  std::cout << (*plane)->directory() << ' ' << (*plane)->pid(Part::kEtcd) << ' ' << (*plane)->pid(Part::kApiServer) << '\n';
  Wait();
}

}  // namespace
}  // namespace kube::testing

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "directory" && argc == 3) return kube::testing::MakeDirectory(argv[2]);
  if (what == "control-plane" && argc == 2) return kube::testing::StartControlPlane();
  std::cerr << "usage: testing_test_helper directory <prefix> | control-plane\n";
  return 2;
}
