// SPDX-License-Identifier: Apache-2.0
#include "kernel_squashfs.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/error.h"
#include "mounts.h"

namespace longship::box {
namespace {

constexpr int tries = 16;  // another process may take the free device before we do

bool configure(int device, int image) {
  loop_info64 wanted = {};
  wanted.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR;
  loop_config all = {};
  all.fd = static_cast<__u32>(image);
  all.info = wanted;
  if (::ioctl(device, LOOP_CONFIGURE, &all) == 0) return true;
  if (errno != EINVAL && errno != ENOTTY) return false;
  if (::ioctl(device, LOOP_SET_FD, image) != 0) return false;  // before Linux 5.8
  if (::ioctl(device, LOOP_SET_STATUS64, &wanted) == 0) return true;
  const int number = errno;
  ::ioctl(device, LOOP_CLR_FD, 0);
  errno = number;
  return false;
}

struct LoopDevice {
  std::string path;
  Fd open;  // until it is mounted: the device lives as long as somebody has it open
};

LoopDevice attach_to_loop_device(int image) {
  const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) throw Error::from_errno(errno, "cannot open /dev/loop-control");
  for (int i = 0; i < tries; ++i) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) break;
    LoopDevice device = {"/dev/loop" + std::to_string(number), {}};
    device.open.reset(::open(device.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!device.open) break;
    if (configure(device.open.get(), image)) return device;
    if (errno != EBUSY) break;
  }
  throw Error::from_errno(errno, "cannot get a loop device");
}

}  // namespace

Fd mount_by_kernel(int image) {
  if (!can_attach()) throw Error::from_errno(errno, "the kernel cannot attach a mount that was made before");
  const LoopDevice device = attach_to_loop_device(image);
  const Fd context(::fsopen("squashfs", FSOPEN_CLOEXEC));
  if (!context) throw Error::from_errno(errno, "the kernel cannot mount SquashFS");
  if (::fsconfig(context.get(), FSCONFIG_SET_STRING, "source", device.path.c_str(), 0) != 0 ||
      ::fsconfig(context.get(), FSCONFIG_SET_FLAG, "ro", nullptr, 0) != 0 ||
      ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    throw Error::from_errno(errno, "the kernel refuses to mount it");
  Fd mount(
      ::fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID));
  if (!mount) throw Error::from_errno(errno, "the kernel refuses to mount it");
  return mount;
}

}  // namespace longship::box
