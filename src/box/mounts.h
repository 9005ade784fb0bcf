// SPDX-License-Identifier: Apache-2.0
// mount(2) and its relatives as sentences: what was to be mounted where, and why it did not work.
// Only calls that Linux 4.18 knows are needed; newer ones are used where they do better.
#pragma once
#include <string>

#include "base/fd.h"

namespace longship::box {

// A descriptor as a path that mount(2) follows. `proc` is where /proc is to be found at the moment.
[[nodiscard]] std::string path_of(int fd, const std::string& proc = "/proc");

void mount_tmpfs(const std::string& at, const char* options);

// With everything mounted below it: in a user namespace what covers a directory may not be taken off.
// (Not called bind: for two strings the compiler may then prefer std::bind, which does nothing.)
void bind_mount(const std::string& from, const std::string& to);

// A mount that was made, or copied, without a place. Needs Linux 5.2.
void attach(int mount, const std::string& place);
// Whether the kernel, and a filter of system calls, let attach() work; only who may mount gets a true answer.
[[nodiscard]] bool can_attach();

// The mount at `at` and all below it; flags that are locked (nosuid, nodev, noexec) stay.
void make_read_only(const std::string& at);

// The mount at `root` becomes the root; the old one is to be found at `old` below it.
void exchange_root(const std::string& root, const std::string& old);
// The same, and the old root is gone with all that hangs on it.
void replace_root(const std::string& root);

namespace detail {
// Before Linux 5.12: the uppermost mount alone, its flags read and given again. Apart for its test.
void make_read_only_by_remount(const std::string& at);
}  // namespace detail

}  // namespace longship::box
