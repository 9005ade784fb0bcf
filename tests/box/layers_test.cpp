// SPDX-License-Identifier: Apache-2.0
#include "box/layers.h"

#include <gtest/gtest.h>

#include <utility>

namespace longship::box {
namespace {

TEST(Upper, SharedAndForeignFileSystemsCannotCarryIt) {
  for (const auto& [magic, name] :
       {std::pair{0x6969L, "NFS"}, std::pair{0x0bd00bd0L, "Lustre"}, std::pair{0x47504653L, "GPFS"},
        std::pair{0x19830326L, "BeeGFS"}, std::pair{0x00c36400L, "CephFS"}, std::pair{0x65735546L, "FUSE"},
        std::pair{0xaad7aaeaL, "PanFS"}, std::pair{0x5346414fL, "AFS"}, std::pair{0x01021997L, "9p"},
        std::pair{0xff534d42L, "CIFS"}, std::pair{0x794c7630L, "an overlay itself"}})
    EXPECT_EQ(unfit_for_upper(magic), name) << std::hex << magic;
}

// Where long has 32 bits, or a kernel extends the sign, the upper half is not the file system's.
TEST(Upper, OnlyTheLower32BitsCount) {
  EXPECT_EQ(unfit_for_upper(static_cast<long>(0xffffffffff534d42UL)), "CIFS");
}

TEST(Upper, LocalDisksAndMemoryCan) {
  for (const long magic :
       {0xef53L, 0x58465342L, 0x9123683eL, 0x01021994L, 0x2fc12fc1L})  // ext4 XFS btrfs tmpfs ZFS
    EXPECT_EQ(unfit_for_upper(magic), "") << std::hex << magic;
}

}  // namespace
}  // namespace longship::box
