# Copies the package beside the module and removes files that it no longer has: Python would import them still.
#
#   cmake -DFROM=python/tenon -DTO=build/release/python/tenon -P python/copy_package.cmake

file(GLOB_RECURSE copied RELATIVE ${TO} ${TO}/*.py ${TO}/*.pyi)
foreach(file ${copied})
  if(NOT EXISTS ${FROM}/${file})
    file(REMOVE ${TO}/${file})
  endif()
endforeach()
file(COPY ${FROM}/ DESTINATION ${TO} PATTERN __pycache__ EXCLUDE)
