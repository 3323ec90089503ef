#include <unistd.h>

#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "command.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  kube::app::Streams io{std::cin, std::cout, std::cerr, isatty(STDOUT_FILENO) != 0,
                        isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0};
  try {
    kube::app::ExitCode code = kube::app::RunProgram(std::vector<std::string>(argv + 1, argv + argc), io);
    std::cout.flush();
    if (!std::cout) {
      std::cerr << "kubexx: cannot write to standard output\n";
      return static_cast<int>(kube::app::ExitCode::kFailure);
    }
    return static_cast<int>(code);
  } catch (const std::exception& e) {
    std::cerr << "kubexx: " << e.what() << '\n';
    return static_cast<int>(kube::app::ExitCode::kFailure);
  }
}
