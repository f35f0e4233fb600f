#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/study/paper.h"
#include "vdnn/plan.h"

namespace vdnn::cli {

// A policy as the paper writes it: "all (m)".
struct StudyPolicy {
  std::string label;
  std::string policy;
  Algorithms algorithms = Algorithms::performance;
};
std::vector<StudyPolicy> study_policies();

// A network under a policy.
struct StudyCase {
  StudyPolicy policy;
  bool fits = false;
  std::int64_t peak_bytes = 0;  // what it takes, whether that fits or not
  bool planned =
      false;         // false: of a policy that searches and found nothing that fits; there is no simulation
  std::string pass;  // of vdnn-dyn: the last it tried
  Simulation simulation;
};

struct NetworkStudy {
  PaperNetwork network{};
  NetworkWide network_wide;  // without workspace
  // With the largest workspace of the fastest kernels: what a framework of the paper's time allocates,
  // against which every policy's saving is.
  std::int64_t network_wide_bytes = 0;
  std::int64_t managed_network_wide_bytes = 0;
  double unused_share_without_workspace = 0;
  double oracle_seconds = 0;
  std::vector<StudyCase> cases;  // as study_policies()

  [[nodiscard]] const StudyCase& under(const std::string& label) const;
};

// The ten networks under every policy in the memory of a described machine; without momentum, which the paper
// does not count. Throws UsageError for a device that is not described.
std::vector<NetworkStudy> study_networks(const std::string& device, std::int64_t budget_bytes,
                                         const std::function<void(const PaperNetwork&)>& on_network);

}  // namespace vdnn::cli
