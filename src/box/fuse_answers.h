// SPDX-License-Identifier: Apache-2.0
// One function for each request of the kernel that is answered; the table in fuse_operations.cpp has them.
#pragma once
#include <sys/types.h>

#include <cstddef>

#include "libfuse.h"

namespace longship::box {

// fuse_names.cpp
void on_lookup(fuse_req_t request, fuse_ino_t parent, const char* name);
void on_getattr(fuse_req_t request, fuse_ino_t number, fuse_file_info* file);
void on_readlink(fuse_req_t request, fuse_ino_t number);
void on_opendir(fuse_req_t request, fuse_ino_t number, fuse_file_info* directory);
void on_readdir(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset,
                fuse_file_info* directory);
void on_statfs(fuse_req_t request, fuse_ino_t number);

// fuse_contents.cpp
void on_open(fuse_req_t request, fuse_ino_t number, fuse_file_info* file);
void on_read(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info* file);

}  // namespace longship::box
