# tw_module(NAME folder DEPS folders... LIBS libraries...)
# One static library per folder of src/, and one test program per *_test.cc beside the code.
# The target NAME_tests builds a folder's test programs.
# Sources are globbed so that adding a file needs no edit here; DEPS is the declared direction of the
# arrows between folders, which scripts/check_includes.py compares with the #include lines.
function(tw_module)
  cmake_parse_arguments(M "" "NAME" "DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(tw_${M_NAME} STATIC ${sources})
  target_include_directories(tw_${M_NAME} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  list(TRANSFORM M_DEPS PREPEND tw_)
  target_link_libraries(tw_${M_NAME} PUBLIC ${M_DEPS} ${M_LIBS})
  if(TW_TESTS)
    add_custom_target(${M_NAME}_tests)
    foreach(test ${tests})
      get_filename_component(name ${test} NAME_WE)
      add_executable(${M_NAME}_${name} ${test})
      add_dependencies(${M_NAME}_tests ${M_NAME}_${name})
      target_link_libraries(${M_NAME}_${name} tw_${M_NAME} GTest::gmock GTest::gtest_main)
      target_compile_definitions(${M_NAME}_${name} PRIVATE TW_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                                           TW_BINARY_DIR="${CMAKE_BINARY_DIR}")
      gtest_discover_tests(${M_NAME}_${name} DISCOVERY_MODE PRE_TEST
                           TEST_PREFIX "${M_NAME}." PROPERTIES LABELS ${M_NAME} TIMEOUT 300)
    endforeach()
  endif()
endfunction()
