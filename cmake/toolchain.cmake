# Language, warnings, build types, sanitizers, ccache: one place for all rooms.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# The cache serves every clone and every build directory: the paths beneath CCACHE_BASEDIR are made relative, and that of
# the build directory itself is not looked at. It may keep files that use a precompiled header only if it is sloppy about
# #defines given on the command line (ours are the same everywhere) and __TIME__ (never used).
find_program(CCACHE ccache)
if(CCACHE)
  string(FIND ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/ below)
  if(below EQUAL 0)
    set(base ${CMAKE_SOURCE_DIR})
  else()
    set(base ${CMAKE_BINARY_DIR})
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${base} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev CACHE STRING "" FORCE)
endif()
# Not -O3: GCC 12 then warns of overlaps in std::string that are none (GCC bug 105651).
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEV "-O2 -g1")
set(CMAKE_C_FLAGS_DEV "-O2 -g1")
set(CMAKE_EXE_LINKER_FLAGS_DEV "")
set(CMAKE_SHARED_LINKER_FLAGS_DEV "")

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Werror)
add_compile_definitions(_FILE_OFFSET_BITS=64 _GNU_SOURCE)

if(LONGSHIP_SANITIZE)
  add_compile_options(-O1 -fsanitize=${LONGSHIP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LONGSHIP_SANITIZE})
  if(LONGSHIP_SANITIZE STREQUAL thread)
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)  # TSan does not understand fences; Asio's locks suffice
  endif()
endif()

find_package(Threads REQUIRED)
