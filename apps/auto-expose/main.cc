#include <malloc.h>

#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "program.h"

int main(int argc, char** argv) {
  // Its threads wait most of the time: a heap for each of them would hold memory that the others could use.
  (void)mallopt(M_ARENA_MAX, 2);
  try {
    const int code =
        auto_expose::RunProgram(std::vector<std::string>(argv + 1, argv + argc), std::nullopt, {std::cin, std::cout, std::cerr});
    std::cout.flush();
    if (!std::cout) {
      std::cerr << "auto-expose: cannot write to standard output\n";
      return 1;
    }
    return code;
  } catch (const std::exception& e) {
    std::cerr << "auto-expose: " << e.what() << "\n";
    return 1;
  }
}
