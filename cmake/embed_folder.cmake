# Files that become part of a program.
#
# edubba_embed_folder(TARGET NAME FOLDER): every file of FOLDER, as an array NAME of struct page_file, the page itself
# (index.html) first; made anew when one of them changes.  Included by CMakeLists.txt; run as a script
# (cmake -D... -P embed_folder.cmake) it writes the source.
if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(EDUBBA_EMBED_FOLDER_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
    function(edubba_embed_folder target name folder)
        file(GLOB files CONFIGURE_DEPENDS ${folder}/*)
        set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.c)
        add_custom_command(OUTPUT ${source} VERBATIM
            DEPENDS ${files} ${EDUBBA_EMBED_FOLDER_SCRIPT}
            COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DFOLDER=${CMAKE_CURRENT_SOURCE_DIR}/${folder} -DSOURCE=${source}
                -P ${EDUBBA_EMBED_FOLDER_SCRIPT})
        target_sources(${target} PRIVATE ${source})
    endfunction()
    return()
endif()

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.html ${FOLDER}/*.css ${FOLDER}/*.js ${FOLDER}/*.svg)
list(SORT files)
list(REMOVE_ITEM files index.html)
list(PREPEND files index.html)
set(arrays "")
set(entries "")
set(number 0)
foreach(file ${files})
    string(REGEX REPLACE ".*\\." "" suffix ${file})
    file(READ ${FOLDER}/${file} content HEX)
    file(SHA256 ${FOLDER}/${file} tag)
    string(SUBSTRING ${tag} 0 16 tag)
    string(REGEX REPLACE "(................................)" "\\1\n" content "${content}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," content "${content}")
    string(APPEND arrays "static const unsigned char file_${number}[] = {\n${content}};\n")
    string(APPEND entries "    {\"/${file}\", \"${type_${suffix}}\", file_${number}, sizeof file_${number}, \"\\\"${tag}\\\"\"},\n")
    math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${SOURCE} "/* Made by cmake/embed_folder.cmake. */\n#include \"master/console/console_page.h\"\n\n${arrays}\nconst struct page_file ${NAME}[] = {\n${entries}    {0},\n};\n")
