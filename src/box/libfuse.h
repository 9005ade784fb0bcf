// SPDX-License-Identifier: Apache-2.0
// libfuse's functions. It wants to be told for which version of itself it is used, and so do libsquashfuse's
// headers, for another one.
#pragma once
#undef FUSE_USE_VERSION
#define FUSE_USE_VERSION 34
#include <fuse3/fuse_lowlevel.h>
#undef FUSE_USE_VERSION
