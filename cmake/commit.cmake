# cmake -DSOURCE=... -DCOMMIT=... -DOUT=... -P commit.cmake: a header that says which commit is built, written when
# that has changed.  COMMIT, if it is not empty, is what it says.  Else git says, where SOURCE is a repository of its own:
# sources that were unpacked somewhere within another one are not of that one's commit.
if(NOT COMMIT)
    find_program(GIT git)
endif()
if(GIT)
    execute_process(COMMAND ${GIT} rev-parse --show-cdup WORKING_DIRECTORY ${SOURCE}
        RESULT_VARIABLE failed OUTPUT_VARIABLE way_up OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT failed AND way_up STREQUAL "")
        # Without tags, which would hide it, and with "-dirty" where there are changes; without the lock of somebody's commit.
        execute_process(COMMAND ${GIT} --no-optional-locks describe --always --dirty --abbrev=12 --exclude *
            WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
endif()
if(NOT COMMIT MATCHES "^[0-9A-Za-z._+-]+$")
    set(COMMIT "unknown")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define EDUBBA_COMMIT \"@COMMIT@\"\n" @ONLY)
