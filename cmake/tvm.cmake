# The TVM wheels live in a Python environment; its interpreter says where. TW_PYTHON names it.
set(TW_PYTHON "${CMAKE_SOURCE_DIR}/.venv/bin/python" CACHE FILEPATH
    "Python of the environment that holds apache-tvm and apache-tvm-ffi")
execute_process(
  COMMAND ${TW_PYTHON} -c
          "import sysconfig; print(sysconfig.get_paths()['purelib'], end='')"
  OUTPUT_VARIABLE TW_SITE RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT EXISTS "${TW_SITE}/tvm_ffi/include")
  message(FATAL_ERROR "no tvm_ffi in ${TW_PYTHON}: run scripts/setup.sh first, or set TW_PYTHON")
endif()

add_library(tvm_ffi SHARED IMPORTED)
set_target_properties(
  tvm_ffi PROPERTIES IMPORTED_LOCATION "${TW_SITE}/tvm_ffi/lib/libtvm_ffi.so"
                     INTERFACE_INCLUDE_DIRECTORIES "${TW_SITE}/tvm_ffi/include")
# libtvm_runtime.so and libtvm_compiler.so are opened at run time, see src/tvm/runtime.cc.
set(TW_TVM_LIB_DIR "${TW_SITE}/tvm/lib")
