# longship_room(NAME [COLD] [APART] [USES rooms…] [LIBS libraries…]): a folder under src/ is one target. COLD: its code
# runs once per job or per file that a person wrote, so that -O2, which takes a quarter longer to compile, would be for
# nothing. Files are compiled by fours, which saves a third: so a room's files may not give one name to two things. APART:
# in this room they may.
#
# A room's headers are included as "room/header.h". They are reachable only through the include directory of that
# room's own target (a directory with one link in it), so an #include of a room that is not in USES does not compile.
function(longship_room name)
  cmake_parse_arguments(ROOM "COLD;APART" "" "USES;LIBS" ${ARGN})
  set(exposed ${CMAKE_BINARY_DIR}/rooms/${name})
  file(MAKE_DIRECTORY ${exposed})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${exposed}/${name} SYMBOLIC)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${exposed})
    target_link_libraries(${name} PUBLIC ${ROOM_USES} PRIVATE ${ROOM_LIBS})
    target_compile_options(${name} PRIVATE $<$<BOOL:${ROOM_COLD}>:-O1>)
    target_precompile_headers(${name} REUSE_FROM precompiled_rooms)
    if(NOT ROOM_APART AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
      set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
      # A class of a .cpp may well have parts from the anonymous namespace: GCC thinks that it is a header's.
      target_compile_options(${name} PRIVATE -Wno-subobject-linkage)
    endif()
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${exposed})
    target_link_libraries(${name} INTERFACE ${ROOM_USES} ${ROOM_LIBS})
  endif()
endfunction()

# longship_tests(NAME [USES rooms…] [LIBS libraries…]): tests/NAME/*_test.cpp test src/NAME, as one program.
function(longship_tests name)
  cmake_parse_arguments(TESTS "" "" "USES;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_include_directories(test_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(test_${name} PRIVATE ${name} ${TESTS_USES} ${TESTS_LIBS} GTest::gmock GTest::gtest_main)
  target_precompile_headers(test_${name} REUSE_FROM precompiled_tests)
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  gtest_discover_tests(test_${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)
endfunction()
