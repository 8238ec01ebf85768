# Run by `cmake --install`: the systemd units, with the path that the daemons were installed to.
set(EDUBBA_BINARIES "${CMAKE_INSTALL_PREFIX}/${EDUBBA_BINDIR}")
foreach(daemon ${EDUBBA_DAEMONS})
    set(unit "${CMAKE_INSTALL_PREFIX}/lib/systemd/system/edubba-${daemon}.service")
    message(STATUS "Installing: ${unit}")
    configure_file("${EDUBBA_SOURCE}/deploy/edubba-${daemon}.service.in" "$ENV{DESTDIR}${unit}" @ONLY)
endforeach()
