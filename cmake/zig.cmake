# Finds zig's compiler (PyPI package ziglang), which ./dev setup puts into .tools/venv: LONGSHIP_ZIG.
file(GLOB zig_programs ${CMAKE_SOURCE_DIR}/.tools/venv/lib/python3*/site-packages/ziglang/zig)
list(APPEND zig_programs "")
list(GET zig_programs 0 zig_program)
set(LONGSHIP_ZIG "${zig_program}" CACHE FILEPATH "zig 0.15, which compiles liblongship.so and bin/longship")
if(NOT LONGSHIP_ZIG)
  message(FATAL_ERROR "zig is missing, which compiles liblongship.so and bin/longship: run ./dev setup, or set LONGSHIP_ZIG")
endif()

# longship_by_zig(NAME OF project FOR libc AS file): a project of its own, with the toolchain zig-LIBC.cmake.
include(ExternalProject)
function(longship_by_zig name)
  cmake_parse_arguments(ZIG "" "OF;FOR;AS" "" ${ARGN})
  cmake_path(GET ZIG_AS PARENT_PATH directory)
  ExternalProject_Add(${name}
    SOURCE_DIR ${CMAKE_SOURCE_DIR}/${ZIG_OF}
    BINARY_DIR ${CMAKE_BINARY_DIR}/by-zig/${name}
    CMAKE_ARGS
      -DCMAKE_TOOLCHAIN_FILE=${CMAKE_SOURCE_DIR}/cmake/zig-${ZIG_FOR}.cmake
      -DLONGSHIP_ZIG=${LONGSHIP_ZIG}
      -DLONGSHIP_SOURCE=${CMAKE_SOURCE_DIR}
      -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${CMAKE_BINARY_DIR}/${directory}
      -DCMAKE_RUNTIME_OUTPUT_DIRECTORY=${CMAKE_BINARY_DIR}/${directory}
    BUILD_ALWAYS ON
    INSTALL_COMMAND ""
    BUILD_BYPRODUCTS ${CMAKE_BINARY_DIR}/${ZIG_AS})
endfunction()
