# Which test runs where: the one table. Included by tests/CMakeLists.txt after it has defined the binaries.
#
#   job         command               build       what
#   test        make test             release     cpu, reference, remote and simulated devices; Python; docs and checks
#   drivers     make test-drivers     release     PoCL, lavapipe, SwiftShader, and a GPU where there is one
#   sanitizers  make test-sanitizers  asan-core   what owns memory and replays it; the fuzz targets (release)
#
# A job is a label of ctest. Other presets (debug, asan, tsan: `make test-all`) run all rows but those of drivers that are
# marked RELEASE: sanitizers have much to report about the compilers that drivers bring along.
#
#   row(NAME JOB BINARY [ON device] [RELEASE] [ONLY filter...] [EXCEPT filter...] [WITH variable=value...] [PART i/n])
#     ON      the row is skipped where the device is not available
#     ONLY    filters of GoogleTest; EXCEPT leaves tests out that another row or job runs
#     WITH    environment
#     PART    every n-th test, so that rows of one binary run beside each other

# PoCL, the OpenCL of machines without a GPU, keeps what it compiled in the home folder unless it is given another one.
set(pocl "POCL_CACHE_DIR=${PROJECT_BINARY_DIR}/pocl")

# lavapipe and SwiftShader, the Vulkan of such machines; hide_sve.cpp says why a library is preloaded. SwiftShader has
# neither 8-, 16- nor 64-bit numbers: the poorest device. Debian's chromium-common brings it, in a folder where loaders do
# not look.
set(lavapipe "MESA_SHADER_CACHE_DIR=${PROJECT_BINARY_DIR}/mesa")
if(TARGET hide_sve)
  list(APPEND lavapipe "LD_PRELOAD=$<TARGET_FILE:hide_sve>")
endif()
set(swiftshader ${lavapipe} "VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json")

foreach(job test drivers sanitizers)
  add_custom_target(tests_of_${job})
endforeach()

function(row name job binary)
  cmake_parse_arguments(PARSE_ARGV 3 row "RELEASE" "ON;PART" "ONLY;EXCEPT;WITH;ARGUMENTS")
  if(NOT TARGET ${binary} OR (row_RELEASE AND NOT CMAKE_BUILD_TYPE STREQUAL "Release") OR
     (TENON_CORE_ONLY AND NOT job STREQUAL "sanitizers") OR (job STREQUAL "sanitizers" AND NOT TENON_CORE_ONLY))
    return()
  endif()
  set(arguments ${row_ARGUMENTS})
  if(NOT binary STREQUAL "golden_test")
    list(APPEND arguments --gtest_brief=1)
  endif()
  if(row_ONLY OR row_EXCEPT)
    string(JOIN ":" only ${row_ONLY})
    string(JOIN ":" except ${row_EXCEPT})
    list(APPEND arguments "--gtest_filter=${only}-${except}")
  endif()
  if(row_ON)
    string(JOIN " " arguments ${arguments})
    add_test(NAME ${name} COMMAND sh -c "$<TARGET_FILE:device_is_there> ${row_ON} && exec $<TARGET_FILE:${binary}> ${arguments}")
  else()
    add_test(NAME ${name} COMMAND ${binary} ${arguments})
  endif()
  set(environment ${row_WITH})
  if(row_PART)
    string(REPLACE "/" ";" part ${row_PART})
    list(GET part 0 index)
    list(GET part 1 total)
    math(EXPR index "${index} - 1")
    list(APPEND environment "GTEST_TOTAL_SHARDS=${total}" "GTEST_SHARD_INDEX=${index}")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${job} SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}"
    FAIL_REGULAR_EXPRESSION "==\\] 0 tests from")  # a filter that selects nothing must not look like success
  add_dependencies(tests_of_${job} ${binary} device_is_there)
endfunction()

# check(NAME JOB COMMAND...): any other program, where the build has all it needs.
function(check name job)
  if(NOT TENON_CORE_ONLY)
    add_test(NAME ${name} COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES LABELS ${job} SKIP_RETURN_CODE 77)
  endif()
