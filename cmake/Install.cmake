# What `cmake --install` leaves: the program, the libraries with their headers, and a package for
# find_package(convseq), whose targets are convseq::base, convseq::data, ... convseq::train.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(CONVSEQ_PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/convseq)

function(convseq_install target)  # a library
  if(CONVSEQ_INSTALL)
    install(TARGETS ${target} EXPORT convseqTargets)
  endif()
endfunction()

# Headers that only one backend or one program includes stay behind.
function(convseq_install_headers)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/convseq DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h"
    REGEX "/src/convseq/(cli|kernels/cpu|kernels/cuda|kernels/no_cuda|ops/kernel)$" EXCLUDE)
endfunction()

function(convseq_install_package)
  convseq_install_headers()
  configure_package_config_file(cmake/convseqConfig.cmake.in ${PROJECT_BINARY_DIR}/convseqConfig.cmake
    INSTALL_DESTINATION ${CONVSEQ_PACKAGE_FOLDER})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/convseqConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/convseqConfig.cmake ${PROJECT_BINARY_DIR}/convseqConfigVersion.cmake
    cmake/FindLibtorch.cmake cmake/FindNccl.cmake cmake/FindSentencePiece.cmake cmake/FindZstd.cmake
    DESTINATION ${CONVSEQ_PACKAGE_FOLDER})
  install(PROGRAMS tools/find_libtorch.sh DESTINATION ${CONVSEQ_PACKAGE_FOLDER})
  install(EXPORT convseqTargets NAMESPACE convseq:: DESTINATION ${CONVSEQ_PACKAGE_FOLDER})
endfunction()
