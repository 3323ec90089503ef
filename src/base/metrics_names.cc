// What is known of the metrics of client-go and controller-runtime: buckets and help.
#include <string_view>
#include <vector>

#include "kube/base/metrics_registry.h"

namespace kube::internal {
namespace {

struct Known {
  std::string_view name;
  std::string_view help;
};

constexpr Known kKnown[] = {
    {"rest_client_requests_total", "HTTP requests sent, by code, method and host."},
    {"rest_client_request_duration_seconds", "Time of requests, retries included, by verb and host."},
    {"rest_client_rate_limiter_duration_seconds", "Time that requests waited for the client's own rate limit, by verb and host."},
    {"rest_client_dns_resolution_duration_seconds", "Time of name resolution, by host."},
    {"rest_client_request_size_bytes", "Size of request bodies, by verb and host."},
    {"rest_client_response_size_bytes", "Size of response bodies, by verb and host."},
    {"rest_client_request_retries_total", "Requests sent again, by code, verb and host."},
    {"rest_client_exec_plugin_ttl_seconds", "Time until the first certificate of an exec plugin expires; +Inf without any."},
    {"rest_client_exec_plugin_certificate_rotation_age", "Age in seconds of exec plugins' certificates when they were replaced."},
    {"rest_client_exec_plugin_call_total", "Calls of exec plugins, by exit code and status."},
    {"rest_client_exec_plugin_policy_call_total", "Checks of the exec plugin policy, by status."},
    {"rest_client_transport_cache_entries", "Transports in the cache."},
    {"rest_client_transport_create_calls_total", "Transports asked for, by what the cache said."},
    {"rest_client_transport_ca_reload_total", "Reloads of the certificate authority, by result and reason."},
    {"workqueue_depth", "Keys that wait in the queue."},
    {"workqueue_adds_total", "Keys added to the queue."},
    {"workqueue_queue_duration_seconds", "How long keys waited before a worker took them."},
    {"workqueue_work_duration_seconds", "How long workers took for a key."},
    {"workqueue_unfinished_work_seconds", "Sum of the time that running work has taken so far; a large value shows stuck workers."},
    {"workqueue_longest_running_processor_seconds", "How long the longest running work has taken so far."},
    {"workqueue_retries_total", "Keys added again by the rate limiter."},
    {"controller_runtime_reconcile_total", "Reconciles, by controller and result."},
    {"controller_runtime_reconcile_errors_total", "Reconciles that failed, by controller."},
    {"controller_runtime_terminal_reconcile_errors_total", "Reconciles that failed for good, by controller."},
    {"controller_runtime_reconcile_panics_total", "Reconciles that threw, by controller."},
    {"controller_runtime_reconcile_timeouts_total", "Reconciles that ran into the reconcile timeout, by controller."},
    {"controller_runtime_reconcile_time_seconds", "Time of a reconcile, by controller."},
    {"controller_runtime_max_concurrent_reconciles", "Workers of a controller."},
    {"controller_runtime_active_workers", "Workers of a controller that are busy."},
    {"controller_runtime_webhook_latency_seconds", "Time of admission requests, by webhook."},
    {"controller_runtime_webhook_requests_total", "Admission requests, by webhook and code."},
    {"controller_runtime_webhook_requests_in_flight", "Admission requests that are being answered, by webhook."},
    {"controller_runtime_webhook_panics_total", "Webhook handlers that threw."},
    {"controller_runtime_conversion_webhook_panics_total", "Conversion webhook handlers that threw."},
    {"certwatcher_read_certificate_total", "Reads of certificate files."},
    {"certwatcher_read_certificate_errors_total", "Reads of certificate files that failed."},
    {"leader_election_master_status", "Whether this process leads: 1, or 0 where it stands by."},
    {"leader_election_slowpath_total", "Renewals of a lease that had to read it first."},
    {"informer_queued_items", "Events that wait for an informer."},
    {"informer_processing_latency_seconds", "How long an informer took for an event."},
    {"informer_store_resource_version", "Resource version of an informer's store."},
    {"reflector_lists_total", "Lists of an informer."},
    {"reflector_items_per_list", "Objects in a list of an informer."},
    {"reflector_items_per_watch", "Events of a watch of an informer."},
    {"reflector_last_resource_version", "The last resource version that an informer has seen."},
    {"reflector_list_duration_seconds", "Time of an informer's lists."},
    {"reflector_watches_total", "Watches of an informer."},
    {"reflector_short_watches_total", "Watches of an informer that ended within a second."},
    {"reflector_watch_duration_seconds", "Time of an informer's watches."},
    {"kubexx_cache_objects", "Objects in a cache, by resource and namespace."},
    {"kubexx_cache_undecodable_object", "An object that a cache could not decode; the first ten of each cache."},
    {"kubexx_cache_undecodable_objects", "Objects of the server that a cache could not decode, and goes on without."},
    {"kubexx_cache_undecodable_total", "Items of lists and events of watches that a cache could not decode."},
    {"kubexx_cache_synced", "Whether a cache was complete once: 1 or 0."},
    {"kubexx_cache_bytes", "Memory that the objects of a cache hold; parts that they share count once. At most a minute old."},
    {"kubexx_cache_logical_bytes", "Memory that the objects of a cache would hold if they shared nothing. At most a minute old."},
    {"kubexx_cache_silence_seconds", "Time since the last response of the server for a cache, bookmarks included."},
    {"kubexx_cache_pending_notifications", "Changes of a cache that handlers have not processed yet."},
    {"kubexx_events_dropped_total", "Events that were not written, by reason."},
    {"kubexx_read_your_writes_waits_total", "Reads and reconciles that waited until a cache had seen their own writes, by controller."},
    {"kubexx_read_your_writes_timeouts_total",
     "Reads and reconciles that stopped waiting and continued without their own writes, by controller."},
    {"kubexx_read_your_writes_dropped_total", "Writes that were forgotten, because there were too many, before a cache had seen them."},
    {"kubexx_read_your_writes_wait_seconds", "How long reads and reconciles waited for their own writes."},
    {"kubexx_http_server_connections", "Open connections of a server, by server."},
    {"kubexx_http_server_bytes_held", "Memory that a server holds for its clients, by server."},
    {"kubexx_http_server_closed_total", "Connections that a server closed to keep its limits, by server and reason."},
    {"kubexx_webhook_certificate_expiry_seconds", "Seconds until a certificate of the webhooks expires, by certificate."},
    {"kubexx_webhook_certificate_errors_total", "Errors in keeping the certificates of the webhooks."},
    {"kubexx_webhook_ca_writes_total", "Writes of the Secret with the webhooks' CA."},
    {"kubexx_webhook_ca_injections_total", "Writes of the webhooks' CA into configurations."},
    {"kubexx_webhook_object_complete", "Whether a configuration has all webhooks of the program and its CA, by kind and name."},
    {"kubexx_metrics_dropped_total", "Reports that the metrics registry could not keep, by reason."},
    {"process_cpu_seconds_total", "User and system time of the process."},
    {"process_resident_memory_bytes", "Resident memory of the process."},
    {"process_virtual_memory_bytes", "Virtual memory of the process."},
    {"process_open_fds", "Open file descriptors."},
    {"process_max_fds", "Largest number of file descriptors that may be open."},
    {"process_threads", "Threads of the process."},
    {"process_start_time_seconds", "Start of the process, in seconds since 1970."},
};

}  // namespace

std::vector<double> KnownBuckets(std::string_view name) {
  if (name == "rest_client_request_duration_seconds" || name == "rest_client_rate_limiter_duration_seconds") {
    return {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
  }
  if (name == "rest_client_dns_resolution_duration_seconds") return {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30};
  if (name == "rest_client_request_size_bytes" || name == "rest_client_response_size_bytes") {
    return {64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216};
  }
  if (name == "rest_client_exec_plugin_certificate_rotation_age") {
    return {600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000};
  }
  // 10 ns to 1000 s: controller-runtime's twelve, of which client-go has the first ten.
  if (name == "workqueue_queue_duration_seconds" || name == "workqueue_work_duration_seconds") {
    return {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000};
  }
  if (name == "controller_runtime_reconcile_time_seconds") {
    return {0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,  1.25, 1.5,
            1.75,  2,    2.5,   3,    3.5, 4,    4.5, 5,    6,   7,    8,   9,    10,  15,  20,  25,  30,  40, 50,   60};
  }
  if (name == "kubexx_read_your_writes_wait_seconds") return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5};
  if (name == "informer_processing_latency_seconds") return {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
  if (name == "reflector_items_per_list" || name == "reflector_items_per_watch") return {1, 10, 100, 1000, 10000, 100000};
  if (name == "reflector_list_duration_seconds") return {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
  // A healthy watch lasts five to ten minutes.
  if (name == "reflector_watch_duration_seconds") return {0.1, 1, 10, 30, 60, 120, 300, 360, 420, 480, 540, 600, 1200};
  return {};
}

std::string_view KnownHelp(std::string_view name) {
  for (const Known& known : kKnown) {
    if (known.name == name) return known.help;
  }
  return {};
}

}  // namespace kube::internal
