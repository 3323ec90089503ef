// The program that process_test kills: starts a child, prints its pid and waits.
#include <stdio.h>
#include <unistd.h>

#include "base/process.h"

int main() {
  auto process = kube::internal::Process::Start({.argv = {"/bin/sleep", "1000"}});
  if (!process) {
    fprintf(stderr, "%s\n", process.error().ToString().c_str());
    return 1;
  }
  printf("%d\n", (*process)->pid());
  fflush(stdout);
  while (true) pause();
}
