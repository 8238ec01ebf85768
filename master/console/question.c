#include "master/console/question.h"

#include <stdio.h>

void question_fail(struct question *question, enum status status, const char *text)
{
    question->status = status;
    (void)snprintf(question->text, sizeof question->text, "%s", text);
    question->answered(question);
}
