# longship_room(NAME [USES rooms…] [LIBS libraries…]): a folder under src/ is one target.
#
# A room's headers are included as "room/header.h". They are reachable only through the include directory of that
# room's own target (a directory with one link in it), so an #include of a room that is not in USES does not compile.
function(longship_room name)
  cmake_parse_arguments(ROOM "" "" "USES;LIBS" ${ARGN})
  set(exposed ${CMAKE_BINARY_DIR}/rooms/${name})
  file(MAKE_DIRECTORY ${exposed})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${exposed}/${name} SYMBOLIC)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${exposed})
    target_link_libraries(${name} PUBLIC ${ROOM_USES} PRIVATE ${ROOM_LIBS})
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
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  gtest_discover_tests(test_${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)
endfunction()
