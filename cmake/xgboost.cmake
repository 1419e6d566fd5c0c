# Debian's XGBoost CMake package names an executable that it does not ship, so it cannot be used.
find_path(XGBOOST_INCLUDE xgboost/c_api.h REQUIRED)
find_library(XGBOOST_LIBRARY xgboost REQUIRED)
add_library(xgboost SHARED IMPORTED)
set_target_properties(xgboost PROPERTIES IMPORTED_LOCATION ${XGBOOST_LIBRARY}
                                         INTERFACE_INCLUDE_DIRECTORIES ${XGBOOST_INCLUDE})