endfunction()

# Tests that assert something of a named device have a row of their own for it.
set(named_devices "*/cpu" "*/cpu_unfused" "*/reference" "*/remote" "*/simulated*" "*/opencl*" "*/vulkan*" "*/cuda*")
set(drivers "*/opencl*" "*/vulkan*" "*/cuda*")

# --- test: a folder is a row, unless it is one of these ---------------------------------------------------------------
foreach(name IN LISTS test_folders)
  if(NOT name MATCHES "^(exec|kernels|ops|optim|gpu|render|train)$")
    row(${name} test ${name}_test WITH ${pocl})
  endif()
endforeach()
row(exec test exec_test EXCEPT ${drivers} "Fork.AChildIsTold*" WITH ${pocl} TENON_PROGRAMS=500)
row(optim test optim_test EXCEPT ${drivers})
row(gpu test gpu_test EXCEPT ${drivers})
# The stand-in has libraries of its own, whatever the machine's user has named.
row(cuda_beside_own_libraries test cuda_test ONLY "OnStandIn.*Product*" WITH TENON_CUDA_LIBRARIES=${PROJECT_BINARY_DIR}/no_such_folder)
row(train test train_test EXCEPT ${drivers})

# Every op on every device. Devices that take long to make or to run a kernel take few cases of each test (ops/rows.h).
# TENON_ALL_CASES=1 ops_test takes all.
row(ops test ops_test EXCEPT ${drivers} "*/simulated*")
row(ops_on_simulated test ops_test ONLY "Ops/*/simulated*" "Devices/*/simulated" EXCEPT "Devices/LongProducts*")

# The contract of device.h is proved by `remote`, which keeps to it and no more: these suites make their tensors there. A
# forked child has no thread of the device, as it would have no driver.
foreach(name exec capture)
  row(${name}_on_remote test ${name}_test EXCEPT ${named_devices} "Fork.*" WITH TENON_DEVICE=remote TENON_PROGRAMS=300)
endforeach()
# Fusing and memory of a GPU. Random programs would compile for hours.
row(capture_on_simulated test capture_test EXCEPT ${named_devices} "Fork.*" "Random*" WITH TENON_DEVICE=simulated PART 2/3)

# What has threads of its own also runs under ThreadSanitizer: `run_tests.sh tsan:threads`.
add_custom_target(tests_of_threads)
foreach(name exec capture)
  if(TARGET ${name}_test AND NOT TENON_CORE_ONLY)
    set_property(TEST ${name} APPEND PROPERTY LABELS threads)
    add_dependencies(tests_of_threads ${name}_test)
  endif()
endforeach()

# Recorded cases, one row for each device and dtype; remote has the cpu's bits, and values do not depend on grouping.
set(golden ARGUMENTS --dir ${CMAKE_CURRENT_SOURCE_DIR}/golden)
set(volumes ARGUMENTS --dir ${CMAKE_CURRENT_SOURCE_DIR}/golden/volumes)
foreach(dtype f32 f16 bf16)
  foreach(device reference cpu simulated)
    row(golden.${device}.${dtype} test golden_test ${golden} --device ${device} --dtype ${dtype})
    row(golden_volumes.${device}.${dtype} test golden_test ${volumes} --device ${device} --dtype ${dtype})
  endforeach()
  row(golden.remote.${dtype} test golden_test ${golden} --device remote --same-bits cpu --dtype ${dtype})
  row(golden_volumes.grouping.${dtype} test golden_test ${volumes} --device cpu --same-bits cpu_unfused
    --dtype ${dtype})
  row(golden.grouping.${dtype} test golden_test ${golden} --device cpu --same-bits cpu_unfused --dtype ${dtype})
endforeach()
row(golden.simulated_grouping.f32 test golden_test ${golden} --device simulated --same-bits simulated_unfused --dtype f32)

