/* Integer arithmetic on text: + - * / %, unary minus and parentheses, with the usual precedence. */
#ifndef CALC_H
#define CALC_H

enum calc_status {
  CALC_OK,
  CALC_SYNTAX,        /* *where is the offset of what could not be read */
  CALC_DIVISION,      /* by zero */
  CALC_OVERFLOW       /* a result that does not fit */
};

/* Evaluates `text`. On CALC_OK *value is set; otherwise *where tells how far it came. */
enum calc_status calc_evaluate(const char *text, long long *value, int *where);

#endif
