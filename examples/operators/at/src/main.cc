#include <kube/control/main.h>

#include "setup.kube.h"  // generated from PROJECT: adds all controllers and webhooks

// For flags of your own see kube/control/manager_flags.h.
int main(int argc, char** argv) {
  return kube::Main(argc, argv, "at", SetupProject);
}
