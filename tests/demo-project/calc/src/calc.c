#include "calc.h"

#include <ctype.h>
#include <limits.h>

struct parser {
  const char *text, *at;
  enum calc_status status;
  int depth;
};

static long long sum(struct parser *p);

static long long fail(struct parser *p, enum calc_status status) {
  if (p->status == CALC_OK) p->status = status;
  return 0;
}

static char peek(struct parser *p) {
  while (isspace((unsigned char)*p->at)) p->at++;
  return *p->at;
}

static long long number(struct parser *p) {
  long long value = 0;
  if (!isdigit((unsigned char)peek(p))) return fail(p, CALC_SYNTAX);
  for (; isdigit((unsigned char)*p->at); p->at++) {
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *p->at - '0', &value))
      return fail(p, CALC_OVERFLOW);
  }
  return value;
}

static long long factor(struct parser *p) {
  long long value;
  if (++p->depth > 200) return fail(p, CALC_SYNTAX);
  if (peek(p) == '-') {
    p->at++;
    value = factor(p);
    if (__builtin_sub_overflow(0LL, value, &value)) value = fail(p, CALC_OVERFLOW);
  } else if (peek(p) == '(') {
    p->at++;
    value = sum(p);
    if (peek(p) == ')')
      p->at++;
    else
      value = fail(p, CALC_SYNTAX);
  } else {
    value = number(p);
  }
  p->depth--;
  return value;
}

static long long product(struct parser *p) {
  long long left = factor(p);
  for (char op = peek(p); p->status == CALC_OK && (op == '*' || op == '/' || op == '%'); op = peek(p)) {
    p->at++;
    long long right = factor(p);
    if (op == '*') {
      if (__builtin_mul_overflow(left, right, &left)) return fail(p, CALC_OVERFLOW);
    } else if (right == 0) {
      return fail(p, CALC_DIVISION);
    } else if (left == LLONG_MIN && right == -1) {
      return fail(p, CALC_OVERFLOW);
    } else {
      left = op == '/' ? left / right : left % right;
    }
  }
  return left;
}

static long long sum(struct parser *p) {
  long long left = product(p);
  for (char op = peek(p); p->status == CALC_OK && (op == '+' || op == '-'); op = peek(p)) {
    p->at++;
    long long right = product(p);
    if (op == '+' ? __builtin_add_overflow(left, right, &left) : __builtin_sub_overflow(left, right, &left))
      return fail(p, CALC_OVERFLOW);
  }
  return left;
}

enum calc_status calc_evaluate(const char *text, long long *value, int *where) {
  struct parser p = {text, text, CALC_OK, 0};
  long long result = sum(&p);
  if (p.status == CALC_OK && peek(&p) != '\0') p.status = CALC_SYNTAX;
  *where = (int)(p.at - p.text);
  if (p.status == CALC_OK) *value = result;
  return p.status;
}