# The source, and what the docs say: programs of the pages are run and what they print is compared.
set(scripts ${PROJECT_SOURCE_DIR}/scripts)
check(include_check test Python3::Interpreter ${scripts}/check_includes.py --self-test)
check(adding_an_op_check test Python3::Interpreter ${scripts}/check_adding_an_op.py --self-test)
check(functions_check test Python3::Interpreter ${scripts}/make_functions.py --check)
# The declarations for TypeScript, where its compiler is installed (Debian's node-typescript).
check(typescript test Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/web/check_types.py
  ${CMAKE_CURRENT_SOURCE_DIR}/web/functions_types.ts)
check(reference_check test Python3::Interpreter ${scripts}/make_reference.py --check)
check(compile_errors test Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/compile_errors.py ${CMAKE_CXX_COMPILER}
  "$<TARGET_PROPERTY:test_headers,INCLUDE_DIRECTORIES>")
check(readme_check test Python3::Interpreter ${scripts}/check_readme.py)
check(together_check test Python3::Interpreter ${scripts}/check_together.py ${PROJECT_BINARY_DIR}/CMakeFiles/tenon.dir/Unity)
check(bench_scripts test Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/bench/test_bench.py)
check(links_check test Python3::Interpreter ${scripts}/check_links.py --self-test)
check(variables_check test ${check_guide} variables)
check(guide_check test ${check_guide} self-test)
if(TARGET guide_programs)
  check(guide test ${check_guide} cpp $<TARGET_FILE:guide_programs>)
  check(reference_examples test $<TARGET_FILE:reference_examples>)
endif()
if(TARGET tenon_cli)
  check(guide_commands test ${check_guide} sh $<TARGET_FILE_DIR:tenon_cli>)
  check(tokenize_command test Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/tokenize_command.py $<TARGET_FILE:tenon_cli>)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    # Ten kills; the log of two hundred lies in tests/kill. Waiting for the disk is what takes its time.
    check(kill test ${CMAKE_COMMAND} -E env TENON_BIN=$<TARGET_FILE_DIR:tenon_cli> ${scripts}/kill_test.sh 10)
    # The calls on the folder of checkpoints; the script by itself takes all of a resume.
    check(fault test ${CMAKE_COMMAND} -E env TENON_BIN=$<TARGET_FILE_DIR:tenon_cli> ${Python3_EXECUTABLE}
      ${scripts}/fault_test.py --quick --errors EIO)
  endif()
endif()
if(PROJECT_IS_TOP_LEVEL)  # the consumer gets this build's compiler and flags, to link against a sanitized library too
  check(consumer test ${scripts}/check_consumer.sh ${PROJECT_BINARY_DIR} $<CONFIG> ${CMAKE_CXX_COMPILER} "${CMAKE_CXX_FLAGS}")
endif()

# Python, where the module is built: a row for each file of tests/python.
if(TENON_BUILD_PYTHON AND CMAKE_BUILD_TYPE STREQUAL "Release")
  set(python ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python ${Python3_EXECUTABLE})
  file(GLOB python_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/python/test_*.py)
  foreach(file IN LISTS python_tests)
    cmake_path(GET file STEM name)
    string(REPLACE "test_" "python." name ${name})
    check(${name} test ${python} ${PROJECT_SOURCE_DIR}/tests/python/run.py ${file})
  endforeach()
  check(python_stubs test ${python} ${PROJECT_SOURCE_DIR}/tests/python/check_stubs.py)
  check(python_guide test ${python} ${scripts}/check_guide.py python ${Python3_EXECUTABLE})
endif()

# --- drivers ------------------------------------------------------------------------------------------------------------
row(ops_on_opencl drivers ops_test ON opencl ONLY "Ops/*/opencl_*" "Devices/Indexing*/opencl" "Devices/Products*/opencl"
  "Devices/LayerFunctions*/opencl" EXCEPT "*unfused*" "Ops/Gradient*" WITH ${pocl})
row(ops_on_vulkan drivers ops_test ON vulkan RELEASE
  ONLY "Ops/Elementwise*/vulkan_*" "Ops/Reference*/vulkan_*" "Ops/Gradient.IsTheSlope/vulkan_*" "Devices/*/vulkan"
  EXCEPT "*unfused*" "Devices/LongProducts*" WITH ${lavapipe})  # half a minute, in f64
