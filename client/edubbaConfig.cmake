# find_package(edubba) gives the target edubba::edubba.
include(${CMAKE_CURRENT_LIST_DIR}/edubbaTargets.cmake)
