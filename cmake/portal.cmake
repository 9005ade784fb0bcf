# The portal as a library: `vite build` makes its files, portal/build.mjs packs them into one .cpp in the build
# directory, target portal_files has longship::hub::portal_files(). Done again only when something in portal/ changed.
find_program(LONGSHIP_NODE NAMES node nodejs)
find_program(LONGSHIP_NPM NAMES npm)
if(NOT LONGSHIP_NODE OR NOT LONGSHIP_NPM)
  message(FATAL_ERROR
    "The portal needs node (18 or newer) and npm to be built, and one of them is missing. "
    "./dev setup installs Debian's packages nodejs and npm.")
endif()
execute_process(COMMAND ${LONGSHIP_NODE} --version OUTPUT_VARIABLE node_version OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX REPLACE "^v" "" node_version "${node_version}")
if(node_version VERSION_LESS 18)
  message(FATAL_ERROR "The portal needs node 18 or newer to be built; ${LONGSHIP_NODE} is ${node_version}. "
    "Debian 12's package nodejs is new enough; -DLONGSHIP_NODE=PATH names another.")
endif()

set(portal ${CMAKE_SOURCE_DIR}/portal)
file(GLOB_RECURSE portal_sources CONFIGURE_DEPENDS ${portal}/src/* ${portal}/public/*)
# The plots of a study are the same in the page that `longship study plot` writes.
file(GLOB plot_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/sweep/page/plots.*)
list(APPEND portal_sources ${plot_sources}
  ${portal}/index.html ${portal}/vite.config.ts ${portal}/package.json ${portal}/package-lock.json ${portal}/build.mjs)
set(portal_file ${CMAKE_BINARY_DIR}/portal/portal_files.cpp)
add_custom_command(OUTPUT ${portal_file}
  # Build directories share portal/node_modules: one at a time.
  COMMAND flock ${portal}/package.json ${LONGSHIP_NODE} ${portal}/build.mjs ${CMAKE_BINARY_DIR}/portal/dist ${portal_file}
  DEPENDS ${portal_sources}
  COMMENT "Building the portal"
  VERBATIM)

add_library(portal_files STATIC ${portal_file})
target_include_directories(portal_files PRIVATE ${CMAKE_SOURCE_DIR}/src)
