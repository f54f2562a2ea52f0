# Installs tenon/tenon.h and the headers that it includes, directly or not, and no other: what a user can include is what
# a user is meant to.
#
# Run by `cmake --install` with source_dir and include_dir set. The headers are found then and not when the build is
# configured, because any of them may have changed since.

cmake_policy(VERSION 3.25)

set(waiting tenon/tenon.h)
set(headers "")
while(waiting)
  list(POP_FRONT waiting header)
  if(header IN_LIST headers)
    continue()
  endif()
  list(APPEND headers ${header})
  file(STRINGS ${source_dir}/${header} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[\"<]tenon/")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[^\"<]*[\"<]([^\">]*).*$" "\\1" included "${line}")
    list(APPEND waiting ${included})
  endforeach()
endwhile()

cmake_path(ABSOLUTE_PATH include_dir BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX})
foreach(header IN LISTS headers)
  get_filename_component(folder ${header} DIRECTORY)
  file(INSTALL ${source_dir}/${header} DESTINATION ${include_dir}/${folder})
endforeach()
