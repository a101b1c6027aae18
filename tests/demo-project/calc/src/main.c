#include <stdio.h>

#include "calc.h"

int main(int argc, char **argv) {
  static const char *const reasons[] = {"", "cannot read this", "division by zero", "too large"};
  for (int i = 1; i < argc; i++) {
    long long value = 0;
    int where = 0;
    const enum calc_status status = calc_evaluate(argv[i], &value, &where);
    if (status != CALC_OK) {
      fprintf(stderr, "%s\n%*s^ %s\n", argv[i], where, "", reasons[status]);
      return 1;
    }
    printf("%lld\n", value);
  }
  return 0;
}
