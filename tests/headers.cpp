// Nothing but the headers that tests share: see CMakeLists.txt.
