// SPDX-License-Identifier: Apache-2.0
#include "conformance.h"

namespace longship::collective {
namespace {

INSTANTIATE_TEST_SUITE_P(StreamTransport, TransportConformance,
                         testing::Values(Spread::one_node, Spread::node_each, Spread::node_each_striped,
                                         Spread::two_nodes),
                         spread_name);

}  // namespace
}  // namespace longship::collective
