# CMake finds out what a compiler is by making programs with it. zig would compile its whole C++ library for them, without
# optimisation and for nothing: more than a minute. So it is told what zig is, and tries what is left with archives.
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_COMPILER_ID_RUN TRUE)
  set(CMAKE_${language}_COMPILER_ID Clang)
  set(CMAKE_${language}_COMPILER_VERSION 20.1)  # of zig 0.15
  set(CMAKE_${language}_COMPILER_FRONTEND_VARIANT GNU)
  set(CMAKE_${language}_STANDARD_COMPUTED_DEFAULT 17)
endforeach()
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
