# `cmake --install` puts the program, the library, its headers and vdnnConfig.cmake under a prefix.
include(CMakePackageConfigHelpers)
set(vdnn_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vdnn)

install(TARGETS vdnn EXPORT vdnnTargets)
install(TARGETS vdnn_cli)
install(DIRECTORY include/vdnn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT vdnnTargets NAMESPACE vdnn:: DESTINATION ${vdnn_package_dir})

configure_package_config_file(cmake/vdnnConfig.cmake.in vdnnConfig.cmake
                              INSTALL_DESTINATION ${vdnn_package_dir})
write_basic_package_version_file(vdnnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vdnnConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/vdnnConfigVersion.cmake
        DESTINATION ${vdnn_package_dir})
