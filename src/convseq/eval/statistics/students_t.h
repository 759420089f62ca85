#pragma once

namespace convseq {

// I_x(a, b), the regularized incomplete beta function; a, b > 0 and 0 ≤ x ≤ 1.
double incomplete_beta(double a, double b, double x);

// P(T > t) for Student's t with `degrees` > 0 degrees of freedom.
double students_t_upper_tail(double t, double degrees);

// The t that P(|T| > t) = 1 − confidence: 12.7 for 95% and one degree of freedom, 1.96 for many.
double students_t_quantile(double confidence, double degrees);

}  // namespace convseq
