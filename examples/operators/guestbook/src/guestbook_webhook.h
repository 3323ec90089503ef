#pragma once

#include <kube/control/manager.h>
#include <kube/webhook/webhook_spec.h>

// The admission webhook for Guestbook objects; tests try it alone.
kube::WebhookSpec GuestbookWebhook();

// Adds it; called by SetupProject().
kube::Result<void> SetupGuestbookWebhook(kube::Manager& manager);
