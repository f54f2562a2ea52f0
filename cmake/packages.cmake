# Debian packages, by `make packages`: tenon (the command line), libtenon-dev (library and headers) and python3-tenon.
# What they need of Debian is found by dpkg-shlibdeps; drivers of GPUs are opened where they are, and suggested.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tenon)
set(CPACK_PACKAGE_VENDOR Tenon)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "tensor engine and training framework")
set(CPACK_PACKAGE_CONTACT "Tenon maintainers <maintainers@tenon.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL cli dev)
if(TENON_BUILD_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(gpu_drivers "libvulkan1, mesa-vulkan-drivers | vulkan-icd, ocl-icd-libopencl1, pocl-opencl-icd | opencl-icd")
set(mathematics "liblapack3 | liblapack.so.3, libfftw3-single3, libfftw3-double3")  # opened when they are first needed
set(what "Tenon records tensor programs, differentiates them, fuses them into few
kernels and replays whole training steps on CPUs, CUDA, OpenCL and Vulkan.
.
This package has")

set(CPACK_DEBIAN_CLI_PACKAGE_NAME tenon)
set(CPACK_DEBIAN_CLI_PACKAGE_SECTION science)
set(CPACK_DEBIAN_CLI_PACKAGE_SUGGESTS "${gpu_drivers}")
set(CPACK_COMPONENT_CLI_DESCRIPTION "${what} the command line: it trains GPT-2, Llama and other models
from JSON configurations, generates text, prepares data and converts
checkpoints.")

# Static: who links it needs what it was linked with. CMake's files of oneDNN ask for OpenCL, which Debian's package of
# them does not bring.
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libtenon-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(dev_packages libfmt-dev libhwy-dev zlib1g-dev libbz2-dev libzstd-dev libpcre2-dev pkg-config)
foreach(choice IN ITEMS ONEDNN:libdnnl-dev ONEDNN:ocl-icd-opencl-dev PNG:libpng-dev JPEG:libjpeg62-turbo-dev VULKAN:glslang-dev VULKAN:spirv-tools)
  string(REPLACE ":" ";" choice ${choice})
  list(GET choice 0 option)
  list(GET choice 1 package)
  if(TENON_WITH_${option})
    list(APPEND dev_packages ${package})
  endif()
endforeach()
string(JOIN ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ${dev_packages})
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "${mathematics}, ${gpu_drivers}")
set(CPACK_COMPONENT_DEV_DESCRIPTION "${what} the library for C++20, its headers, and what CMake and
pkg-config need to find it.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-tenon)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
if(TENON_BUILD_PYTHON)
  math(EXPR next_minor "${python_minor} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.${python_minor}), python3 (<< 3.${next_minor})")
endif()
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-numpy, ${mathematics}, ${gpu_drivers}")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "${what} the module for Python 3, with the names of PyTorch.")

# What every Debian package carries: whose it is, and its history.
string(TIMESTAMP build_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} COMPONENT)
  set(package ${CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME})
  configure_file(cmake/debian/changelog.in debian/${package}/changelog @ONLY)
  install(CODE "
    execute_process(COMMAND gzip -9nc ${PROJECT_BINARY_DIR}/debian/${package}/changelog
      OUTPUT_FILE ${PROJECT_BINARY_DIR}/debian/${package}/changelog.gz COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_BINARY_DIR}/debian/${package}/changelog.gz ${PROJECT_SOURCE_DIR}/cmake/debian/copyright
    DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
install(CODE "
  execute_process(COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/cmake/debian/tenon.1
    OUTPUT_FILE ${PROJECT_BINARY_DIR}/debian/tenon.1.gz COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT cli EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_BINARY_DIR}/debian/tenon.1.gz DESTINATION share/man/man1 COMPONENT cli EXCLUDE_FROM_ALL)

include(CPack)
