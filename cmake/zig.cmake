# Finds zig's compiler (PyPI package ziglang), which ./dev setup puts into .tools/venv: LONGSHIP_ZIG.
file(GLOB zig_programs ${CMAKE_SOURCE_DIR}/.tools/venv/lib/python3*/site-packages/ziglang/zig)
list(APPEND zig_programs "")
list(GET zig_programs 0 zig_program)
set(LONGSHIP_ZIG "${zig_program}" CACHE FILEPATH "zig 0.15, which compiles liblongship.so and bin/longship")
if(NOT LONGSHIP_ZIG)
  message(FATAL_ERROR "zig is missing, which compiles liblongship.so and bin/longship: run ./dev setup, or set LONGSHIP_ZIG")
endif()