row(ops_on_swiftshader drivers ops_test ON vulkan RELEASE
  ONLY "Ops/Elementwise*/vulkan_*" "Ops/Reference*/vulkan_*" "Ops/Gradient.InF32*/vulkan_*" "Devices/Indexing*/vulkan"
  "Devices/KnownAnswers*/vulkan" EXCEPT "*unfused*" "Devices/LongProducts*" WITH ${swiftshader})
row(exec_on_opencl drivers exec_test RELEASE ONLY "*/opencl" "Fork.AChildIsTold*" WITH ${pocl})
row(exec_on_vulkan drivers exec_test RELEASE ONLY "*/vulkan" WITH ${lavapipe})
row(gpu_on_drivers drivers gpu_test RELEASE ONLY ${drivers} WITH ${pocl} ${lavapipe})
# Kernels written by hand, and every kernel's text: compiled and run by PoCL beside the simulated device. PoCL takes minutes
# for what is left out, which `make test-all` runs.
row(kernels drivers kernels_test WITH ${pocl}
  EXCEPT "*AttentionKernels.*/opencl" "Scan.SumsLines*" "Sort.KeepsTheOrder*" "Sort.SortsLines*")
row(render drivers render_test WITH ${pocl})
row(optim_on_drivers drivers optim_test RELEASE ONLY ${drivers} WITH ${pocl} ${lavapipe})
row(train_on_drivers drivers train_test RELEASE ONLY ${drivers} WITH ${pocl} ${lavapipe})
foreach(device opencl vulkan cuda)
  foreach(part 1 2 3)
    row(capture_on_${device}_part${part} drivers capture_test ON ${device} EXCEPT ${named_devices} "Fork.*" "Random*"
      WITH TENON_DEVICE=${device} ${pocl} ${lavapipe} PART ${part}/3)
  endforeach()
endforeach()
# A loss, a story against its reference, a captured step that learns: PoCL takes minutes for the others.
row(models_on_opencl drivers models_test ON opencl RELEASE
  ONLY "Gpt2.StartsNear*" "Gpt2.SeesNothing*" "Gpt2Step.LearnsUnderAutocast" "Llama.TellsTheStory*"
  "Decoder.AStepBegunInVain*" WITH ${pocl} TENON_DEVICE=opencl)
row(golden_volumes.opencl.f32 drivers golden_test ON opencl ${volumes} --device opencl --dtype f32 --filter conv3d_0 WITH ${pocl})
row(golden_volumes.vulkan.f32 drivers golden_test ON vulkan ${volumes} --device vulkan --dtype f32 --filter conv3d_0 WITH ${lavapipe})
row(golden.opencl.f32 drivers golden_test ON opencl ${golden} --device opencl --dtype f32 --filter opt_ WITH ${pocl})
row(golden.vulkan.f32 drivers golden_test ON vulkan ${golden} --device vulkan --dtype f32 --filter opt_ WITH ${lavapipe})
row(golden.swiftshader.f32 drivers golden_test ON vulkan ${golden} --device vulkan --dtype f32 --filter opt_
  WITH ${swiftshader})

# --- sanitizers: exec in two parts, the longest ones first -------------------------------------------------------------
foreach(part 1 2)
  row(exec_part${part} sanitizers exec_test WITH TENON_PROGRAMS=50 PART ${part}/2 EXCEPT ${drivers} "Fork.AChildIsTold*"
    "*AMillion*/reference" "*AMillion*/remote" "*AViewOfAView*/reference" "*AViewOfAView*/remote" "Tuning.EveryWay*"
    "Tuning.TriesEveryWay*")  # once is enough
endforeach()
row(capture sanitizers capture_test WITH TENON_RANDOM_PROGRAMS=1000)
row(optim sanitizers optim_test EXCEPT ${drivers})

# A second for each of the readers; scripts/fuzz.sh by itself runs 10 minutes each. Their build is their own.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  check(fuzz sanitizers ${scripts}/fuzz.sh 1)
endif()
