// SPDX-License-Identifier: Apache-2.0
#include "fake_root.h"

#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <initializer_list>
#include <memory>

#include "base/error.h"

namespace longship::box {
namespace {

using Filter = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

constexpr auto say_done = SCMP_ACT_ERRNO(0);

void check(int code, const char* doing) {
  if (code != 0) throw Error::from_errno(-code, "cannot make the seccomp filter for builds: {}", doing);
}

// A call that this architecture does not have is nothing to be done about.
void let_succeed(const Filter& filter, const char* call) {
  const int number = seccomp_syscall_resolve_name(call);
  if (number != __NR_SCMP_ERROR) seccomp_rule_add(filter.get(), say_done, number, 0);
}

// Devices only: package managers also make pipes and plain files with mknod.
void let_devices_succeed(const Filter& filter, int call, unsigned mode_argument) {
  for (const unsigned type : {S_IFCHR, S_IFBLK}) {
    const scmp_arg_cmp is_type = {mode_argument, SCMP_CMP_MASKED_EQ, S_IFMT, type};
    seccomp_rule_add_array(filter.get(), say_done, call, 1, &is_type);
  }
}

void add_second_architecture(const Filter& filter) {
  // A 32-bit program on the 64-bit kernel has call numbers of its own.
  if (seccomp_arch_native() == SCMP_ARCH_X86_64) check(seccomp_arch_add(filter.get(), SCMP_ARCH_X86), "x86");
  if (seccomp_arch_native() == SCMP_ARCH_AARCH64) check(seccomp_arch_add(filter.get(), SCMP_ARCH_ARM), "arm");
}

}  // namespace

void pretend_to_be_root() {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (!filter) throw Error("cannot make the seccomp filter for builds: out of memory");
  add_second_architecture(filter);
  for (const char* call :
       {"chown",      "chown32",    "fchown",      "fchown32",    "lchown",      "lchown32",   "fchownat",
        "setuid",     "setuid32",   "setgid",      "setgid32",    "setreuid",    "setreuid32", "setregid",
        "setregid32", "setresuid",  "setresuid32", "setresgid",   "setresgid32", "setfsuid",   "setfsuid32",
        "setfsgid",   "setfsgid32", "setgroups",   "setgroups32", "capset"})
    let_succeed(filter, call);
  let_devices_succeed(filter, SCMP_SYS(mknod), 1);
  let_devices_succeed(filter, SCMP_SYS(mknodat), 2);
  check(seccomp_load(filter.get()), "load");
}

}  // namespace longship::box
