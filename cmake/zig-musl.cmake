# Toolchain for bin/longship: zig's clang with musl, whose programs begin at once. LONGSHIP_ZIG is the zig program.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LONGSHIP_ZIG)

set(CMAKE_C_COMPILER ${LONGSHIP_ZIG} cc)
set(CMAKE_CXX_COMPILER ${LONGSHIP_ZIG} c++)
string(REPLACE ppc64le powerpc64le machine ${CMAKE_SYSTEM_PROCESSOR})  # as zig calls it
set(CMAKE_C_FLAGS_INIT "-target ${machine}-linux-musl")
set(CMAKE_CXX_FLAGS_INIT "-target ${machine}-linux-musl")

include(${CMAKE_CURRENT_LIST_DIR}/zig-known.cmake)

# Nothing of this machine may slip in.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE NEVER)
