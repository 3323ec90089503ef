// The syntax of a CronJob's schedule: five fields (minute, hour, day of month, month, day of week), or @hourly and its like.
#pragma once

#include <string>
#include <string_view>

namespace kube::apiserver {

// What is wrong with the schedule, in the server's words; empty if nothing is.
std::string CronProblem(std::string_view schedule);

}  // namespace kube::apiserver
