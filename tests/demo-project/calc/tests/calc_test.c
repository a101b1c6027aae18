#include <stdio.h>
#include <string.h>

#include "calc.h"

static int failures, count;

static void gives(const char *text, long long wanted) {
  long long value = 0;
  int where = 0;
  const enum calc_status status = calc_evaluate(text, &value, &where);
  count++;
  if (status == CALC_OK && value == wanted) return;
  failures++;
  printf("FAIL %s: status %d, value %lld, wanted %lld\n", text, status, value, wanted);
}

static void refuses(const char *text, enum calc_status wanted) {
  long long value = 0;
  int where = 0;
  const enum calc_status status = calc_evaluate(text, &value, &where);
  count++;
  if (status == wanted) return;
  failures++;
  printf("FAIL %s: status %d, wanted %d\n", text, status, wanted);
}

int main(void) {
  gives("1", 1);
  gives(" 1 + 2 * 3 ", 7);
  gives("(1 + 2) * 3", 9);
  gives("10 - 4 - 3", 3);
  gives("100 / 7 % 5", 4);
  gives("--2", 2);
  gives("-(2 + 3) * -4", 20);
  gives("9223372036854775807", 9223372036854775807LL);
  refuses("", CALC_SYNTAX);
  refuses("1 +", CALC_SYNTAX);
  refuses("(1", CALC_SYNTAX);
  refuses("1 2", CALC_SYNTAX);
  refuses("1 / (2 - 2)", CALC_DIVISION);
  refuses("9223372036854775808", CALC_OVERFLOW);
  refuses("9223372036854775807 + 1", CALC_OVERFLOW);
  char deep[1001];
  memset(deep, '(', sizeof deep - 1);
  deep[sizeof deep - 1] = '\0';
  refuses(deep, CALC_SYNTAX);
  printf("%d checks, %d failed\n", count, failures);
  return failures != 0;
}
