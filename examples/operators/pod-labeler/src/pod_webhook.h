#pragma once

#include <kube/control/manager.h>
#include <kube/webhook/webhook_spec.h>

// The admission webhook for Pod objects; tests try it alone.
kube::WebhookSpec PodWebhook();

// Adds it; called by SetupProject().
kube::Result<void> SetupPodWebhook(kube::Manager& manager);
