# Most of the time of a small C++ file goes into reading the standard library. Rooms and tests therefore have a
# precompiled header each, which halves a clean build; all targets of a kind share one file.
#
# No source may rely on it: each includes what it uses. ./dev lint and ./dev package compile without
# (CMAKE_DISABLE_PRECOMPILE_HEADERS), each file by itself, and would not compile otherwise.
set(CMAKE_PCH_WARN_INVALID OFF)  # where options differ too much, GCC does without
set(precompiled_for_rooms
  <algorithm> <chrono> <filesystem> <functional> <map> <memory> <optional> <span> <string> <string_view> <vector>
  <fmt/core.h>)
set(precompiled_for_tests ${precompiled_for_rooms} <gmock/gmock.h> <gtest/gtest.h>)

# longship_precompile(KIND [option…]): the target that makes the header of this kind (rooms, tests). GCC takes a
# precompiled header only if the options are the same, so what is special for the kind is said here too.
function(longship_precompile kind)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/precompiled_${kind}.cpp CONTENT "// Only the header matters.\n")
  add_library(precompiled_${kind} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/precompiled_${kind}.cpp)
  target_compile_options(precompiled_${kind} PRIVATE ${ARGN})
  target_precompile_headers(precompiled_${kind} PRIVATE ${precompiled_for_${kind}})
endfunction()
