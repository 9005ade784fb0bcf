# Toolchain for what is loaded into training processes: zig's clang brings the headers and stubs of every glibc, so that
# the result runs on each Linux since RHEL 8, whatever this machine has. LONGSHIP_ZIG is the zig program.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LONGSHIP_ZIG)

set(CMAKE_C_COMPILER ${LONGSHIP_ZIG} cc)
set(CMAKE_CXX_COMPILER ${LONGSHIP_ZIG} c++)
set(target "${CMAKE_SYSTEM_PROCESSOR}-linux-gnu.2.28")
set(CMAKE_C_FLAGS_INIT "-target ${target}")
set(CMAKE_CXX_FLAGS_INIT "-target ${target}")

include(${CMAKE_CURRENT_LIST_DIR}/zig-known.cmake)

# Nothing of this machine may slip in.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE NEVER)
