# cmake/embed.cmake -- files that become bytes in a program.
#
#   edubba_embed(OUT.c NAME=FILE...)   at build time: `const unsigned char NAME[]`, which ends with a 0
#
# Run as a script, with OUTPUT and INPUTS, it writes that file.
if(CMAKE_SCRIPT_MODE_FILE)
    set(text "/* Made by cmake/embed.cmake. */\n")
    string(REPLACE "|" ";" INPUTS "${INPUTS}")
    foreach(input IN LISTS INPUTS)
        string(REGEX MATCH "^([^=]+)=(.*)$" matched "${input}")
        set(name ${CMAKE_MATCH_1})
        file(READ "${CMAKE_MATCH_2}" bytes HEX)
        string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
        string(APPEND text "extern const unsigned char ${name}[];\nconst unsigned char ${name}[] = {${bytes}0};\n")
    endforeach()
    file(WRITE "${OUTPUT}" "${text}")
    return()
endif()

include_guard(GLOBAL)
set(EDUBBA_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(edubba_embed output)
    set(files)
    foreach(input IN LISTS ARGN)
        string(REGEX REPLACE "^[^=]+=" "" file "${input}")
        list(APPEND files "${file}")
    endforeach()
    string(REPLACE ";" "|" inputs "${ARGN}")
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} "-DINPUTS=${inputs}" -P ${EDUBBA_EMBED_SCRIPT}
        DEPENDS ${files} ${EDUBBA_EMBED_SCRIPT} VERBATIM)
endfunction()
