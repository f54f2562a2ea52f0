// Written by scripts/make_functions.py from the tables of functions; do not edit.
//
// Names, the order of arguments and their defaults are those of C++ and Python; what has a default may be left out.

export type DType = "f32" | "f16" | "bf16" | "f64" | "i32" | "i64" | "u8" | "bool";
/** The name of a device, such as "cpu". */
export type Device = string;
export type Scalar = number | boolean;
/** A tensor or a number. */
export type Operand = Tensor | Scalar;
/** Sizes of dims, or dims. */
export type Dims = readonly number[];
type OfAxes<N extends 1 | 2 | 3> = N extends 1 ? readonly [number] : N extends 2 ? readonly [number, number] : readonly [number, number, number];
/** A number for all axes, or one for each. */
export type Size<N extends 1 | 2 | 3> = number | OfAxes<N>;
export type Padding<N extends 1 | 2 | 3> = Size<N> | "same" | "valid";
export type Reduction = "none" | "mean" | "sum" | "batchmean";
/** The order of a norm. */
export type Order = number | "fro" | "nuc";
/** Numbers, in lists for every dim. */
export type TensorData = Scalar | Tensor | ArrayLike<number> | readonly TensorData[];
/** Random numbers of a seed. */
export interface Generator {
  readonly seed: number;
}
export interface Unique {
  readonly values: Tensor;
  readonly inverse: Tensor;
  readonly counts: Tensor;
}
export interface Qr {
  readonly Q: Tensor;
  readonly R: Tensor;
}
export interface Svd {
  readonly U: Tensor;
  readonly S: Tensor;
  readonly Vh: Tensor;
}
export interface Eigen {
  readonly eigenvalues: Tensor;
  readonly eigenvectors: Tensor;
}
export interface SignAndLog {
  readonly sign: Tensor;
  readonly logabsdet: Tensor;
}
export interface LeastSquares {
  readonly solution: Tensor;
  readonly residuals: Tensor;
  readonly rank: Tensor;
  readonly singular_values: Tensor;
}

/** A tensor; methods that end with an underscore write in place. */
export interface Tensor {
  readonly shape: Dims;
  readonly dtype: DType;
  readonly device: Device;

  /**
   * x + alpha * other. Defaults: alpha = 1.
   * @since 0.1
   */
  add(other: Operand, alpha?: Scalar): Tensor;
  /**
   * x + alpha * other. In place. Defaults: alpha = 1.
   * @since 0.1
   */
  add_(other: Operand, alpha?: Scalar): this;
  /**
   * x - alpha * other. Defaults: alpha = 1.
   * @since 0.1
   */
  sub(other: Operand, alpha?: Scalar): Tensor;
  /**
   * x - alpha * other. In place. Defaults: alpha = 1.
   * @since 0.1
   */
  sub_(other: Operand, alpha?: Scalar): this;
  /**
   * As sub. Defaults: alpha = 1.
   * @since 0.1
   */
  subtract(other: Operand, alpha?: Scalar): Tensor;
  /**
   * As sub. In place. Defaults: alpha = 1.
   * @since 0.1
   */
  subtract_(other: Operand, alpha?: Scalar): this;
  /**
   * other - alpha * x. Defaults: alpha = 1.
   * @since 0.2
   */
  rsub(other: Operand, alpha?: Scalar): Tensor;
  /**
   * x * other.
   * @since 0.1
   */
  mul(other: Operand): Tensor;
  /**
   * x * other. In place.
   * @since 0.1
   */
  mul_(other: Operand): this;
  /**
   * As mul.
   * @since 0.1
   */
  multiply(other: Operand): Tensor;
  /**
   * As mul. In place.
   * @since 0.1
   */
  multiply_(other: Operand): this;
  /**
   * x / other, always real; with the rounding mode 'floor' or 'trunc' integers stay integers.
   * @since 0.1
   */
  div(other: Operand, rounding_mode?: string | null): Tensor;
  /**
   * x / other, always real; with the rounding mode 'floor' or 'trunc' integers stay integers. In place.
   * @since 0.1
   */
  div_(other: Operand, rounding_mode?: string | null): this;
  /**
   * As div.
   * @since 0.1
   */
  divide(other: Operand, rounding_mode?: string | null): Tensor;
  /**
   * As div. In place.
   * @since 0.1
   */
  divide_(other: Operand, rounding_mode?: string | null): this;
  /**
   * x / other.
   * @since 0.2
   */
  true_divide(other: Operand): Tensor;
  /**
   * x / other. In place.
   * @since 0.2
   */
  true_divide_(other: Operand): this;
  /**
   * x // other, rounded down.
   * @since 0.1
   */
  floor_divide(other: Operand): Tensor;
  /**
   * x // other, rounded down. In place.
   * @since 0.1
   */
  floor_divide_(other: Operand): this;
  /**
   * x % other, with the sign of other.
   * @since 0.1
   */
  remainder(other: Operand): Tensor;
  /**
   * x % other, with the sign of other. In place.
   * @since 0.1
   */
  remainder_(other: Operand): this;
  /**
   * The remainder with the sign of x, as in C.
   * @since 0.1
   */
  fmod(other: Operand): Tensor;
  /**
   * The remainder with the sign of x, as in C. In place.
   * @since 0.1
   */
  fmod_(other: Operand): this;
  /**
   * The largest integer that divides both.
   * @since 0.2
   */
  gcd(other: Tensor): Tensor;
  /**
   * The largest integer that divides both. In place.
   * @since 0.2
   */
  gcd_(other: Tensor): this;
  /**
   * The smallest integer that both divide.
   * @since 0.2
   */
  lcm(other: Tensor): Tensor;
  /**
   * The smallest integer that both divide. In place.
   * @since 0.2
   */
  lcm_(other: Tensor): this;
  /**
   * x ** exponent.
   * @since 0.1
   */
  pow(exponent: Operand): Tensor;
  /**
   * x ** exponent. In place.
   * @since 0.1
   */
  pow_(exponent: Operand): this;
  /**
   * x ** exponent in float64.
   * @since 0.1
   */
  float_power(exponent: Operand): Tensor;
  /**
   * start + weight * (end - start).
   * @since 0.1
   */
  lerp(end: Operand, weight: Operand): Tensor;
  /**
   * start + weight * (end - start). In place.
   * @since 0.1
   */
  lerp_(end: Operand, weight: Operand): this;
  /**
   * x + value * a * b. Defaults: value = 1.
   * @since 0.1
   */
  addcmul(a: Tensor, b: Tensor, value?: Scalar): Tensor;
  /**
   * x + value * a * b. In place. Defaults: value = 1.
   * @since 0.1
   */
  addcmul_(a: Tensor, b: Tensor, value?: Scalar): this;
  /**
   * x + value * a / b. Defaults: value = 1.
   * @since 0.1
   */
  addcdiv(a: Tensor, b: Tensor, value?: Scalar): Tensor;
  /**
   * x + value * a / b. In place. Defaults: value = 1.
   * @since 0.1
   */
  addcdiv_(a: Tensor, b: Tensor, value?: Scalar): this;
  /**
   * The larger of two, element by element.
   * @since 0.1
   */
  maximum(other: Tensor): Tensor;
  /**
   * The smaller of two, element by element.
   * @since 0.1
   */
  minimum(other: Tensor): Tensor;
  /**
   * The angle of (other, x), from -pi to pi.
   * @since 0.1
   */
  atan2(other: Tensor): Tensor;
  /**
   * The angle of (other, x), from -pi to pi. In place.
   * @since 0.1
   */
  atan2_(other: Tensor): this;
  /**
   * As atan2.
   * @since 0.1
   */
  arctan2(other: Tensor): Tensor;
  /**
   * As atan2. In place.
   * @since 0.1
   */
  arctan2_(other: Tensor): this;
  /**
   * sqrt(x * x + other * other).
   * @since 0.1
   */
  hypot(other: Tensor): Tensor;
  /**
   * sqrt(x * x + other * other). In place.
   * @since 0.1
   */
  hypot_(other: Tensor): this;
  /**
   * The larger of two elements, or the one that is a number where the other is NaN.
   * @since 0.2
   */
  fmax(other: Tensor): Tensor;
  /**
   * The smaller of two elements, or the one that is a number where the other is NaN.
   * @since 0.2
   */
  fmin(other: Tensor): Tensor;
  /**
   * x * log(other), and 0 where x is 0, whatever the other is but NaN.
   * @since 0.2
   */
  xlogy(other: Operand): Tensor;
  /**
   * log(exp(x) + exp(other)).
   * @since 0.1
   */
  logaddexp(other: Tensor): Tensor;
  /**
   * log2(2 ** x + 2 ** other).
   * @since 0.2
   */
  logaddexp2(other: Tensor): Tensor;
  /**
   * |x| with the sign of other.
   * @since 0.1
   */
  copysign(other: Operand): Tensor;
  /**
   * |x| with the sign of other. In place.
   * @since 0.1
   */
  copysign_(other: Operand): this;
  /**
   * The number of the dtype that comes after x on the way to other. Its gradient is that of x, 0 where both are
   * equal.
   * @since 0.2
   */
  nextafter(other: Tensor): Tensor;
  /**
   * The number of the dtype that comes after x on the way to other. Its gradient is that of x, 0 where both are
   * equal. In place.
   * @since 0.2
   */
  nextafter_(other: Tensor): this;
  /**
   * 0 below 0, 1 above, and the values at 0.
   * @since 0.1
   */
  heaviside(values: Tensor): Tensor;
  /**
   * 0 below 0, 1 above, and the values at 0. In place.
   * @since 0.1
   */
  heaviside_(values: Tensor): this;
  /**
   * Values brought between min and max.
   * @since 0.1
   */
  clamp(min?: Operand | null, max?: Operand | null): Tensor;
  /**
   * Values brought between min and max. In place.
   * @since 0.1
   */
  clamp_(min?: Operand | null, max?: Operand | null): this;
  /**
   * As clamp.
   * @since 0.1
   */
  clip(min?: Operand | null, max?: Operand | null): Tensor;
  /**
   * As clamp. In place.
   * @since 0.1
   */
  clip_(min?: Operand | null, max?: Operand | null): this;
  /**
   * At least min.
   * @since 0.1
   */
  clamp_min(min: Operand): Tensor;
  /**
   * At least min. In place.
   * @since 0.1
   */
  clamp_min_(min: Operand): this;
  /**
   * At most max.
   * @since 0.1
   */
  clamp_max(max: Operand): Tensor;
  /**
   * At most max. In place.
   * @since 0.1
   */
  clamp_max_(max: Operand): this;
  /**
   * This tensor where the condition holds, else the other.
   * @since 0.1
   */
  where(condition: Tensor, other: Operand): Tensor;
  /**
   * The value where the mask is true.
   * @since 0.1
   */
  masked_fill(mask: Tensor, value: Operand): Tensor;
  /**
   * The value where the mask is true. In place.
   * @since 0.1
   */
  masked_fill_(mask: Tensor, value: Operand): this;
  /**
   * Where x == other.
   * @since 0.1
   */
  eq(other: Operand): Tensor;
  /**
   * Where x == other. In place.
   * @since 0.1
   */
  eq_(other: Operand): this;
  /**
   * Where x != other.
   * @since 0.1
   */
  ne(other: Operand): Tensor;
  /**
   * Where x != other. In place.
   * @since 0.1
   */
  ne_(other: Operand): this;
  /**
   * As ne.
   * @since 0.1
   */
  not_equal(other: Operand): Tensor;
  /**
   * As ne. In place.
   * @since 0.1
   */
  not_equal_(other: Operand): this;
  /**
   * Where x < other.
   * @since 0.1
   */
  lt(other: Operand): Tensor;
  /**
   * Where x < other. In place.
   * @since 0.1
   */
  lt_(other: Operand): this;
  /**
   * As lt.
   * @since 0.1
   */
  less(other: Operand): Tensor;
  /**
   * As lt. In place.
   * @since 0.1
   */
  less_(other: Operand): this;
  /**
   * Where x <= other.
   * @since 0.1
   */
  le(other: Operand): Tensor;
  /**
   * Where x <= other. In place.
   * @since 0.1
   */
  le_(other: Operand): this;
  /**
   * As le.
   * @since 0.1
   */
  less_equal(other: Operand): Tensor;
  /**
   * As le. In place.
   * @since 0.1
   */
  less_equal_(other: Operand): this;
  /**
   * Where x > other.
   * @since 0.1
   */
  gt(other: Operand): Tensor;
  /**
   * Where x > other. In place.
   * @since 0.1
   */
  gt_(other: Operand): this;
  /**
   * As gt.
   * @since 0.1
   */
  greater(other: Operand): Tensor;
  /**
   * As gt. In place.
   * @since 0.1
   */
  greater_(other: Operand): this;
  /**
   * Where x >= other.
   * @since 0.1
   */
  ge(other: Operand): Tensor;
  /**
   * Where x >= other. In place.
   * @since 0.1
   */
  ge_(other: Operand): this;
  /**
   * As ge.
   * @since 0.1
   */
  greater_equal(other: Operand): Tensor;
  /**
   * As ge. In place.
   * @since 0.1
   */
  greater_equal_(other: Operand): this;
  /**
   * Where both are not 0.
   * @since 0.1
   */
  logical_and(other: Tensor): Tensor;
  /**
   * Where both are not 0. In place.
   * @since 0.1
   */
  logical_and_(other: Tensor): this;
  /**
   * Where either is not 0.
   * @since 0.1
   */
  logical_or(other: Tensor): Tensor;
  /**
   * Where either is not 0. In place.
   * @since 0.1
   */
  logical_or_(other: Tensor): this;
  /**
   * Where exactly one is not 0.
   * @since 0.1
   */
  logical_xor(other: Tensor): Tensor;
  /**
   * Where exactly one is not 0. In place.
   * @since 0.1
   */
  logical_xor_(other: Tensor): this;
  /**
   * Where elements are 0.
   * @since 0.1
   */
  logical_not(): Tensor;
  /**
   * Where elements are 0. In place.
   * @since 0.1
   */
  logical_not_(): this;
  /**
   * x & other.
   * @since 0.1
   */
  bitwise_and(other: Operand): Tensor;
  /**
   * x & other. In place.
   * @since 0.1
   */
  bitwise_and_(other: Operand): this;
  /**
   * x | other.
   * @since 0.1
   */
  bitwise_or(other: Operand): Tensor;
  /**
   * x | other. In place.
   * @since 0.1
   */
  bitwise_or_(other: Operand): this;
  /**
   * x ^ other.
   * @since 0.1
   */
  bitwise_xor(other: Operand): Tensor;
  /**
   * x ^ other. In place.
   * @since 0.1
   */
  bitwise_xor_(other: Operand): this;
  /**
   * All bits inverted; logical not of bools.
   * @since 0.1
   */
  bitwise_not(): Tensor;
  /**
   * All bits inverted; logical not of bools. In place.
   * @since 0.1
   */
  bitwise_not_(): this;
  /**
   * x << other.
   * @since 0.2
   */
  bitwise_left_shift(other: Operand): Tensor;
  /**
   * x << other. In place.
   * @since 0.2
   */
  bitwise_left_shift_(other: Operand): this;
  /**
   * x >> other.
   * @since 0.2
   */
  bitwise_right_shift(other: Operand): Tensor;
  /**
   * x >> other. In place.
   * @since 0.2
   */
  bitwise_right_shift_(other: Operand): this;
  /**
   * Where |x - other| <= atol + rtol * |other|. Defaults: rtol = 1e-5, atol = 1e-8, equal_nan = False.
   * @since 0.1
   */
  isclose(other: Tensor, rtol?: number, atol?: number, equal_nan?: boolean): Tensor;
  /**
   * Where elements are NaN.
   * @since 0.1
   */
  isnan(): Tensor;
  /**
   * Where elements are infinite.
   * @since 0.1
   */
  isinf(): Tensor;
  /**
   * Where elements are +infinity.
   * @since 0.2
   */
  isposinf(): Tensor;
  /**
   * Where elements are -infinity.
   * @since 0.2
   */
  isneginf(): Tensor;
  /**
   * Where elements are neither infinite nor NaN.
   * @since 0.1
   */
  isfinite(): Tensor;
  /**
   * Where elements are negative, -0 among them.
   * @since 0.1
   */
  signbit(): Tensor;
  /**
   * Whether each element is one of the others, or with invert none of them. Defaults: assume_unique = False,
   * invert = False.
   * @since 0.1
   */
  isin(test_elements: Operand, assume_unique?: boolean, invert?: boolean): Tensor;
  /**
   * Whether all elements are close. Reads both. Defaults: rtol = 1e-5, atol = 1e-8, equal_nan = False.
   * @since 0.1
   */
  allclose(other: Tensor, rtol?: number, atol?: number, equal_nan?: boolean): boolean;
  /**
   * Whether shapes and all elements are equal. Reads both.
   * @since 0.1
   */
  equal(other: Tensor): boolean;
  /**
   * -x, element by element.
   * @since 0.1
   */
  neg(): Tensor;
  /**
   * -x, element by element. In place.
   * @since 0.1
   */
  neg_(): this;
  /**
   * As neg.
   * @since 0.1
   */
  negative(): Tensor;
  /**
   * As neg. In place.
   * @since 0.1
   */
  negative_(): this;
  /**
   * The absolute values.
   * @since 0.1
   */
  abs(): Tensor;
  /**
   * The absolute values. In place.
   * @since 0.1
   */
  abs_(): this;
  /**
   * As abs.
   * @since 0.1
   */
  absolute(): Tensor;
  /**
   * As abs. In place.
   * @since 0.1
   */
  absolute_(): this;
  /**
   * -1, 0 or 1.
   * @since 0.1
   */
  sign(): Tensor;
  /**
   * -1, 0 or 1. In place.
   * @since 0.1
   */
  sign_(): this;
  /**
   * As sign.
   * @since 0.1
   */
  sgn(): Tensor;
  /**
   * As sign. In place.
   * @since 0.1
   */
  sgn_(): this;
  /**
   * Square roots.
   * @since 0.1
   */
  sqrt(): Tensor;
  /**
   * Square roots. In place.
   * @since 0.1
   */
  sqrt_(): this;
  /**
   * 1 / sqrt(x).
   * @since 0.1
   */
  rsqrt(): Tensor;
  /**
   * 1 / sqrt(x). In place.
   * @since 0.1
   */
  rsqrt_(): this;
  /**
   * x * x.
   * @since 0.1
   */
  square(): Tensor;
  /**
   * x * x. In place.
   * @since 0.1
   */
  square_(): this;
  /**
   * 1 / x.
   * @since 0.1
   */
  reciprocal(): Tensor;
  /**
   * 1 / x. In place.
   * @since 0.1
   */
  reciprocal_(): this;
  /**
   * e to the power of each element.
   * @since 0.1
   */
  exp(): Tensor;
  /**
   * e to the power of each element. In place.
   * @since 0.1
   */
  exp_(): this;
  /**
   * 2 to the power of each element.
   * @since 0.1
   */
  exp2(): Tensor;
  /**
   * 2 to the power of each element. In place.
   * @since 0.1
   */
  exp2_(): this;
  /**
   * exp(x) - 1, exact near 0.
   * @since 0.1
   */
  expm1(): Tensor;
  /**
   * exp(x) - 1, exact near 0. In place.
   * @since 0.1
   */
  expm1_(): this;
  /**
   * Natural logarithms.
   * @since 0.1
   */
  log(): Tensor;
  /**
   * Natural logarithms. In place.
   * @since 0.1
   */
  log_(): this;
  /**
   * Logarithms to base 2.
   * @since 0.1
   */
  log2(): Tensor;
  /**
   * Logarithms to base 2. In place.
   * @since 0.1
   */
  log2_(): this;
  /**
   * Logarithms to base 10.
   * @since 0.1
   */
  log10(): Tensor;
  /**
   * Logarithms to base 10. In place.
   * @since 0.1
   */
  log10_(): this;
  /**
   * log(1 + x), exact near 0.
   * @since 0.1
   */
  log1p(): Tensor;
  /**
   * log(1 + x), exact near 0. In place.
   * @since 0.1
   */
  log1p_(): this;
  /**
   * Sines.
   * @since 0.1
   */
  sin(): Tensor;
  /**
   * Sines. In place.
   * @since 0.1
   */
  sin_(): this;
  /**
   * Cosines.
   * @since 0.1
   */
  cos(): Tensor;
  /**
   * Cosines. In place.
   * @since 0.1
   */
  cos_(): this;
  /**
   * Tangents.
   * @since 0.1
   */
  tan(): Tensor;
  /**
   * Tangents. In place.
   * @since 0.1
   */
  tan_(): this;
  /**
   * Inverse sines.
   * @since 0.1
   */
  asin(): Tensor;
  /**
   * Inverse sines. In place.
   * @since 0.1
   */
  asin_(): this;
  /**
   * As asin.
   * @since 0.1
   */
  arcsin(): Tensor;
  /**
   * As asin. In place.
   * @since 0.1
   */
  arcsin_(): this;
  /**
   * Inverse cosines.
   * @since 0.1
   */
  acos(): Tensor;
  /**
   * Inverse cosines. In place.
   * @since 0.1
   */
  acos_(): this;
  /**
   * As acos.
   * @since 0.1
   */
  arccos(): Tensor;
  /**
   * As acos. In place.
   * @since 0.1
   */
  arccos_(): this;
  /**
   * Inverse tangents.
   * @since 0.1
   */
  atan(): Tensor;
  /**
   * Inverse tangents. In place.
   * @since 0.1
   */
  atan_(): this;
  /**
   * As atan.
   * @since 0.1
   */
  arctan(): Tensor;
  /**
   * As atan. In place.
   * @since 0.1
   */
  arctan_(): this;
  /**
   * Hyperbolic sines.
   * @since 0.1
   */
  sinh(): Tensor;
  /**
   * Hyperbolic sines. In place.
   * @since 0.1
   */
  sinh_(): this;
  /**
   * Hyperbolic cosines.
   * @since 0.1
   */
  cosh(): Tensor;
  /**
   * Hyperbolic cosines. In place.
   * @since 0.1
   */
  cosh_(): this;
  /**
   * Hyperbolic tangents.
   * @since 0.1
   */
  tanh(): Tensor;
  /**
   * Hyperbolic tangents. In place.
   * @since 0.1
   */
  tanh_(): this;
  /**
   * Inverse hyperbolic sines.
   * @since 0.1
   */
  asinh(): Tensor;
  /**
   * Inverse hyperbolic sines. In place.
   * @since 0.1
   */
  asinh_(): this;
  /**
   * As asinh.
   * @since 0.1
   */
  arcsinh(): Tensor;
  /**
   * As asinh. In place.
   * @since 0.1
   */
  arcsinh_(): this;
  /**
   * Inverse hyperbolic cosines.
   * @since 0.1
   */
  acosh(): Tensor;
  /**
   * Inverse hyperbolic cosines. In place.
   * @since 0.1
   */
  acosh_(): this;
  /**
   * As acosh.
   * @since 0.1
   */
  arccosh(): Tensor;
  /**
   * As acosh. In place.
   * @since 0.1
   */
  arccosh_(): this;
  /**
   * Inverse hyperbolic tangents.
   * @since 0.1
   */
  atanh(): Tensor;
  /**
   * Inverse hyperbolic tangents. In place.
   * @since 0.1
   */
  atanh_(): this;
  /**
   * As atanh.
   * @since 0.1
   */
  arctanh(): Tensor;
  /**
   * As atanh. In place.
   * @since 0.1
   */
  arctanh_(): this;
  /**
   * The error function.
   * @since 0.1
   */
  erf(): Tensor;
  /**
   * The error function. In place.
   * @since 0.1
   */
  erf_(): this;
  /**
   * 1 - erf(x), to its last digits where that is small.
   * @since 0.1
   */
  erfc(): Tensor;
  /**
   * 1 - erf(x), to its last digits where that is small. In place.
   * @since 0.1
   */
  erfc_(): this;
  /**
   * The number whose erf() is x: infinite at -1 and 1, NaN beyond.
   * @since 0.2
   */
  erfinv(): Tensor;
  /**
   * The number whose erf() is x: infinite at -1 and 1, NaN beyond. In place.
   * @since 0.2
   */
  erfinv_(): this;
  /**
   * The logarithm of |gamma(x)|.
   * @since 0.1
   */
  lgamma(): Tensor;
  /**
   * The logarithm of |gamma(x)|. In place.
   * @since 0.1
   */
  lgamma_(): this;
  /**
   * The derivative of lgamma.
   * @since 0.1
   */
  digamma(): Tensor;
  /**
   * The derivative of lgamma. In place.
   * @since 0.1
   */
  digamma_(): this;
  /**
   * The n-th derivative of digamma.
   * @since 0.2
   */
  polygamma(n: number): Tensor;
  /**
   * The logarithm of the multivariate gamma function of p dims.
   * @since 0.2
   */
  mvlgamma(p: number): Tensor;
  /**
   * The logarithm of the multivariate gamma function of p dims. In place.
   * @since 0.2
   */
  mvlgamma_(p: number): this;
  /**
   * The modified Bessel function of the first kind of order 0.
   * @since 0.2
   */
  i0(): Tensor;
  /**
   * The modified Bessel function of the first kind of order 0. In place.
   * @since 0.2
   */
  i0_(): this;
  /**
   * log(x / (1 - x)), the inverse of the sigmoid; with eps, of x between eps and 1 - eps.
   * @since 0.1
   */
  logit(eps?: number | null): Tensor;
  /**
   * log(x / (1 - x)), the inverse of the sigmoid; with eps, of x between eps and 1 - eps. In place.
   * @since 0.1
   */
  logit_(eps?: number | null): this;
  /**
   * Rounds down.
   * @since 0.1
   */
  floor(): Tensor;
  /**
   * Rounds down. In place.
   * @since 0.1
   */
  floor_(): this;
  /**
   * Rounds up.
   * @since 0.1
   */
  ceil(): Tensor;
  /**
   * Rounds up. In place.
   * @since 0.1
   */
  ceil_(): this;
  /**
   * Rounds to the nearest integer, halves to even.
   * @since 0.1
   */
  round(): Tensor;
  /**
   * Rounds to the nearest integer, halves to even. In place.
   * @since 0.1
   */
  round_(): this;
  /**
   * Rounds to so many decimals, or with a negative number to tens, hundreds, ...
   * @since 0.2
   */
  round(decimals: number): Tensor;
  /**
   * Rounds to so many decimals, or with a negative number to tens, hundreds, ... In place.
   * @since 0.2
   */
  round_(decimals: number): this;
  /**
   * Rounds towards 0.
   * @since 0.1
   */
  trunc(): Tensor;
  /**
   * Rounds towards 0. In place.
   * @since 0.1
   */
  trunc_(): this;
  /**
   * As trunc.
   * @since 0.1
   */
  fix(): Tensor;
  /**
   * As trunc. In place.
   * @since 0.1
   */
  fix_(): this;
  /**
   * x - trunc(x).
   * @since 0.1
   */
  frac(): Tensor;
  /**
   * x - trunc(x). In place.
   * @since 0.1
   */
  frac_(): this;
  /**
   * sin(pi x) / (pi x), and 1 at 0.
   * @since 0.1
   */
  sinc(): Tensor;
  /**
   * sin(pi x) / (pi x), and 1 at 0. In place.
   * @since 0.1
   */
  sinc_(): this;
  /**
   * From degrees to radians.
   * @since 0.1
   */
  deg2rad(): Tensor;
  /**
   * From degrees to radians. In place.
   * @since 0.1
   */
  deg2rad_(): this;
  /**
   * From radians to degrees.
   * @since 0.1
   */
  rad2deg(): Tensor;
  /**
   * From radians to degrees. In place.
   * @since 0.1
   */
  rad2deg_(): this;
  /**
   * Numbers in the place of NaN and infinities. Defaults: nan = 0.0.
   * @since 0.1
   */
  nan_to_num(nan?: number, posinf?: number | null, neginf?: number | null): Tensor;
  /**
   * Numbers in the place of NaN and infinities. In place. Defaults: nan = 0.0.
   * @since 0.1
   */
  nan_to_num_(nan?: number, posinf?: number | null, neginf?: number | null): this;
  /**
   * 1 / (1 + exp(-x)).
   * @since 0.1
   */
  sigmoid(): Tensor;
  /**
   * 1 / (1 + exp(-x)). In place.
   * @since 0.1
   */
  sigmoid_(): this;
  /**
   * max(x, 0).
   * @since 0.1
   */
  relu(): Tensor;
  /**
   * max(x, 0). In place.
   * @since 0.1
   */
  relu_(): this;
  /**
   * x, or negative_slope * x below 0. Defaults: negative_slope = 0.01.
   * @since 0.1
   */
  leaky_relu(negative_slope?: number): Tensor;
  /**
   * x, or alpha * (exp(x) - 1) below 0. Defaults: alpha = 1.0.
   * @since 0.1
   */
  elu(alpha?: number): Tensor;
  /**
   * log(1 + exp(beta * x)) / beta. Defaults: beta = 1.0, threshold = 20.0.
   * @since 0.1
   */
  softplus(beta?: number, threshold?: number): Tensor;
  /**
   * x * sigmoid(x).
   * @since 0.1
   */
  silu(): Tensor;
  /**
   * x * tanh(softplus(x)).
   * @since 0.1
   */
  mish(): Tensor;
  /**
   * x * relu6(x + 3) / 6.
   * @since 0.1
   */
  hardswish(): Tensor;
  /**
   * x times the probability that a normal number is below x; approximate: 'none' or 'tanh'. Defaults: approximate
   * = 'none'.
   * @since 0.1
   */
  gelu(approximate?: string): Tensor;
  /**
   * min(max(x, 0), 6).
   * @since 0.2
   */
  relu6(): Tensor;
  /**
   * x between min_val and max_val, which are cut to integers for a tensor of them. Defaults: min_val = -1.0,
   * max_val = 1.0.
   * @since 0.2
   */
  hardtanh(min_val?: number, max_val?: number): Tensor;
  /**
   * relu6(x + 3) / 6.
   * @since 0.2
   */
  hardsigmoid(): Tensor;
  /**
   * x, or alpha * (exp(x / alpha) - 1) below 0. Defaults: alpha = 1.0.
   * @since 0.2
   */
  celu(alpha?: number): Tensor;
  /**
   * ELU with the two numbers that keep means and variances; Klambauer et al., 2017.
   * @since 0.2
   */
  selu(): Tensor;
  /**
   * The first half along a dim times the sigmoid of the second. Defaults: dim = -1.
   * @since 0.2
   */
  glu(dim?: number): Tensor;
  /**
   * log(sigmoid(x)).
   * @since 0.2
   */
  logsigmoid(): Tensor;
  /**
   * x / (1 + |x|).
   * @since 0.2
   */
  softsign(): Tensor;
  /**
   * x - tanh(x).
   * @since 0.2
   */
  tanhshrink(): Tensor;
  /**
   * x, or 0 between -lambd and lambd. Defaults: lambd = 0.5.
   * @since 0.2
   */
  hardshrink(lambd?: number): Tensor;
  /**
   * x moved by lambd towards 0, and 0 between -lambd and lambd. Defaults: lambd = 0.5.
   * @since 0.2
   */
  softshrink(lambd?: number): Tensor;
  /**
   * x above a threshold, else a value.
   * @since 0.2
   */
  threshold(threshold: number, value: number): Tensor;
  /**
   * x, or weight * x below 0: one weight for all, or one for each channel.
   * @since 0.2
   */
  prelu(weight: Tensor): Tensor;
  /**
   * softmax(-x).
   * @since 0.2
   */
  softmin(dim: number, dtype?: DType | null): Tensor;
  /**
   * exp(x) / sum(exp(x)) along a dim.
   * @since 0.1
   */
  softmax(dim: number, dtype?: DType | null): Tensor;
  /**
   * log(softmax(x)) along a dim.
   * @since 0.1
   */
  log_softmax(dim: number, dtype?: DType | null): Tensor;
  /**
   * Sums over dims, or over all. Defaults: keepdim = False.
   * @since 0.1
   */
  sum(dim?: number | Dims | null, keepdim?: boolean, dtype?: DType | null): Tensor;
  /**
   * Sums in which NaN counts as 0. Defaults: keepdim = False.
   * @since 0.1
   */
  nansum(dim?: number | Dims | null, keepdim?: boolean, dtype?: DType | null): Tensor;
  /**
   * Means over dims, or over all. Defaults: keepdim = False.
   * @since 0.1
   */
  mean(dim?: number | Dims | null, keepdim?: boolean, dtype?: DType | null): Tensor;
  /**
   * Means in which NaN does not count. Defaults: keepdim = False.
   * @since 0.1
   */
  nanmean(dim?: number | Dims | null, keepdim?: boolean, dtype?: DType | null): Tensor;
  /**
   * Products over dims, or over all. Defaults: keepdim = False.
   * @since 0.1
   */
  prod(dim?: number | Dims | null, keepdim?: boolean, dtype?: DType | null): Tensor;
  /**
   * The largest over dims, or over all. Defaults: keepdim = False.
   * @since 0.1
   */
  amax(dim?: number | Dims | null, keepdim?: boolean): Tensor;
  /**
   * The smallest over dims, or over all. Defaults: keepdim = False.
   * @since 0.1
   */
  amin(dim?: number | Dims | null, keepdim?: boolean): Tensor;
  /**
   * The largest element of all.
   * @since 0.1
   */
  max(): Tensor;
  /**
   * The largest elements along a dim and where they are; of equal ones, the first. Defaults: keepdim = False.
   * @since 0.1
   */
  max(dim: number, keepdim?: boolean): [values: Tensor, indices: Tensor];
  /**
   * The smallest element of all.
   * @since 0.1
   */
  min(): Tensor;
  /**
   * The smallest elements along a dim and where they are; of equal ones, the first. Defaults: keepdim = False.
   * @since 0.1
   */
  min(dim: number, keepdim?: boolean): [values: Tensor, indices: Tensor];
  /**
   * Where the largest element stands: of all, laid flat, or along a dim. Defaults: keepdim = False.
   * @since 0.1
   */
  argmax(dim?: number | null, keepdim?: boolean): Tensor;
  /**
   * Where the smallest element stands. Defaults: keepdim = False.
   * @since 0.1
   */
  argmin(dim?: number | null, keepdim?: boolean): Tensor;
  /**
   * Variances; the sum is divided by n - correction. Defaults: correction = 1, keepdim = False.
   * @since 0.1
   */
  var(dim?: number | Dims | null, correction?: number, keepdim?: boolean): Tensor;
  /**
   * Standard deviations. Defaults: correction = 1, keepdim = False.
   * @since 0.1
   */
  std(dim?: number | Dims | null, correction?: number, keepdim?: boolean): Tensor;
  /**
   * Whether any element is not 0. Defaults: keepdim = False.
   * @since 0.1
   */
  any(dim?: number | Dims | null, keepdim?: boolean): Tensor;
  /**
   * Whether all elements are not 0. Defaults: keepdim = False.
   * @since 0.1
   */
  all(dim?: number | Dims | null, keepdim?: boolean): Tensor;
  /**
   * How many elements are not 0.
   * @since 0.1
   */
  count_nonzero(dim?: number | Dims | null): Tensor;
  /**
   * p-norms; p may be infinity. Defaults: p = 2, keepdim = False.
   * @since 0.1
   */
  norm(p?: number, dim?: number | Dims | null, keepdim?: boolean): Tensor;
  /**
   * The p-norm of a difference. Defaults: p = 2.0.
   * @since 0.1
   */
  dist(other: Tensor, p?: number): Tensor;
  /**
   * log(sum(exp(x))) along dims. Defaults: keepdim = False.
   * @since 0.1
   */
  logsumexp(dim: number | Dims | null, keepdim?: boolean): Tensor;
  /**
   * Running sums along a dim.
   * @since 0.1
   */
  cumsum(dim: number, dtype?: DType | null): Tensor;
  /**
   * Running sums along a dim. In place.
   * @since 0.1
   */
  cumsum_(dim: number, dtype?: DType | null): this;
  /**
   * Running products along a dim.
   * @since 0.1
   */
  cumprod(dim: number, dtype?: DType | null): Tensor;
  /**
   * Running products along a dim. In place.
   * @since 0.1
   */
  cumprod_(dim: number, dtype?: DType | null): this;
  /**
   * The largest elements up to every place along a dim, and where the last one of each is; NaN is above all.
   * @since 0.2
   */
  cummax(dim: number): [values: Tensor, indices: Tensor];
  /**
   * The smallest elements up to every place along a dim, and where the last one of each is; NaN is below all.
   * @since 0.2
   */
  cummin(dim: number): [values: Tensor, indices: Tensor];
  /**
   * The logarithms of the sums of exp(x) up to every place along a dim.
   * @since 0.1
   */
  logcumsumexp(dim: number): Tensor;
  /**
   * Differences of neighbours, n times over, with elements put before and after them first. Defaults: n = 1, dim =
   * -1.
   * @since 0.1
   */
  diff(n?: number, dim?: number, prepend?: Tensor | null, append?: Tensor | null): Tensor;
  /**
   * How many elements lie in each of so many bins between min and max, or between the least and the largest
   * element. Defaults: bins = 100, min = 0, max = 0.
   * @since 0.1
   */
  histc(bins?: number, min?: number, max?: number): Tensor;
  /**
   * Covariances of rows, whose columns are observations: counted fweights times, of the importance aweights.
   * Defaults: correction = 1.
   * @since 0.2
   */
  cov(correction?: number, fweights?: Tensor | null, aweights?: Tensor | null): Tensor;
  /**
   * How rows go together, from -1 to 1; their columns are observations.
   * @since 0.2
   */
  corrcoef(): Tensor;
  /**
   * The middle element of all, the lower one of two; NaN where there is one.
   * @since 0.1
   */
  median(): Tensor;
  /**
   * The middle elements along a dim and where they are. Defaults: keepdim = False.
   * @since 0.1
   */
  median(dim: number, keepdim?: boolean): [values: Tensor, indices: Tensor];
  /**
   * The middle element of those that are not NaN.
   * @since 0.1
   */
  nanmedian(): Tensor;
  /**
   * The middle elements along a dim of those that are not NaN, and where they are. Defaults: keepdim = False.
   * @since 0.1
   */
  nanmedian(dim: number, keepdim?: boolean): [values: Tensor, indices: Tensor];
  /**
   * The k-th smallest element along a dim, counted from 1, and where it stands. Defaults: dim = -1, keepdim =
   * False.
   * @since 0.1
   */
  kthvalue(k: number, dim?: number, keepdim?: boolean): [values: Tensor, indices: Tensor];
  /**
   * The element that occurs most often along a dim, the smallest of several, and where the last one stands.
   * Defaults: dim = -1, keepdim = False.
   * @since 0.2
   */
  mode(dim?: number, keepdim?: boolean): [values: Tensor, indices: Tensor];
  /**
   * Below which a share q of the elements lies; a vector of q gives a first dim. interpolation: 'linear', 'lower',
   * 'higher', 'nearest' or 'midpoint'. Defaults: keepdim = False, interpolation = 'linear'.
   * @since 0.1
   */
  quantile(q: Operand, dim?: number | null, keepdim?: boolean, interpolation?: string): Tensor;
  /**
   * As quantile, of the elements that are not NaN. Defaults: keepdim = False, interpolation = 'linear'.
   * @since 0.2
   */
  nanquantile(q: Operand, dim?: number | null, keepdim?: boolean, interpolation?: string): Tensor;
  /**
   * Values and indices in order; always stable. Defaults: dim = -1, descending = False, stable = True.
   * @since 0.1
   */
  sort(dim?: number, descending?: boolean, stable?: boolean): [values: Tensor, indices: Tensor];
  /**
   * The indices that sort; always stable. Defaults: dim = -1, descending = False, stable = True.
   * @since 0.1
   */
  argsort(dim?: number, descending?: boolean, stable?: boolean): Tensor;
  /**
   * The k largest elements along a dim, and where they stand; always sorted. Defaults: dim = -1, largest = True,
   * sorted = True.
   * @since 0.1
   */
  topk(k: number, dim?: number, largest?: boolean, sorted?: boolean): [values: Tensor, indices: Tensor];
  /**
   * The same elements in another shape; one size may be -1.
   * @since 0.1
   */
  reshape(shape: number | Dims): Tensor;
  reshape(...shape: number[]): Tensor;
  /**
   * The same elements in the shape of another tensor.
   * @since 0.2
   */
  reshape_as(other: Tensor): Tensor;
  /**
   * As reshape, but fails where it would have to copy.
   * @since 0.1
   */
  view(shape: number | Dims): Tensor;
  view(...shape: number[]): Tensor;
  /**
   * As view, in the shape of another tensor.
   * @since 0.2
   */
  view_as(other: Tensor): Tensor;
  /**
   * Joins dims. Defaults: start_dim = 0, end_dim = -1.
   * @since 0.1
   */
  flatten(start_dim?: number, end_dim?: number): Tensor;
  /**
   * All elements in one dim.
   * @since 0.2
   */
  ravel(): Tensor;
  /**
   * Splits a dim into several; one size may be -1.
   * @since 0.1
   */
  unflatten(dim: number, sizes: Dims): Tensor;
  /**
   * The dims in another order.
   * @since 0.1
   */
  permute(dims: number | Dims): Tensor;
  permute(...dims: number[]): Tensor;
  /**
   * Two dims exchanged.
   * @since 0.1
   */
  transpose(dim0: number, dim1: number): Tensor;
  /**
   * As transpose.
   * @since 0.1
   */
  swapdims(dim0: number, dim1: number): Tensor;
  /**
   * As transpose.
   * @since 0.2
   */
  swapaxes(axis0: number, axis1: number): Tensor;
  /**
   * A matrix with rows and columns exchanged.
   * @since 0.1
   */
  t(): Tensor;
  /**
   * Moves dims to other places; the rest keep their order.
   * @since 0.1
   */
  movedim(source: number | Dims | null, destination: number | Dims | null): Tensor;
  /**
   * As movedim.
   * @since 0.1
   */
  moveaxis(source: number | Dims | null, destination: number | Dims | null): Tensor;
  /**
   * Dims of size 1 repeated without memory; -1 keeps a size.
   * @since 0.1
   */
  expand(shape: number | Dims): Tensor;
  expand(...shape: number[]): Tensor;
  /**
   * Expanded to the shape of another.
   * @since 0.1
   */
  expand_as(other: Tensor): Tensor;
  /**
   * Expanded to a shape.
   * @since 0.1
   */
  broadcast_to(shape: Dims): Tensor;
  /**
   * Without dims of size 1.
   * @since 0.1
   */
  squeeze(): Tensor;
  /**
   * Without this dim, where its size is 1.
   * @since 0.1
   */
  squeeze(dim: number): Tensor;
  /**
   * Without those of these dims whose size is 1.
   * @since 0.2
   */
  squeeze(dims: Dims): Tensor;
  /**
   * With one more dim of size 1.
   * @since 0.1
   */
  unsqueeze(dim: number): Tensor;
  /**
   * Elements (i, i + offset) of two dims, as a last one. Defaults: offset = 0, dim1 = 0, dim2 = 1.
   * @since 0.1
   */
  diagonal(offset?: number, dim1?: number, dim2?: number): Tensor;
  /**
   * One position along a dim, which disappears.
   * @since 0.1
   */
  select(dim: number, index: number): Tensor;
  /**
   * Positions start:stop:step along a dim, as in Python. Defaults: step = 1.
   * @since 0.1
   */
  slice(dim: number, start?: number | null, stop?: number | null, step?: number): Tensor;
  /**
   * A part along a dim.
   * @since 0.1
   */
  narrow(dim: number, start: number, length: number): Tensor;
  /**
   * Parts of several sizes along a dim. Defaults: dim = 0.
   * @since 0.1
   */
  split(sizes: Dims, dim?: number): Tensor[];
  /**
   * Parts of a size along a dim; the last may be smaller. Defaults: dim = 0.
   * @since 0.1
   */
  split(size: number, dim?: number): Tensor[];
  /**
   * Parts of several sizes along a dim. Defaults: dim = 0.
   * @since 0.2
   */
  split_with_sizes(split_sizes: Dims, dim?: number): Tensor[];
  /**
   * So many parts along a dim. Defaults: dim = 0.
   * @since 0.1
   */
  chunk(chunks: number, dim?: number): Tensor[];
  /**
   * All positions along a dim. Defaults: dim = 0.
   * @since 0.1
   */
  unbind(dim?: number): Tensor[];
  /**
   * Windows of `size` elements along a dim, `step` apart, as a last dim.
   * @since 0.1
   */
  unfold(dimension: number, size: number, step: number): Tensor;
  /**
   * Elements of the memory that x lies in, so many steps apart along each dim, from an offset on, which is that of
   * x unless given: a view, or a copy where an element is shown twice.
   * @since 0.2
   */
  as_strided(size: Dims, stride: Dims, storage_offset?: number | null): Tensor;
  /**
   * Elements along dims in the other order.
   * @since 0.1
   */
  flip(dims: number | Dims | null): Tensor;
  flip(...dims: number[]): Tensor;
  /**
   * Elements along dim 1 in the other order.
   * @since 0.2
   */
  fliplr(): Tensor;
  /**
   * Elements along dim 0 in the other order.
   * @since 0.2
   */
  flipud(): Tensor;
  /**
   * Elements moved along a dim, those beyond the end to the beginning.
   * @since 0.1
   */
  roll(shift: number, dim: number): Tensor;
  /**
   * The same along several dims; without dims, of the tensor laid flat.
   * @since 0.2
   */
  roll(shifts: Dims, dims?: Dims | null): Tensor;
  /**
   * More elements before and after, last dim first; negative sizes cut. Defaults: value = 0.0.
   * @since 0.1
   */
  pad(pad: Dims, value?: Scalar): Tensor;
  /**
   * The tensor side by side, so often along each dim.
   * @since 0.1
   */
  repeat(repeats: number | Dims): Tensor;
  repeat(...repeats: number[]): Tensor;
  /**
   * As repeat; dims that are not named stay as they are.
   * @since 0.2
   */
  tile(dims: number | Dims): Tensor;
  tile(...dims: number[]): Tensor;
  /**
   * Each element, or slice along dim, so many times in a row. Repeats given as a tensor are read at once.
   * @since 0.1
   */
  repeat_interleave(repeats: Operand, dim?: number | null): Tensor;
  /**
   * The lower triangle; the rest is 0. Defaults: diagonal = 0.
   * @since 0.1
   */
  tril(diagonal?: number): Tensor;
  /**
   * The lower triangle; the rest is 0. In place. Defaults: diagonal = 0.
   * @since 0.1
   */
  tril_(diagonal?: number): this;
  /**
   * The upper triangle; the rest is 0. Defaults: diagonal = 0.
   * @since 0.1
   */
  triu(diagonal?: number): Tensor;
  /**
   * The upper triangle; the rest is 0. In place. Defaults: diagonal = 0.
   * @since 0.1
   */
  triu_(diagonal?: number): this;
  /**
   * A matrix's diagonal, or a matrix with this one. Defaults: diagonal = 0.
   * @since 0.1
   */
  diag(diagonal?: number): Tensor;
  /**
   * Matrices with the elements of the last dim on a diagonal; their rows and columns are dim1 and dim2. Defaults:
   * offset = 0, dim1 = -2, dim2 = -1.
   * @since 0.2
   */
  diag_embed(offset?: number, dim1?: number, dim2?: number): Tensor;
  /**
   * The sum of a matrix's diagonal.
   * @since 0.1
   */
  trace(): Tensor;
  /**
   * Slices along a dim made smaller where their p-norm is above a number.
   * @since 0.2
   */
  renorm(p: number, dim: number, maxnorm: number): Tensor;
  /**
   * Slices along a dim made smaller where their p-norm is above a number. In place.
   * @since 0.2
   */
  renorm_(p: number, dim: number, maxnorm: number): this;
  /**
   * out[i][j] = x[i][index[i][j]] for dim 1, and so on.
   * @since 0.1
   */
  gather(dim: number, index: Tensor): Tensor;
  /**
   * x laid flat, picked by an index of any shape; negative ones count from the end.
   * @since 0.1
   */
  take(index: Tensor): Tensor;
  /**
   * gather, with both broadcast along the other dims; without a dim, of both laid flat.
   * @since 0.1
   */
  take_along_dim(indices: Tensor, dim?: number | null): Tensor;
  /**
   * Slices along a dim, picked by a vector.
   * @since 0.1
   */
  index_select(dim: number, index: Tensor): Tensor;
  /**
   * A copy with alpha * source added to the slices named. Defaults: alpha = 1.
   * @since 0.1
   */
  index_add(dim: number, index: Tensor, source: Tensor, alpha?: Scalar): Tensor;
  /**
   * A copy with alpha * source added to the slices named. In place. Defaults: alpha = 1.
   * @since 0.1
   */
  index_add_(dim: number, index: Tensor, source: Tensor, alpha?: Scalar): this;
  /**
   * A copy with slices replaced.
   * @since 0.1
   */
  index_copy(dim: number, index: Tensor, source: Tensor): Tensor;
  /**
   * A copy with slices replaced. In place.
   * @since 0.1
   */
  index_copy_(dim: number, index: Tensor, source: Tensor): this;
  /**
   * A copy with slices filled.
   * @since 0.1
   */
  index_fill(dim: number, index: Tensor, value: Operand): Tensor;
  /**
   * A copy with slices filled. In place.
   * @since 0.1
   */
  index_fill_(dim: number, index: Tensor, value: Operand): this;
  /**
   * A copy with x[index[i][j]][j] = source[i][j] for dim 0, and so on; with reduce 'add' or 'multiply' += or *=.
   * The last of several sources for one element counts, and it alone gets a gradient.
   * @since 0.1
   */
  scatter(dim: number, index: Tensor, source: Operand): Tensor;
  /**
   * A copy with x[index[i][j]][j] = source[i][j] for dim 0, and so on; with reduce 'add' or 'multiply' += or *=.
   * The last of several sources for one element counts, and it alone gets a gradient. In place.
   * @since 0.1
   */
  scatter_(dim: number, index: Tensor, source: Operand): this;
  /**
   * The same with +=.
   * @since 0.1
   */
  scatter_add(dim: number, index: Tensor, source: Tensor): Tensor;
  /**
   * The same with +=. In place.
   * @since 0.1
   */
  scatter_add_(dim: number, index: Tensor, source: Tensor): this;
  /**
   * The same with reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'; without include_self only sources count.
   * Defaults: include_self = True.
   * @since 0.1
   */
  scatter_reduce(dim: number, index: Tensor, source: Tensor, include_self?: boolean): Tensor;
  /**
   * The same with reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'; without include_self only sources count. In
   * place. Defaults: include_self = True.
   * @since 0.1
   */
  scatter_reduce_(dim: number, index: Tensor, source: Tensor, include_self?: boolean): this;
  /**
   * A copy with the slices named joined with those of source, by reduce: 'prod', 'mean', 'amax' or 'amin'; without
   * include_self only sources count. Defaults: include_self = True.
   * @since 0.2
   */
  index_reduce(dim: number, index: Tensor, source: Tensor, include_self?: boolean): Tensor;
  /**
   * A copy with the slices named joined with those of source, by reduce: 'prod', 'mean', 'amax' or 'amin'; without
   * include_self only sources count. In place. Defaults: include_self = True.
   * @since 0.2
   */
  index_reduce_(dim: number, index: Tensor, source: Tensor, include_self?: boolean): this;
  /**
   * A copy with one position along a dim replaced.
   * @since 0.1
   */
  select_scatter(src: Tensor, dim: number, index: number): Tensor;
  /**
   * A copy with a slice along a dim replaced. Defaults: dim = 0, step = 1.
   * @since 0.1
   */
  slice_scatter(src: Tensor, dim?: number, start?: number | null, end?: number | null, step?: number): Tensor;
  /**
   * A copy with a diagonal replaced. Defaults: offset = 0, dim1 = 0, dim2 = 1.
   * @since 0.1
   */
  diagonal_scatter(src: Tensor, offset?: number, dim1?: number, dim2?: number): Tensor;
  /**
   * A copy with the elements of source, in order, where the mask is true.
   * @since 0.1
   */
  masked_scatter(mask: Tensor, source: Tensor): Tensor;
  /**
   * A copy with the elements of source, in order, where the mask is true. In place.
   * @since 0.1
   */
  masked_scatter_(mask: Tensor, source: Tensor): this;
  /**
   * Where values would have to be inserted in the last dim: before equal ones, or after them with right or
   * side='right'. A sorter is the order of what is not sorted. Defaults: out_int32 = False, right = False.
   * @since 0.1
   */
  searchsorted(
    values: Operand,
    out_int32?: boolean,
    right?: boolean,
    side?: string | null,
    sorter?: Tensor | null,
  ): Tensor;
  /**
   * Between which of the sorted boundaries elements lie; right: a boundary belongs to what lies above it.
   * Defaults: out_int32 = False, right = False.
   * @since 0.2
   */
  bucketize(boundaries: Tensor, out_int32?: boolean, right?: boolean): Tensor;
  /**
   * 1 at each index, else 0; num_classes is one more than the largest index unless given. Defaults: num_classes =
   * -1.
   * @since 0.1
   */
  one_hot(num_classes?: number): Tensor;
  /**
   * The elements where the mask is true, as a vector.
   * @since 0.1
   */
  masked_select(mask: Tensor): Tensor;
  /**
   * The positions of all elements that are not 0, one a row.
   * @since 0.1
   */
  nonzero(): Tensor;
  /**
   * How often each of 0, 1, ... occurs in a vector, or the sum of the weights of those elements. Defaults:
   * minlength = 0.
   * @since 0.1
   */
  bincount(weights?: Tensor | null, minlength?: number): Tensor;
  /**
   * a @ b.
   * @since 0.1
   */
  matmul(b: Tensor): Tensor;
  /**
   * The product of two matrices.
   * @since 0.1
   */
  mm(b: Tensor): Tensor;
  /**
   * The products of two batches of matrices.
   * @since 0.1
   */
  bmm(b: Tensor): Tensor;
  /**
   * A matrix times a vector.
   * @since 0.1
   */
  mv(b: Tensor): Tensor;
  /**
   * The product of two vectors.
   * @since 0.1
   */
  dot(b: Tensor): Tensor;
  /**
   * As dot.
   * @since 0.1
   */
  vdot(b: Tensor): Tensor;
  /**
   * Sums of products along the last dims; of numbers, their product.
   * @since 0.2
   */
  inner(other: Tensor): Tensor;
  /**
   * Every element of the first times all of the second.
   * @since 0.2
   */
  kron(other: Tensor): Tensor;
  /**
   * The product of vectors of three elements that stands at right angles to both; along the first dim of 3 unless
   * one is given.
   * @since 0.2
   */
  cross(other: Tensor, dim?: number | null): Tensor;
  /**
   * All products of elements of two vectors.
   * @since 0.1
   */
  outer(b: Tensor): Tensor;
  /**
   * beta * x + alpha * (a @ b). Defaults: beta = 1, alpha = 1.
   * @since 0.1
   */
  addmm(a: Tensor, b: Tensor, beta?: Scalar, alpha?: Scalar): Tensor;
  /**
   * beta * x + alpha * (a @ b). In place. Defaults: beta = 1, alpha = 1.
   * @since 0.1
   */
  addmm_(a: Tensor, b: Tensor, beta?: Scalar, alpha?: Scalar): this;
  /**
   * beta * x + alpha * (a @ b), of a matrix and a vector. Defaults: beta = 1, alpha = 1.
   * @since 0.1
   */
  addmv(a: Tensor, b: Tensor, beta?: Scalar, alpha?: Scalar): Tensor;
  /**
   * beta * x + alpha * (a @ b), of a matrix and a vector. In place. Defaults: beta = 1, alpha = 1.
   * @since 0.1
   */
  addmv_(a: Tensor, b: Tensor, beta?: Scalar, alpha?: Scalar): this;
  /**
   * beta * x + alpha * (a @ b), of batches of matrices; a beta of 0 leaves x out. Defaults: beta = 1, alpha = 1.
   * @since 0.1
   */
  baddbmm(a: Tensor, b: Tensor, beta?: Scalar, alpha?: Scalar): Tensor;
  /**
   * beta * x + alpha * (a @ b), of batches of matrices; a beta of 0 leaves x out. In place. Defaults: beta = 1,
   * alpha = 1.
   * @since 0.1
   */
  baddbmm_(a: Tensor, b: Tensor, beta?: Scalar, alpha?: Scalar): this;
  /**
   * beta * x + alpha * outer(a, b). Defaults: beta = 1, alpha = 1.
   * @since 0.1
   */
  addr(a: Tensor, b: Tensor, beta?: Scalar, alpha?: Scalar): Tensor;
  /**
   * beta * x + alpha * outer(a, b). In place. Defaults: beta = 1, alpha = 1.
   * @since 0.1
   */
  addr_(a: Tensor, b: Tensor, beta?: Scalar, alpha?: Scalar): this;
  /**
   * 1 with the probability given by each element, else 0. One beyond 0..1 is refused, outside of captured
   * functions.
   * @since 0.1
   */
  bernoulli(generator?: Generator | null): Tensor;
  /**
   * Indices drawn with the weights of the last dim, which need no particular sum. Weights that are negative or not
   * finite, or sum to 0, are refused, outside of captured functions. Defaults: replacement = False.
   * @since 0.1
   */
  multinomial(num_samples: number, replacement?: boolean, generator?: Generator | null): Tensor;
  /**
   * Draws new elements, even between low and high. In place. Defaults: low = 0.0, high = 1.0.
   * @since 0.1
   */
  uniform_(low?: number, high?: number, generator?: Generator | null): this;
  /**
   * Draws new elements, normally distributed. In place. Defaults: mean = 0.0, std = 1.0.
   * @since 0.1
   */
  normal_(mean?: number, std?: number, generator?: Generator | null): this;
  /**
   * Draws 1 with probability p, else 0. In place. Defaults: p = 0.5.
   * @since 0.1
   */
  bernoulli_(p?: number, generator?: Generator | null): this;
  /**
   * Draws new elements, exponentially distributed. In place. Defaults: lambd = 1.0.
   * @since 0.2
   */
  exponential_(lambd?: number, generator?: Generator | null): this;
  /**
   * Draws new elements, integers from low, which is 0 unless given, to below high, or to the last that the dtype
   * tells apart. In place.
   * @since 0.2
   */
  random_(low?: number | null, high?: number | null, generator?: Generator | null): this;
  /** Zeros in the dtype and on the device of this tensor. Defaults: requires_grad = False. */
  new_zeros(size: number | Dims, dtype?: DType | null, device?: Device | null, requires_grad?: boolean): Tensor;
  /** Ones in the dtype and on the device of this tensor. Defaults: requires_grad = False. */
  new_ones(size: number | Dims, dtype?: DType | null, device?: Device | null, requires_grad?: boolean): Tensor;
  /** As empty, in the dtype and on the device of this tensor. Defaults: requires_grad = False. */
  new_empty(size: number | Dims, dtype?: DType | null, device?: Device | null, requires_grad?: boolean): Tensor;
  /** One number everywhere, in the dtype and on the device of this tensor. Defaults: requires_grad = False. */
  new_full(
    size: Dims,
    fill_value: Scalar,
    dtype?: DType | null,
    device?: Device | null,
    requires_grad?: boolean,
  ): Tensor;
  /** As tensor(), in the dtype and on the device of this tensor. Defaults: requires_grad = False. */
  new_tensor(data: TensorData, dtype?: DType | null, device?: Device | null, requires_grad?: boolean): Tensor;
}

/**
 * x + alpha * other. Defaults: alpha = 1.
 * @since 0.1
 */
export declare function add(x: Operand, other: Operand, alpha?: Scalar): Tensor;
/**
 * x - alpha * other. Defaults: alpha = 1.
 * @since 0.1
 */
export declare function sub(x: Operand, other: Operand, alpha?: Scalar): Tensor;
/**
 * As sub. Defaults: alpha = 1.
 * @since 0.1
 */
export declare function subtract(x: Operand, other: Operand, alpha?: Scalar): Tensor;
/**
 * other - alpha * x. Defaults: alpha = 1.
 * @since 0.2
 */
export declare function rsub(x: Tensor, other: Operand, alpha?: Scalar): Tensor;
/**
 * x * other.
 * @since 0.1
 */
export declare function mul(x: Operand, other: Operand): Tensor;
/**
 * As mul.
 * @since 0.1
 */
export declare function multiply(x: Operand, other: Operand): Tensor;
/**
 * x / other, always real; with the rounding mode 'floor' or 'trunc' integers stay integers.
 * @since 0.1
 */
export declare function div(x: Operand, other: Operand, rounding_mode?: string | null): Tensor;
/**
 * As div.
 * @since 0.1
 */
export declare function divide(x: Operand, other: Operand, rounding_mode?: string | null): Tensor;
/**
 * x / other.
 * @since 0.2
 */
export declare function true_divide(x: Operand, other: Operand): Tensor;
/**
 * x // other, rounded down.
 * @since 0.1
 */
export declare function floor_divide(x: Operand, other: Operand): Tensor;
/**
 * x % other, with the sign of other.
 * @since 0.1
 */
export declare function remainder(x: Operand, other: Operand): Tensor;
/**
 * The remainder with the sign of x, as in C.
 * @since 0.1
 */
export declare function fmod(x: Tensor, other: Operand): Tensor;
/**
 * The largest integer that divides both.
 * @since 0.2
 */
export declare function gcd(x: Tensor, other: Tensor): Tensor;
/**
 * The smallest integer that both divide.
 * @since 0.2
 */
export declare function lcm(x: Tensor, other: Tensor): Tensor;
/**
 * x ** exponent.
 * @since 0.1
 */
export declare function pow(x: Operand, exponent: Operand): Tensor;
/**
 * x ** exponent in float64.
 * @since 0.1
 */
export declare function float_power(x: Operand, exponent: Operand): Tensor;
/**
 * start + weight * (end - start).
 * @since 0.1
 */
export declare function lerp(start: Tensor, end: Operand, weight: Operand): Tensor;
/**
 * x + value * a * b. Defaults: value = 1.
 * @since 0.1
 */
export declare function addcmul(x: Tensor, a: Tensor, b: Tensor, value?: Scalar): Tensor;
/**
 * x + value * a / b. Defaults: value = 1.
 * @since 0.1
 */
export declare function addcdiv(x: Tensor, a: Tensor, b: Tensor, value?: Scalar): Tensor;
/**
 * The larger of two, element by element.
 * @since 0.1
 */
export declare function maximum(x: Tensor, other: Tensor): Tensor;
/**
 * The smaller of two, element by element.
 * @since 0.1
 */
export declare function minimum(x: Tensor, other: Tensor): Tensor;
/**
 * The angle of (other, x), from -pi to pi.
 * @since 0.1
 */
export declare function atan2(x: Tensor, other: Tensor): Tensor;
/**
 * As atan2.
 * @since 0.1
 */
export declare function arctan2(x: Tensor, other: Tensor): Tensor;
/**
 * sqrt(x * x + other * other).
 * @since 0.1
 */
export declare function hypot(x: Tensor, other: Tensor): Tensor;
/**
 * The larger of two elements, or the one that is a number where the other is NaN.
 * @since 0.2
 */
export declare function fmax(x: Tensor, other: Tensor): Tensor;
/**
 * The smaller of two elements, or the one that is a number where the other is NaN.
 * @since 0.2
 */
export declare function fmin(x: Tensor, other: Tensor): Tensor;
/**
 * x * log(other), and 0 where x is 0, whatever the other is but NaN.
 * @since 0.2
 */
export declare function xlogy(x: Operand, other: Operand): Tensor;
/**
 * x * log(1 + other), and 0 where x is 0, whatever the other is but NaN.
 * @since 0.2
 */
export declare function special_xlog1py(x: Operand, other: Operand): Tensor;
/**
 * log(exp(x) + exp(other)).
 * @since 0.1
 */
export declare function logaddexp(x: Tensor, other: Tensor): Tensor;
/**
 * log2(2 ** x + 2 ** other).
 * @since 0.2
 */
export declare function logaddexp2(x: Tensor, other: Tensor): Tensor;
/**
 * |x| with the sign of other.
 * @since 0.1
 */
export declare function copysign(x: Tensor, other: Operand): Tensor;
/**
 * The number of the dtype that comes after x on the way to other. Its gradient is that of x, 0 where both are
 * equal.
 * @since 0.2
 */
export declare function nextafter(x: Tensor, other: Tensor): Tensor;
/**
 * 0 below 0, 1 above, and the values at 0.
 * @since 0.1
 */
export declare function heaviside(x: Tensor, values: Tensor): Tensor;
/**
 * Values brought between min and max.
 * @since 0.1
 */
export declare function clamp(x: Tensor, min?: Operand | null, max?: Operand | null): Tensor;
/**
 * As clamp.
 * @since 0.1
 */
export declare function clip(x: Tensor, min?: Operand | null, max?: Operand | null): Tensor;
/**
 * At least min.
 * @since 0.1
 */
export declare function clamp_min(x: Tensor, min: Operand): Tensor;
/**
 * At most max.
 * @since 0.1
 */
export declare function clamp_max(x: Tensor, max: Operand): Tensor;
/**
 * a where the condition holds, else b.
 * @since 0.1
 */
export declare function where(condition: Tensor, a: Operand, b: Operand): Tensor;
/**
 * The value where the mask is true.
 * @since 0.1
 */
export declare function masked_fill(x: Tensor, mask: Tensor, value: Operand): Tensor;
/**
 * Where x == other.
 * @since 0.1
 */
export declare function eq(x: Tensor, other: Operand): Tensor;
/**
 * Where x != other.
 * @since 0.1
 */
export declare function ne(x: Tensor, other: Operand): Tensor;
/**
 * As ne.
 * @since 0.1
 */
export declare function not_equal(x: Tensor, other: Operand): Tensor;
/**
 * Where x < other.
 * @since 0.1
 */
export declare function lt(x: Tensor, other: Operand): Tensor;
/**
 * As lt.
 * @since 0.1
 */
export declare function less(x: Tensor, other: Operand): Tensor;
/**
 * Where x <= other.
 * @since 0.1
 */
export declare function le(x: Tensor, other: Operand): Tensor;
/**
 * As le.
 * @since 0.1
 */
export declare function less_equal(x: Tensor, other: Operand): Tensor;
/**
 * Where x > other.
 * @since 0.1
 */
export declare function gt(x: Tensor, other: Operand): Tensor;
/**
 * As gt.
 * @since 0.1
 */
export declare function greater(x: Tensor, other: Operand): Tensor;
/**
 * Where x >= other.
 * @since 0.1
 */
export declare function ge(x: Tensor, other: Operand): Tensor;
/**
 * As ge.
 * @since 0.1
 */
export declare function greater_equal(x: Tensor, other: Operand): Tensor;
/**
 * Where both are not 0.
 * @since 0.1
 */
export declare function logical_and(x: Tensor, other: Tensor): Tensor;
/**
 * Where either is not 0.
 * @since 0.1
 */
export declare function logical_or(x: Tensor, other: Tensor): Tensor;
/**
 * Where exactly one is not 0.
 * @since 0.1
 */
export declare function logical_xor(x: Tensor, other: Tensor): Tensor;
/**
 * Where elements are 0.
 * @since 0.1
 */
export declare function logical_not(x: Tensor): Tensor;
/**
 * x & other.
 * @since 0.1
 */
export declare function bitwise_and(x: Operand, other: Operand): Tensor;
/**
 * x | other.
 * @since 0.1
 */
export declare function bitwise_or(x: Operand, other: Operand): Tensor;
/**
 * x ^ other.
 * @since 0.1
 */
export declare function bitwise_xor(x: Operand, other: Operand): Tensor;
/**
 * All bits inverted; logical not of bools.
 * @since 0.1
 */
export declare function bitwise_not(x: Tensor): Tensor;
/**
 * x << other.
 * @since 0.2
 */
export declare function bitwise_left_shift(x: Tensor, other: Operand): Tensor;
/**
 * x >> other.
 * @since 0.2
 */
export declare function bitwise_right_shift(x: Tensor, other: Operand): Tensor;
/**
 * Where |x - other| <= atol + rtol * |other|. Defaults: rtol = 1e-5, atol = 1e-8, equal_nan = False.
 * @since 0.1
 */
export declare function isclose(x: Tensor, other: Tensor, rtol?: number, atol?: number, equal_nan?: boolean): Tensor;
/**
 * Where elements are NaN.
 * @since 0.1
 */
export declare function isnan(x: Tensor): Tensor;
/**
 * Where elements are infinite.
 * @since 0.1
 */
export declare function isinf(x: Tensor): Tensor;
/**
 * Where elements are +infinity.
 * @since 0.2
 */
export declare function isposinf(x: Tensor): Tensor;
/**
 * Where elements are -infinity.
 * @since 0.2
 */
export declare function isneginf(x: Tensor): Tensor;
/**
 * Where elements are neither infinite nor NaN.
 * @since 0.1
 */
export declare function isfinite(x: Tensor): Tensor;
/**
 * Where elements are negative, -0 among them.
 * @since 0.1
 */
export declare function signbit(x: Tensor): Tensor;
/**
 * Whether each element is one of the others, or with invert none of them. Defaults: assume_unique = False, invert
 * = False.
 * @since 0.1
 */
export declare function isin(
  elements: Tensor,
  test_elements: Operand,
  assume_unique?: boolean,
  invert?: boolean,
): Tensor;
/**
 * Whether all elements are close. Reads both. Defaults: rtol = 1e-5, atol = 1e-8, equal_nan = False.
 * @since 0.1
 */
export declare function allclose(x: Tensor, other: Tensor, rtol?: number, atol?: number, equal_nan?: boolean): boolean;
/**
 * Whether shapes and all elements are equal. Reads both.
 * @since 0.1
 */
export declare function equal(x: Tensor, other: Tensor): boolean;
/**
 * -x, element by element.
 * @since 0.1
 */
export declare function neg(x: Tensor): Tensor;
/**
 * As neg.
 * @since 0.1
 */
export declare function negative(x: Tensor): Tensor;
/**
 * The absolute values.
 * @since 0.1
 */
export declare function abs(x: Tensor): Tensor;
/**
 * As abs.
 * @since 0.1
 */
export declare function absolute(x: Tensor): Tensor;
/**
 * -1, 0 or 1.
 * @since 0.1
 */
export declare function sign(x: Tensor): Tensor;
/**
 * As sign.
 * @since 0.1
 */
export declare function sgn(x: Tensor): Tensor;
/**
 * Square roots.
 * @since 0.1
 */
export declare function sqrt(x: Tensor): Tensor;
/**
 * 1 / sqrt(x).
 * @since 0.1
 */
export declare function rsqrt(x: Tensor): Tensor;
/**
 * x * x.
 * @since 0.1
 */
export declare function square(x: Tensor): Tensor;
/**
 * 1 / x.
 * @since 0.1
 */
export declare function reciprocal(x: Tensor): Tensor;
/**
 * e to the power of each element.
 * @since 0.1
 */
export declare function exp(x: Tensor): Tensor;
/**
 * 2 to the power of each element.
 * @since 0.1
 */
export declare function exp2(x: Tensor): Tensor;
/**
 * exp(x) - 1, exact near 0.
 * @since 0.1
 */
export declare function expm1(x: Tensor): Tensor;
/**
 * Natural logarithms.
 * @since 0.1
 */
export declare function log(x: Tensor): Tensor;
/**
 * Logarithms to base 2.
 * @since 0.1
 */
export declare function log2(x: Tensor): Tensor;
/**
 * Logarithms to base 10.
 * @since 0.1
 */
export declare function log10(x: Tensor): Tensor;
/**
 * log(1 + x), exact near 0.
 * @since 0.1
 */
export declare function log1p(x: Tensor): Tensor;
/**
 * Sines.
 * @since 0.1
 */
export declare function sin(x: Tensor): Tensor;
/**
 * Cosines.
 * @since 0.1
 */
export declare function cos(x: Tensor): Tensor;
/**
 * Tangents.
 * @since 0.1
 */
export declare function tan(x: Tensor): Tensor;
/**
 * Inverse sines.
 * @since 0.1
 */
export declare function asin(x: Tensor): Tensor;
/**
 * As asin.
 * @since 0.1
 */
export declare function arcsin(x: Tensor): Tensor;
/**
 * Inverse cosines.
 * @since 0.1
 */
export declare function acos(x: Tensor): Tensor;
/**
 * As acos.
 * @since 0.1
 */
export declare function arccos(x: Tensor): Tensor;
/**
 * Inverse tangents.
 * @since 0.1
 */
export declare function atan(x: Tensor): Tensor;
/**
 * As atan.
 * @since 0.1
 */
export declare function arctan(x: Tensor): Tensor;
/**
 * Hyperbolic sines.
 * @since 0.1
 */
export declare function sinh(x: Tensor): Tensor;
/**
 * Hyperbolic cosines.
 * @since 0.1
 */
export declare function cosh(x: Tensor): Tensor;
/**
 * Hyperbolic tangents.
 * @since 0.1
 */
export declare function tanh(x: Tensor): Tensor;
/**
 * Inverse hyperbolic sines.
 * @since 0.1
 */
export declare function asinh(x: Tensor): Tensor;
/**
 * As asinh.
 * @since 0.1
 */
export declare function arcsinh(x: Tensor): Tensor;
/**
 * Inverse hyperbolic cosines.
 * @since 0.1
 */
export declare function acosh(x: Tensor): Tensor;
/**
 * As acosh.
 * @since 0.1
 */
export declare function arccosh(x: Tensor): Tensor;
/**
 * Inverse hyperbolic tangents.
 * @since 0.1
 */
export declare function atanh(x: Tensor): Tensor;
/**
 * As atanh.
 * @since 0.1
 */
export declare function arctanh(x: Tensor): Tensor;
/**
 * The error function.
 * @since 0.1
 */
export declare function erf(x: Tensor): Tensor;
/**
 * 1 - erf(x), to its last digits where that is small.
 * @since 0.1
 */
export declare function erfc(x: Tensor): Tensor;
/**
 * The number whose erf() is x: infinite at -1 and 1, NaN beyond.
 * @since 0.2
 */
export declare function erfinv(x: Tensor): Tensor;
/**
 * The logarithm of |gamma(x)|.
 * @since 0.1
 */
export declare function lgamma(x: Tensor): Tensor;
/**
 * The derivative of lgamma.
 * @since 0.1
 */
export declare function digamma(x: Tensor): Tensor;
/**
 * The n-th derivative of digamma.
 * @since 0.2
 */
export declare function polygamma(n: number, x: Tensor): Tensor;
/**
 * The logarithm of the multivariate gamma function of p dims.
 * @since 0.2
 */
export declare function mvlgamma(x: Tensor, p: number): Tensor;
/**
 * The modified Bessel function of the first kind of order 0.
 * @since 0.2
 */
export declare function i0(x: Tensor): Tensor;
/**
 * exp(-|x|) * i0(x).
 * @since 0.2
 */
export declare function special_i0e(x: Tensor): Tensor;
/**
 * The modified Bessel function of the first kind of order 1.
 * @since 0.2
 */
export declare function special_i1(x: Tensor): Tensor;
/**
 * exp(-|x|) times that of order 1.
 * @since 0.2
 */
export declare function special_i1e(x: Tensor): Tensor;
/**
 * exp(x * x) * erfc(x).
 * @since 0.2
 */
export declare function special_erfcx(x: Tensor): Tensor;
/**
 * The probability that a normal number is below x.
 * @since 0.2
 */
export declare function special_ndtr(x: Tensor): Tensor;
/**
 * The logarithm of the probability that a normal number is below x.
 * @since 0.2
 */
export declare function special_log_ndtr(x: Tensor): Tensor;
/**
 * The number that a normal one is below with probability x.
 * @since 0.2
 */
export declare function special_ndtri(x: Tensor): Tensor;
/**
 * -x * log(x), 0 at 0 and -inf below.
 * @since 0.2
 */
export declare function special_entr(x: Tensor): Tensor;
/**
 * log(x / (1 - x)), the inverse of the sigmoid; with eps, of x between eps and 1 - eps.
 * @since 0.1
 */
export declare function logit(x: Tensor, eps?: number | null): Tensor;
/**
 * Rounds down.
 * @since 0.1
 */
export declare function floor(x: Tensor): Tensor;
/**
 * Rounds up.
 * @since 0.1
 */
export declare function ceil(x: Tensor): Tensor;
/**
 * Rounds to the nearest integer, halves to even.
 * @since 0.1
 */
export declare function round(x: Tensor): Tensor;
/**
 * Rounds to so many decimals, or with a negative number to tens, hundreds, ...
 * @since 0.2
 */
export declare function round(x: Tensor, decimals: number): Tensor;
/**
 * Rounds towards 0.
 * @since 0.1
 */
export declare function trunc(x: Tensor): Tensor;
/**
 * As trunc.
 * @since 0.1
 */
export declare function fix(x: Tensor): Tensor;
/**
 * x - trunc(x).
 * @since 0.1
 */
export declare function frac(x: Tensor): Tensor;
/**
 * sin(pi x) / (pi x), and 1 at 0.
 * @since 0.1
 */
export declare function sinc(x: Tensor): Tensor;
/**
 * From degrees to radians.
 * @since 0.1
 */
export declare function deg2rad(x: Tensor): Tensor;
/**
 * From radians to degrees.
 * @since 0.1
 */
export declare function rad2deg(x: Tensor): Tensor;
/**
 * Numbers in the place of NaN and infinities. Defaults: nan = 0.0.
 * @since 0.1
 */
export declare function nan_to_num(x: Tensor, nan?: number, posinf?: number | null, neginf?: number | null): Tensor;
/**
 * 1 / (1 + exp(-x)).
 * @since 0.1
 */
export declare function sigmoid(x: Tensor): Tensor;
/**
 * max(x, 0).
 * @since 0.1
 */
export declare function relu(x: Tensor): Tensor;
/**
 * x, or negative_slope * x below 0. Defaults: negative_slope = 0.01.
 * @since 0.1
 */
export declare function leaky_relu(x: Tensor, negative_slope?: number): Tensor;
/**
 * x, or alpha * (exp(x) - 1) below 0. Defaults: alpha = 1.0.
 * @since 0.1
 */
export declare function elu(x: Tensor, alpha?: number): Tensor;
/**
 * log(1 + exp(beta * x)) / beta. Defaults: beta = 1.0, threshold = 20.0.
 * @since 0.1
 */
export declare function softplus(x: Tensor, beta?: number, threshold?: number): Tensor;
/**
 * x * sigmoid(x).
 * @since 0.1
 */
export declare function silu(x: Tensor): Tensor;
/**
 * x * tanh(softplus(x)).
 * @since 0.1
 */
export declare function mish(x: Tensor): Tensor;
/**
 * x * relu6(x + 3) / 6.
 * @since 0.1
 */
export declare function hardswish(x: Tensor): Tensor;
/**
 * x times the probability that a normal number is below x; approximate: 'none' or 'tanh'. Defaults: approximate =
 * 'none'.
 * @since 0.1
 */
export declare function gelu(x: Tensor, approximate?: string): Tensor;
/**
 * min(max(x, 0), 6).
 * @since 0.2
 */
export declare function relu6(x: Tensor): Tensor;
/**
 * x between min_val and max_val, which are cut to integers for a tensor of them. Defaults: min_val = -1.0, max_val
 * = 1.0.
 * @since 0.2
 */
export declare function hardtanh(x: Tensor, min_val?: number, max_val?: number): Tensor;
/**
 * relu6(x + 3) / 6.
 * @since 0.2
 */
export declare function hardsigmoid(x: Tensor): Tensor;
/**
 * x, or alpha * (exp(x / alpha) - 1) below 0. Defaults: alpha = 1.0.
 * @since 0.2
 */
export declare function celu(x: Tensor, alpha?: number): Tensor;
/**
 * ELU with the two numbers that keep means and variances; Klambauer et al., 2017.
 * @since 0.2
 */
export declare function selu(x: Tensor): Tensor;
/**
 * The first half along a dim times the sigmoid of the second. Defaults: dim = -1.
 * @since 0.2
 */
export declare function glu(x: Tensor, dim?: number): Tensor;
/**
 * log(sigmoid(x)).
 * @since 0.2
 */
export declare function logsigmoid(x: Tensor): Tensor;
/**
 * x / (1 + |x|).
 * @since 0.2
 */
export declare function softsign(x: Tensor): Tensor;
/**
 * x - tanh(x).
 * @since 0.2
 */
export declare function tanhshrink(x: Tensor): Tensor;
/**
 * x, or 0 between -lambd and lambd. Defaults: lambd = 0.5.
 * @since 0.2
 */
export declare function hardshrink(x: Tensor, lambd?: number): Tensor;
/**
 * x moved by lambd towards 0, and 0 between -lambd and lambd. Defaults: lambd = 0.5.
 * @since 0.2
 */
export declare function softshrink(x: Tensor, lambd?: number): Tensor;
/**
 * x above a threshold, else a value.
 * @since 0.2
 */
export declare function threshold(x: Tensor, threshold: number, value: number): Tensor;
/**
 * x, or weight * x below 0: one weight for all, or one for each channel.
 * @since 0.2
 */
export declare function prelu(x: Tensor, weight: Tensor): Tensor;
/**
 * x, or x times a slope below 0: one drawn for each element in training, else the mean of both limits. Defaults:
 * lower = 0.125, upper = 0.3333333333333333, training = False.
 * @since 0.2
 */
export declare function rrelu(
  x: Tensor,
  lower?: number,
  upper?: number,
  training?: boolean,
  generator?: Generator | null,
): Tensor;
/**
 * softmax(-x).
 * @since 0.2
 */
export declare function softmin(x: Tensor, dim: number, dtype?: DType | null): Tensor;
/**
 * exp(x) / sum(exp(x)) along a dim.
 * @since 0.1
 */
export declare function softmax(x: Tensor, dim: number, dtype?: DType | null): Tensor;
/**
 * log(softmax(x)) along a dim.
 * @since 0.1
 */
export declare function log_softmax(x: Tensor, dim: number, dtype?: DType | null): Tensor;
/**
 * Sums over dims, or over all. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function sum(x: Tensor, dim?: number | Dims | null, keepdim?: boolean, dtype?: DType | null): Tensor;
/**
 * Sums in which NaN counts as 0. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function nansum(x: Tensor, dim?: number | Dims | null, keepdim?: boolean, dtype?: DType | null): Tensor;
/**
 * Means over dims, or over all. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function mean(x: Tensor, dim?: number | Dims | null, keepdim?: boolean, dtype?: DType | null): Tensor;
/**
 * Means in which NaN does not count. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function nanmean(x: Tensor, dim?: number | Dims | null, keepdim?: boolean, dtype?: DType | null): Tensor;
/**
 * Products over dims, or over all. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function prod(x: Tensor, dim?: number | Dims | null, keepdim?: boolean, dtype?: DType | null): Tensor;
/**
 * The largest over dims, or over all. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function amax(x: Tensor, dim?: number | Dims | null, keepdim?: boolean): Tensor;
/**
 * The smallest over dims, or over all. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function amin(x: Tensor, dim?: number | Dims | null, keepdim?: boolean): Tensor;
/**
 * The largest element of all.
 * @since 0.1
 */
export declare function max(x: Tensor): Tensor;
/**
 * The largest elements along a dim and where they are; of equal ones, the first. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function max(x: Tensor, dim: number, keepdim?: boolean): [values: Tensor, indices: Tensor];
/**
 * The smallest element of all.
 * @since 0.1
 */
export declare function min(x: Tensor): Tensor;
/**
 * The smallest elements along a dim and where they are; of equal ones, the first. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function min(x: Tensor, dim: number, keepdim?: boolean): [values: Tensor, indices: Tensor];
/**
 * Where the largest element stands: of all, laid flat, or along a dim. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function argmax(x: Tensor, dim?: number | null, keepdim?: boolean): Tensor;
/**
 * Where the smallest element stands. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function argmin(x: Tensor, dim?: number | null, keepdim?: boolean): Tensor;
/**
 * Variances; the sum is divided by n - correction. Defaults: correction = 1, keepdim = False.
 * @since 0.1
 */
declare function var_(x: Tensor, dim?: number | Dims | null, correction?: number, keepdim?: boolean): Tensor;
/**
 * Standard deviations. Defaults: correction = 1, keepdim = False.
 * @since 0.1
 */
export declare function std(x: Tensor, dim?: number | Dims | null, correction?: number, keepdim?: boolean): Tensor;
/**
 * Whether any element is not 0. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function any(x: Tensor, dim?: number | Dims | null, keepdim?: boolean): Tensor;
/**
 * Whether all elements are not 0. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function all(x: Tensor, dim?: number | Dims | null, keepdim?: boolean): Tensor;
/**
 * How many elements are not 0.
 * @since 0.1
 */
export declare function count_nonzero(x: Tensor, dim?: number | Dims | null): Tensor;
/**
 * p-norms; p may be infinity. Defaults: p = 2, keepdim = False.
 * @since 0.1
 */
export declare function norm(x: Tensor, p?: number, dim?: number | Dims | null, keepdim?: boolean): Tensor;
/**
 * The p-norm of a difference. Defaults: p = 2.0.
 * @since 0.1
 */
export declare function dist(x: Tensor, other: Tensor, p?: number): Tensor;
/**
 * log(sum(exp(x))) along dims. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function logsumexp(x: Tensor, dim: number | Dims | null, keepdim?: boolean): Tensor;
/**
 * Running sums along a dim.
 * @since 0.1
 */
export declare function cumsum(x: Tensor, dim: number, dtype?: DType | null): Tensor;
/**
 * Running products along a dim.
 * @since 0.1
 */
export declare function cumprod(x: Tensor, dim: number, dtype?: DType | null): Tensor;
/**
 * The largest elements up to every place along a dim, and where the last one of each is; NaN is above all.
 * @since 0.2
 */
export declare function cummax(x: Tensor, dim: number): [values: Tensor, indices: Tensor];
/**
 * The smallest elements up to every place along a dim, and where the last one of each is; NaN is below all.
 * @since 0.2
 */
export declare function cummin(x: Tensor, dim: number): [values: Tensor, indices: Tensor];
/**
 * The logarithms of the sums of exp(x) up to every place along a dim.
 * @since 0.1
 */
export declare function logcumsumexp(x: Tensor, dim: number): Tensor;
/**
 * Differences of neighbours, n times over, with elements put before and after them first. Defaults: n = 1, dim =
 * -1.
 * @since 0.1
 */
export declare function diff(
  x: Tensor,
  n?: number,
  dim?: number,
  prepend?: Tensor | null,
  append?: Tensor | null,
): Tensor;
/**
 * Slopes along dims, by the differences of both neighbours: of points a distance apart, for each dim one of no
 * dims, or at places, a vector; edge_order 1 or 2: how exact the first and the last one are. Defaults: edge_order
 * = 1.
 * @since 0.2
 */
export declare function gradient(
  x: Tensor,
  spacing: readonly Tensor[],
  dim?: number | Dims | null,
  edge_order?: number,
): Tensor[];
/**
 * How many elements lie in each of so many bins between min and max, or between the least and the largest element.
 * Defaults: bins = 100, min = 0, max = 0.
 * @since 0.1
 */
export declare function histc(x: Tensor, bins?: number, min?: number, max?: number): Tensor;
/**
 * The area below lines between points at heights y: at places x, or at distances dx, which is 1 unless given.
 * Defaults: dim = -1.
 * @since 0.2
 */
export declare function trapezoid(y: Tensor, x?: Tensor | null, dx?: number | null, dim?: number): Tensor;
/**
 * As trapezoid. Defaults: dim = -1.
 * @since 0.1
 */
export declare function trapz(y: Tensor, x?: Tensor | null, dx?: number | null, dim?: number): Tensor;
/**
 * Covariances of rows, whose columns are observations: counted fweights times, of the importance aweights.
 * Defaults: correction = 1.
 * @since 0.2
 */
export declare function cov(x: Tensor, correction?: number, fweights?: Tensor | null, aweights?: Tensor | null): Tensor;
/**
 * How rows go together, from -1 to 1; their columns are observations.
 * @since 0.2
 */
export declare function corrcoef(x: Tensor): Tensor;
/**
 * The middle element of all, the lower one of two; NaN where there is one.
 * @since 0.1
 */
export declare function median(x: Tensor): Tensor;
/**
 * The middle elements along a dim and where they are. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function median(x: Tensor, dim: number, keepdim?: boolean): [values: Tensor, indices: Tensor];
/**
 * The middle element of those that are not NaN.
 * @since 0.1
 */
export declare function nanmedian(x: Tensor): Tensor;
/**
 * The middle elements along a dim of those that are not NaN, and where they are. Defaults: keepdim = False.
 * @since 0.1
 */
export declare function nanmedian(x: Tensor, dim: number, keepdim?: boolean): [values: Tensor, indices: Tensor];
/**
 * The k-th smallest element along a dim, counted from 1, and where it stands. Defaults: dim = -1, keepdim = False.
 * @since 0.1
 */
export declare function kthvalue(
  x: Tensor,
  k: number,
  dim?: number,
  keepdim?: boolean,
): [values: Tensor, indices: Tensor];
/**
 * The element that occurs most often along a dim, the smallest of several, and where the last one stands.
 * Defaults: dim = -1, keepdim = False.
 * @since 0.2
 */
export declare function mode(x: Tensor, dim?: number, keepdim?: boolean): [values: Tensor, indices: Tensor];
/**
 * Below which a share q of the elements lies; a vector of q gives a first dim. interpolation: 'linear', 'lower',
 * 'higher', 'nearest' or 'midpoint'. Defaults: keepdim = False, interpolation = 'linear'.
 * @since 0.1
 */
export declare function quantile(
  x: Tensor,
  q: Operand,
  dim?: number | null,
  keepdim?: boolean,
  interpolation?: string,
): Tensor;
/**
 * As quantile, of the elements that are not NaN. Defaults: keepdim = False, interpolation = 'linear'.
 * @since 0.2
 */
export declare function nanquantile(
  x: Tensor,
  q: Operand,
  dim?: number | null,
  keepdim?: boolean,
  interpolation?: string,
): Tensor;
/**
 * Values and indices in order; always stable. Defaults: dim = -1, descending = False, stable = True.
 * @since 0.1
 */
export declare function sort(
  x: Tensor,
  dim?: number,
  descending?: boolean,
  stable?: boolean,
): [values: Tensor, indices: Tensor];
/**
 * The indices that sort; always stable. Defaults: dim = -1, descending = False, stable = True.
 * @since 0.1
 */
export declare function argsort(x: Tensor, dim?: number, descending?: boolean, stable?: boolean): Tensor;
/**
 * The k largest elements along a dim, and where they stand; always sorted. Defaults: dim = -1, largest = True,
 * sorted = True.
 * @since 0.1
 */
export declare function topk(
  x: Tensor,
  k: number,
  dim?: number,
  largest?: boolean,
  sorted?: boolean,
): [values: Tensor, indices: Tensor];
/**
 * The same elements in another shape; one size may be -1.
 * @since 0.1
 */
export declare function reshape(x: Tensor, shape: number | Dims): Tensor;
export declare function reshape(x: Tensor, ...shape: number[]): Tensor;
/**
 * Joins dims. Defaults: start_dim = 0, end_dim = -1.
 * @since 0.1
 */
export declare function flatten(x: Tensor, start_dim?: number, end_dim?: number): Tensor;
/**
 * All elements in one dim.
 * @since 0.2
 */
export declare function ravel(x: Tensor): Tensor;
/**
 * Splits a dim into several; one size may be -1.
 * @since 0.1
 */
export declare function unflatten(x: Tensor, dim: number, sizes: Dims): Tensor;
/**
 * The dims in another order.
 * @since 0.1
 */
export declare function permute(x: Tensor, dims: number | Dims): Tensor;
export declare function permute(x: Tensor, ...dims: number[]): Tensor;
/**
 * Two dims exchanged.
 * @since 0.1
 */
export declare function transpose(x: Tensor, dim0: number, dim1: number): Tensor;
/**
 * As transpose.
 * @since 0.1
 */
export declare function swapdims(x: Tensor, dim0: number, dim1: number): Tensor;
/**
 * As transpose.
 * @since 0.2
 */
export declare function swapaxes(x: Tensor, axis0: number, axis1: number): Tensor;
/**
 * A matrix with rows and columns exchanged.
 * @since 0.1
 */
export declare function t(x: Tensor): Tensor;
/**
 * Moves dims to other places; the rest keep their order.
 * @since 0.1
 */
export declare function movedim(x: Tensor, source: number | Dims | null, destination: number | Dims | null): Tensor;
/**
 * As movedim.
 * @since 0.1
 */
export declare function moveaxis(x: Tensor, source: number | Dims | null, destination: number | Dims | null): Tensor;
/**
 * Dims of size 1 repeated without memory; -1 keeps a size.
 * @since 0.1
 */
export declare function expand(x: Tensor, shape: number | Dims): Tensor;
export declare function expand(x: Tensor, ...shape: number[]): Tensor;
/**
 * Expanded to a shape.
 * @since 0.1
 */
export declare function broadcast_to(x: Tensor, shape: Dims): Tensor;
/**
 * Without dims of size 1.
 * @since 0.1
 */
export declare function squeeze(x: Tensor): Tensor;
/**
 * Without this dim, where its size is 1.
 * @since 0.1
 */
export declare function squeeze(x: Tensor, dim: number): Tensor;
/**
 * Without those of these dims whose size is 1.
 * @since 0.2
 */
export declare function squeeze(x: Tensor, dims: Dims): Tensor;
/**
 * With one more dim of size 1.
 * @since 0.1
 */
export declare function unsqueeze(x: Tensor, dim: number): Tensor;
/**
 * Elements (i, i + offset) of two dims, as a last one. Defaults: offset = 0, dim1 = 0, dim2 = 1.
 * @since 0.1
 */
export declare function diagonal(x: Tensor, offset?: number, dim1?: number, dim2?: number): Tensor;
/**
 * One position along a dim, which disappears.
 * @since 0.1
 */
export declare function select(x: Tensor, dim: number, index: number): Tensor;
/**
 * A part along a dim.
 * @since 0.1
 */
export declare function narrow(x: Tensor, dim: number, start: number, length: number): Tensor;
/**
 * Parts of several sizes along a dim. Defaults: dim = 0.
 * @since 0.1
 */
export declare function split(x: Tensor, sizes: Dims, dim?: number): Tensor[];
/**
 * Parts of a size along a dim; the last may be smaller. Defaults: dim = 0.
 * @since 0.1
 */
export declare function split(x: Tensor, size: number, dim?: number): Tensor[];
/**
 * Parts of several sizes along a dim. Defaults: dim = 0.
 * @since 0.2
 */
export declare function split_with_sizes(x: Tensor, split_sizes: Dims, dim?: number): Tensor[];
/**
 * So many parts along a dim. Defaults: dim = 0.
 * @since 0.1
 */
export declare function chunk(x: Tensor, chunks: number, dim?: number): Tensor[];
/**
 * All positions along a dim. Defaults: dim = 0.
 * @since 0.1
 */
export declare function unbind(x: Tensor, dim?: number): Tensor[];
/**
 * Windows of `size` elements along a dim, `step` apart, as a last dim.
 * @since 0.1
 */
export declare function unfold(x: Tensor, dimension: number, size: number, step: number): Tensor;
/**
 * Elements of the memory that x lies in, so many steps apart along each dim, from an offset on, which is that of x
 * unless given: a view, or a copy where an element is shown twice.
 * @since 0.2
 */
export declare function as_strided(x: Tensor, size: Dims, stride: Dims, storage_offset?: number | null): Tensor;
/**
 * Elements along dims in the other order.
 * @since 0.1
 */
export declare function flip(x: Tensor, dims: number | Dims | null): Tensor;
export declare function flip(x: Tensor, ...dims: number[]): Tensor;
/**
 * Elements along dim 1 in the other order.
 * @since 0.2
 */
export declare function fliplr(x: Tensor): Tensor;
/**
 * Elements along dim 0 in the other order.
 * @since 0.2
 */
export declare function flipud(x: Tensor): Tensor;
/**
 * Elements moved along a dim, those beyond the end to the beginning.
 * @since 0.1
 */
export declare function roll(x: Tensor, shift: number, dim: number): Tensor;
/**
 * The same along several dims; without dims, of the tensor laid flat.
 * @since 0.2
 */
export declare function roll(x: Tensor, shifts: Dims, dims?: Dims | null): Tensor;
/**
 * More elements before and after, last dim first; negative sizes cut. Defaults: value = 0.0.
 * @since 0.1
 */
export declare function pad(x: Tensor, pad: Dims, value?: Scalar): Tensor;
/**
 * Tensors one after the other along a dim. Defaults: dim = 0.
 * @since 0.1
 */
export declare function cat(tensors: readonly Tensor[], dim?: number): Tensor;
/**
 * As cat. Defaults: dim = 0.
 * @since 0.1
 */
export declare function concat(tensors: readonly Tensor[], dim?: number): Tensor;
/**
 * As cat. Defaults: dim = 0.
 * @since 0.1
 */
export declare function concatenate(tensors: readonly Tensor[], dim?: number): Tensor;
/**
 * Tensors along a new dim. Defaults: dim = 0.
 * @since 0.1
 */
export declare function stack(tensors: readonly Tensor[], dim?: number): Tensor;
/**
 * Side by side: along dim 1, vectors along dim 0.
 * @since 0.1
 */
export declare function hstack(tensors: readonly Tensor[]): Tensor;
/**
 * As rows.
 * @since 0.1
 */
export declare function vstack(tensors: readonly Tensor[]): Tensor;
/**
 * As vstack.
 * @since 0.1
 */
export declare function row_stack(tensors: readonly Tensor[]): Tensor;
/**
 * Side by side; vectors are columns.
 * @since 0.1
 */
export declare function column_stack(tensors: readonly Tensor[]): Tensor;
/**
 * Along dim 2.
 * @since 0.1
 */
export declare function dstack(tensors: readonly Tensor[]): Tensor;
/**
 * Vectors as coordinates of a grid. indexing: 'ij', or 'xy', where the first varies along dim 1. Defaults:
 * indexing = 'ij'.
 * @since 0.1
 */
export declare function meshgrid(tensors: readonly Tensor[], indexing?: string): Tensor[];
/**
 * The tensor side by side, so often along each dim.
 * @since 0.1
 */
export declare function repeat(x: Tensor, repeats: number | Dims): Tensor;
export declare function repeat(x: Tensor, ...repeats: number[]): Tensor;
/**
 * As repeat; dims that are not named stay as they are.
 * @since 0.2
 */
export declare function tile(x: Tensor, dims: number | Dims): Tensor;
export declare function tile(x: Tensor, ...dims: number[]): Tensor;
/**
 * Each element, or slice along dim, so many times in a row. Repeats given as a tensor are read at once.
 * @since 0.1
 */
export declare function repeat_interleave(x: Tensor, repeats: Operand, dim?: number | null): Tensor;
/**
 * The lower triangle; the rest is 0. Defaults: diagonal = 0.
 * @since 0.1
 */
export declare function tril(x: Tensor, diagonal?: number): Tensor;
/**
 * The upper triangle; the rest is 0. Defaults: diagonal = 0.
 * @since 0.1
 */
export declare function triu(x: Tensor, diagonal?: number): Tensor;
/**
 * A matrix's diagonal, or a matrix with this one. Defaults: diagonal = 0.
 * @since 0.1
 */
export declare function diag(x: Tensor, diagonal?: number): Tensor;
/**
 * Matrices with the elements of the last dim on a diagonal; their rows and columns are dim1 and dim2. Defaults:
 * offset = 0, dim1 = -2, dim2 = -1.
 * @since 0.2
 */
export declare function diag_embed(x: Tensor, offset?: number, dim1?: number, dim2?: number): Tensor;
/**
 * The powers of a vector's elements as rows, from N - 1 down to 0, or increasing; N is their number unless given.
 * Defaults: increasing = False.
 * @since 0.2
 */
export declare function vander(x: Tensor, N?: number | null, increasing?: boolean): Tensor;
/**
 * The sum of a matrix's diagonal.
 * @since 0.1
 */
export declare function trace(x: Tensor): Tensor;
/**
 * Slices along a dim made smaller where their p-norm is above a number.
 * @since 0.2
 */
export declare function renorm(x: Tensor, p: number, dim: number, maxnorm: number): Tensor;
/**
 * The channels of dim 1, which are in groups, in an order in which each group has some of all.
 * @since 0.2
 */
export declare function channel_shuffle(x: Tensor, groups: number): Tensor;
/**
 * out[i][j] = x[i][index[i][j]] for dim 1, and so on.
 * @since 0.1
 */
export declare function gather(x: Tensor, dim: number, index: Tensor): Tensor;
/**
 * x laid flat, picked by an index of any shape; negative ones count from the end.
 * @since 0.1
 */
export declare function take(x: Tensor, index: Tensor): Tensor;
/**
 * gather, with both broadcast along the other dims; without a dim, of both laid flat.
 * @since 0.1
 */
export declare function take_along_dim(x: Tensor, indices: Tensor, dim?: number | null): Tensor;
/**
 * Slices along a dim, picked by a vector.
 * @since 0.1
 */
export declare function index_select(x: Tensor, dim: number, index: Tensor): Tensor;
/**
 * A copy with alpha * source added to the slices named. Defaults: alpha = 1.
 * @since 0.1
 */
export declare function index_add(x: Tensor, dim: number, index: Tensor, source: Tensor, alpha?: Scalar): Tensor;
/**
 * A copy with slices replaced.
 * @since 0.1
 */
export declare function index_copy(x: Tensor, dim: number, index: Tensor, source: Tensor): Tensor;
/**
 * A copy with slices filled.
 * @since 0.1
 */
export declare function index_fill(x: Tensor, dim: number, index: Tensor, value: Operand): Tensor;
/**
 * A copy with x[index[i][j]][j] = source[i][j] for dim 0, and so on; with reduce 'add' or 'multiply' += or *=. The
 * last of several sources for one element counts, and it alone gets a gradient.
 * @since 0.1
 */
export declare function scatter(x: Tensor, dim: number, index: Tensor, source: Operand): Tensor;
/**
 * The same with +=.
 * @since 0.1
 */
export declare function scatter_add(x: Tensor, dim: number, index: Tensor, source: Tensor): Tensor;
/**
 * The same with reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'; without include_self only sources count.
 * Defaults: include_self = True.
 * @since 0.1
 */
export declare function scatter_reduce(
  x: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  include_self?: boolean,
): Tensor;
/**
 * A copy with the slices named joined with those of source, by reduce: 'prod', 'mean', 'amax' or 'amin'; without
 * include_self only sources count. Defaults: include_self = True.
 * @since 0.2
 */
export declare function index_reduce(
  x: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  include_self?: boolean,
): Tensor;
/**
 * A copy with one position along a dim replaced.
 * @since 0.1
 */
export declare function select_scatter(x: Tensor, src: Tensor, dim: number, index: number): Tensor;
/**
 * A copy with a slice along a dim replaced. Defaults: dim = 0, step = 1.
 * @since 0.1
 */
export declare function slice_scatter(
  x: Tensor,
  src: Tensor,
  dim?: number,
  start?: number | null,
  end?: number | null,
  step?: number,
): Tensor;
/**
 * A copy with a diagonal replaced. Defaults: offset = 0, dim1 = 0, dim2 = 1.
 * @since 0.1
 */
export declare function diagonal_scatter(x: Tensor, src: Tensor, offset?: number, dim1?: number, dim2?: number): Tensor;
/**
 * A copy with the elements of source, in order, where the mask is true.
 * @since 0.1
 */
export declare function masked_scatter(x: Tensor, mask: Tensor, source: Tensor): Tensor;
/**
 * Positions in a tensor laid flat as one tensor of positions for each dim.
 * @since 0.1
 */
export declare function unravel_index(indices: Tensor, shape: Dims): Tensor[];
/**
 * Where values would have to be inserted in the last dim: before equal ones, or after them with right or
 * side='right'. A sorter is the order of what is not sorted. Defaults: out_int32 = False, right = False.
 * @since 0.1
 */
export declare function searchsorted(
  sorted_sequence: Tensor,
  values: Operand,
  out_int32?: boolean,
  right?: boolean,
  side?: string | null,
  sorter?: Tensor | null,
): Tensor;
/**
 * Between which of the sorted boundaries elements lie; right: a boundary belongs to what lies above it. Defaults:
 * out_int32 = False, right = False.
 * @since 0.2
 */
export declare function bucketize(x: Operand, boundaries: Tensor, out_int32?: boolean, right?: boolean): Tensor;
/**
 * 1 at each index, else 0; num_classes is one more than the largest index unless given. Defaults: num_classes =
 * -1.
 * @since 0.1
 */
export declare function one_hot(index: Tensor, num_classes?: number): Tensor;
/**
 * The elements where the mask is true, as a vector.
 * @since 0.1
 */
export declare function masked_select(x: Tensor, mask: Tensor): Tensor;
/**
 * The positions of all elements that are not 0, one a row.
 * @since 0.1
 */
export declare function nonzero(x: Tensor): Tensor;
/**
 * The different elements, sorted.
 * @since 0.1
 */
export declare function unique(x: Tensor): Unique;
/**
 * The different slices along a dim, sorted by their first elements, then by the next.
 * @since 0.1
 */
export declare function unique(x: Tensor, dim: number): Unique;
/**
 * How often each of 0, 1, ... occurs in a vector, or the sum of the weights of those elements. Defaults: minlength
 * = 0.
 * @since 0.1
 */
export declare function bincount(x: Tensor, weights?: Tensor | null, minlength?: number): Tensor;
/**
 * a @ b.
 * @since 0.1
 */
export declare function matmul(a: Tensor, b: Tensor): Tensor;
/**
 * The product of two matrices.
 * @since 0.1
 */
export declare function mm(a: Tensor, b: Tensor): Tensor;
/**
 * The products of two batches of matrices.
 * @since 0.1
 */
export declare function bmm(a: Tensor, b: Tensor): Tensor;
/**
 * A matrix times a vector.
 * @since 0.1
 */
export declare function mv(a: Tensor, b: Tensor): Tensor;
/**
 * The product of two vectors.
 * @since 0.1
 */
export declare function dot(a: Tensor, b: Tensor): Tensor;
/**
 * As dot.
 * @since 0.1
 */
export declare function vdot(a: Tensor, b: Tensor): Tensor;
/**
 * Sums of products along the last dims; of numbers, their product.
 * @since 0.2
 */
export declare function inner(x: Tensor, other: Tensor): Tensor;
/**
 * Every element of the first times all of the second.
 * @since 0.2
 */
export declare function kron(x: Tensor, other: Tensor): Tensor;
/**
 * The product of vectors of three elements that stands at right angles to both; along the first dim of 3 unless
 * one is given.
 * @since 0.2
 */
export declare function cross(x: Tensor, other: Tensor, dim?: number | null): Tensor;
/**
 * All products of elements of two vectors.
 * @since 0.1
 */
export declare function outer(a: Tensor, b: Tensor): Tensor;
/**
 * beta * x + alpha * (a @ b). Defaults: beta = 1, alpha = 1.
 * @since 0.1
 */
export declare function addmm(x: Tensor, a: Tensor, b: Tensor, beta?: Scalar, alpha?: Scalar): Tensor;
/**
 * beta * x + alpha * (a @ b), of a matrix and a vector. Defaults: beta = 1, alpha = 1.
 * @since 0.1
 */
export declare function addmv(x: Tensor, a: Tensor, b: Tensor, beta?: Scalar, alpha?: Scalar): Tensor;
/**
 * beta * x + alpha * (a @ b), of batches of matrices; a beta of 0 leaves x out. Defaults: beta = 1, alpha = 1.
 * @since 0.1
 */
export declare function baddbmm(x: Tensor, a: Tensor, b: Tensor, beta?: Scalar, alpha?: Scalar): Tensor;
/**
 * beta * x + alpha * outer(a, b). Defaults: beta = 1, alpha = 1.
 * @since 0.1
 */
export declare function addr(x: Tensor, a: Tensor, b: Tensor, beta?: Scalar, alpha?: Scalar): Tensor;
/**
 * Sums products over the last dims of a and the first of b. Defaults: dims = 2.
 * @since 0.1
 */
export declare function tensordot(a: Tensor, b: Tensor, dims?: number): Tensor;
/**
 * Sums products over the dims given for each.
 * @since 0.1
 */
export declare function tensordot(a: Tensor, b: Tensor, dims_a: Dims, dims_b: Dims): Tensor;
/**
 * The p-norm distances between the rows of a (..., P, M) and those of b (..., R, M), as (..., P, R). Defaults: p =
 * 2.0.
 * @since 0.1
 */
export declare function cdist(a: Tensor, b: Tensor, p?: number): Tensor;
/**
 * The p-norm distances between all pairs of rows of a matrix. Defaults: p = 2.0.
 * @since 0.2
 */
export declare function pdist(x: Tensor, p?: number): Tensor;
/**
 * Sums of products, by letters: einsum('ij,jk->ik', a, b).
 * @since 0.1
 */
export declare function einsum(equation: string, operands: readonly Tensor[]): Tensor;
export declare function einsum(equation: string, ...operands: Tensor[]): Tensor;
/**
 * 1 with the probability given by each element, else 0. One beyond 0..1 is refused, outside of captured functions.
 * @since 0.1
 */
export declare function bernoulli(probabilities: Tensor, generator?: Generator | null): Tensor;
/**
 * Indices drawn with the weights of the last dim, which need no particular sum. Weights that are negative or not
 * finite, or sum to 0, are refused, outside of captured functions. Defaults: replacement = False.
 * @since 0.1
 */
export declare function multinomial(
  weights: Tensor,
  num_samples: number,
  replacement?: boolean,
  generator?: Generator | null,
): Tensor;
/**
 * Normally distributed numbers of given means and deviations, one of them a tensor at least. Defaults: std = 1.0.
 * @since 0.2
 */
export declare function normal(mean: Operand, std?: Operand, generator?: Generator | null): Tensor;
/** Zeros of a shape. Defaults: requires_grad = False. */
export declare function zeros(
  size: number | Dims,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
): Tensor;
/** Ones of a shape. Defaults: requires_grad = False. */
export declare function ones(
  size: number | Dims,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
): Tensor;
/** For code that fills it anyway; holds zeros. Defaults: requires_grad = False. */
export declare function empty(
  size: number | Dims,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
): Tensor;
/** One number everywhere. Defaults: requires_grad = False. */
export declare function full(
  size: Dims,
  fill_value: Scalar,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
): Tensor;
/** 1 on the diagonal, else 0. Defaults: requires_grad = False. */
export declare function eye(
  n: number,
  m?: number | null,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
): Tensor;
/** So many numbers at even distances, both ends among them. Defaults: requires_grad = False. */
export declare function linspace(
  start: Operand,
  end: Operand,
  steps: number,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
): Tensor;
/** Powers of a base whose exponents are at even distances. Defaults: base = 10.0, requires_grad = False. */
export declare function logspace(
  start: Operand,
  end: Operand,
  steps: number,
  base?: number,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
): Tensor;
/** Random numbers, even in [0, 1). Defaults: requires_grad = False. */
export declare function rand(
  size: number | Dims,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
  generator?: Generator | null,
): Tensor;
/** Random numbers of mean 0 and variance 1. Defaults: requires_grad = False. */
export declare function randn(
  size: number | Dims,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
  generator?: Generator | null,
): Tensor;
/** 0 to n - 1 in random order. */
export declare function randperm(
  n: number,
  dtype?: DType | null,
  device?: Device | null,
  generator?: Generator | null,
): Tensor;
/** Zeros in the shape of another tensor. Defaults: requires_grad = False. */
export declare function zeros_like(
  x: Tensor,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
): Tensor;
/** Ones in the shape of another tensor. Defaults: requires_grad = False. */
export declare function ones_like(
  x: Tensor,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
): Tensor;
/** As empty, in the shape of another tensor. Defaults: requires_grad = False. */
export declare function empty_like(
  x: Tensor,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
): Tensor;
/** One number everywhere, in the shape of another tensor. Defaults: requires_grad = False. */
export declare function full_like(
  x: Tensor,
  fill_value: Scalar,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
): Tensor;
/** rand in the shape of x. Defaults: requires_grad = False. */
export declare function rand_like(
  x: Tensor,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
  generator?: Generator | null,
): Tensor;
/** randn in the shape of x. Defaults: requires_grad = False. */
export declare function randn_like(
  x: Tensor,
  dtype?: DType | null,
  device?: Device | null,
  requires_grad?: boolean,
  generator?: Generator | null,
): Tensor;
export { var_ as var };

export declare namespace nn.functional {
  /** x @ weight.T + bias. */
  function linear(input: Tensor, weight: Tensor, bias?: Tensor | null): Tensor;
  /** input1 @ weight[i] @ input2 for each i, plus bias. */
  function bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias?: Tensor | null): Tensor;
  /**
   * Rows of a matrix; that of padding_idx gets no gradient. Gradients are dense, also with sparse=True. Defaults:
   * norm_type = 2.0, scale_grad_by_freq = False, sparse = False.
   */
  function embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx?: number | null,
    max_norm?: number | null,
    norm_type?: number,
    scale_grad_by_freq?: boolean,
    sparse?: boolean,
  ): Tensor;
  /**
   * Sums, means or maxima of rows of a matrix: of a row of input each, or of what lies between two offsets.
   * Defaults: norm_type = 2.0, scale_grad_by_freq = False, mode = 'mean', sparse = False, include_last_offset =
   * False.
   */
  function embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets?: Tensor | null,
    max_norm?: number | null,
    norm_type?: number,
    scale_grad_by_freq?: boolean,
    mode?: string,
    sparse?: boolean,
    per_sample_weights?: Tensor | null,
    include_last_offset?: boolean,
    padding_idx?: number | null,
  ): Tensor;
  /**
   * softmax(scale * query @ key.T + mask) @ value. Defaults: dropout_p = 0.0, is_causal = False, enable_gqa =
   * False.
   */
  function scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask?: Tensor | null,
    dropout_p?: number,
    is_causal?: boolean,
    scale?: number | null,
    enable_gqa?: boolean,
  ): Tensor;
  /** The cosine of the angle between two along a dim. Defaults: dim = 1, eps = 1e-8. */
  function cosine_similarity(x1: Tensor, x2: Tensor, dim?: number, eps?: number): Tensor;
  /** The p-norm of a difference along the last dim. Defaults: p = 2.0, eps = 1e-6, keepdim = False. */
  function pairwise_distance(x1: Tensor, x2: Tensor, p?: number, eps?: number, keepdim?: boolean): Tensor;
  /** max(x, 0). Defaults: inplace = False. */
  function relu(input: Tensor, inplace?: boolean): Tensor;
  /** x, or negative_slope * x below 0. Defaults: negative_slope = 0.01, inplace = False. */
  function leaky_relu(input: Tensor, negative_slope?: number, inplace?: boolean): Tensor;
  /** x, or alpha * (exp(x) - 1) below 0. Defaults: alpha = 1.0, inplace = False. */
  function elu(input: Tensor, alpha?: number, inplace?: boolean): Tensor;
  /** x, or alpha * (exp(x / alpha) - 1) below 0. Defaults: alpha = 1.0, inplace = False. */
  function celu(input: Tensor, alpha?: number, inplace?: boolean): Tensor;
  /** ELU with the two numbers that keep means and variances; Klambauer et al., 2017. Defaults: inplace = False. */
  function selu(input: Tensor, inplace?: boolean): Tensor;
  /** x * sigmoid(x). Defaults: inplace = False. */
  function silu(input: Tensor, inplace?: boolean): Tensor;
  /** x * tanh(softplus(x)). Defaults: inplace = False. */
  function mish(input: Tensor, inplace?: boolean): Tensor;
  /** x * relu6(x + 3) / 6. Defaults: inplace = False. */
  function hardswish(input: Tensor, inplace?: boolean): Tensor;
  /** relu6(x + 3) / 6. Defaults: inplace = False. */
  function hardsigmoid(input: Tensor, inplace?: boolean): Tensor;
  /**
   * x between min_val and max_val, which are cut to integers for a tensor of them. Defaults: min_val = -1.0,
   * max_val = 1.0, inplace = False.
   */
  function hardtanh(input: Tensor, min_val?: number, max_val?: number, inplace?: boolean): Tensor;
  /** min(max(x, 0), 6). Defaults: inplace = False. */
  function relu6(input: Tensor, inplace?: boolean): Tensor;
  /** x above a threshold, else a value. Defaults: inplace = False. */
  function threshold(input: Tensor, threshold: number, value: number, inplace?: boolean): Tensor;
  /**
   * x, or x times a slope below 0: one drawn for each element in training, else the mean of both limits. Defaults:
   * lower = 0.125, upper = 0.3333333333333333, training = False, inplace = False.
   */
  function rrelu(input: Tensor, lower?: number, upper?: number, training?: boolean, inplace?: boolean): Tensor;
  /** Zeroes elements with probability p and scales the rest. Defaults: p = 0.5, training = True, inplace = False. */
  function dropout(input: Tensor, p?: number, training?: boolean, inplace?: boolean): Tensor;
  /**
   * Zeroes whole channels of (batch, channels, length) or (channels, length) with probability p and scales the
   * others. Defaults: p = 0.5, training = True, inplace = False.
   */
  function dropout1d(input: Tensor, p?: number, training?: boolean, inplace?: boolean): Tensor;
  /**
   * Zeroes whole channels with probability p and scales the others. Defaults: p = 0.5, training = True, inplace =
   * False.
   */
  function dropout2d(input: Tensor, p?: number, training?: boolean, inplace?: boolean): Tensor;
  /**
   * Sets elements to the lowest value of SELU with probability p, and keeps mean and variance; Klambauer et al.,
   * 2017. Defaults: p = 0.5, training = False, inplace = False.
   */
  function alpha_dropout(input: Tensor, p?: number, training?: boolean, inplace?: boolean): Tensor;
  /** exp(x) / sum(exp(x)) along a dim. Without a dim, PyTorch's guess with its warning. */
  function softmax(input: Tensor, dim?: number | null, dtype?: DType | null): Tensor;
  /** log(softmax(x)) along a dim. Without a dim, PyTorch's guess with its warning. */
  function log_softmax(input: Tensor, dim?: number | null, dtype?: DType | null): Tensor;
  /** softmax(-x) along a dim. Without a dim, PyTorch's guess with its warning. */
  function softmin(input: Tensor, dim?: number | null, dtype?: DType | null): Tensor;
  /**
   * Draws from the classes of logits so that gradients go through; hard: 0 and 1 in the forward direction.
   * Defaults: tau = 1.0, hard = False, eps = 1e-10, dim = -1.
   */
  function gumbel_softmax(logits: Tensor, tau?: number, hard?: boolean, eps?: number, dim?: number): Tensor;
  /** Mean 0 and variance 1 over the trailing dims. Defaults: eps = 1e-5. */
  function layer_norm(
    input: Tensor,
    normalized_shape: Dims,
    weight?: Tensor | null,
    bias?: Tensor | null,
    eps?: number,
  ): Tensor;
  /** Mean square 1 over the trailing dims; an eps of None is that of float32, or of float64 for its tensors. */
  function rms_norm(input: Tensor, normalized_shape: Dims, weight?: Tensor | null, eps?: number | null): Tensor;
  /** Mean 0 and variance 1 over groups of channels. Defaults: eps = 1e-5. */
  function group_norm(
    input: Tensor,
    num_groups: number,
    weight?: Tensor | null,
    bias?: Tensor | null,
    eps?: number,
  ): Tensor;
  /** Mean 0 and variance 1 over all but the channels. Defaults: training = False, momentum = 0.1, eps = 1e-5. */
  function batch_norm(
    input: Tensor,
    running_mean: Tensor | null,
    running_var: Tensor | null,
    weight?: Tensor | null,
    bias?: Tensor | null,
    training?: boolean,
    momentum?: number,
    eps?: number,
  ): Tensor;
  /**
   * Mean 0 and variance 1 over every channel of every sample. Defaults: use_input_stats = True, momentum = 0.1,
   * eps = 1e-5.
   */
  function instance_norm(
    input: Tensor,
    running_mean?: Tensor | null,
    running_var?: Tensor | null,
    weight?: Tensor | null,
    bias?: Tensor | null,
    use_input_stats?: boolean,
    momentum?: number,
    eps?: number,
  ): Tensor;
  /**
   * x / (k + alpha * mean of the squares of so many neighbouring channels) ** beta. Defaults: alpha = 1e-4, beta =
   * 0.75, k = 1.0.
   */
  function local_response_norm(input: Tensor, size: number, alpha?: number, beta?: number, k?: number): Tensor;
  /** x divided by its p-norm along a dim. Defaults: p = 2.0, dim = 1, eps = 1e-12. */
  function normalize(input: Tensor, p?: number, dim?: number, eps?: number): Tensor;
  /** Convolution over one axis. Defaults: stride = 1, padding = 0, dilation = 1, groups = 1. */
  function conv1d(
    input: Tensor,
    weight: Tensor,
    bias?: Tensor | null,
    stride?: Size<1>,
    padding?: Padding<1>,
    dilation?: Size<1>,
    groups?: number,
  ): Tensor;
  /** Convolution over height and width. Defaults: stride = 1, padding = 0, dilation = 1, groups = 1. */
  function conv2d(
    input: Tensor,
    weight: Tensor,
    bias?: Tensor | null,
    stride?: Size<2>,
    padding?: Padding<2>,
    dilation?: Size<2>,
    groups?: number,
  ): Tensor;
  /** Convolution over depth, height and width. Defaults: stride = 1, padding = 0, dilation = 1, groups = 1. */
  function conv3d(
    input: Tensor,
    weight: Tensor,
    bias?: Tensor | null,
    stride?: Size<3>,
    padding?: Padding<3>,
    dilation?: Size<3>,
    groups?: number,
  ): Tensor;
  /**
   * The gradient of conv1d with respect to its input. Defaults: stride = 1, padding = 0, output_padding = 0,
   * groups = 1, dilation = 1.
   */
  function conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias?: Tensor | null,
    stride?: Size<1>,
    padding?: Size<1>,
    output_padding?: Size<1>,
    groups?: number,
    dilation?: Size<1>,
  ): Tensor;
  /**
   * The gradient of conv2d with respect to its input. Defaults: stride = 1, padding = 0, output_padding = 0,
   * groups = 1, dilation = 1.
   */
  function conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias?: Tensor | null,
    stride?: Size<2>,
    padding?: Size<2>,
    output_padding?: Size<2>,
    groups?: number,
    dilation?: Size<2>,
  ): Tensor;
  /**
   * The gradient of conv3d with respect to its input. Defaults: stride = 1, padding = 0, output_padding = 0,
   * groups = 1, dilation = 1.
   */
  function conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias?: Tensor | null,
    stride?: Size<3>,
    padding?: Size<3>,
    output_padding?: Size<3>,
    groups?: number,
    dilation?: Size<3>,
  ): Tensor;
  /**
   * All windows of an image as columns: (batch, channels * height * width of a window, windows). Defaults:
   * dilation = 1, padding = 0, stride = 1.
   */
  function unfold(
    input: Tensor,
    kernel_size: Dims,
    dilation?: number | Dims,
    padding?: number | Dims,
    stride?: number | Dims,
  ): Tensor;
  /**
   * Sums columns of windows, as unfold() makes them, into an image. Defaults: dilation = 1, padding = 0, stride =
   * 1.
   */
  function fold(
    input: Tensor,
    output_size: Dims,
    kernel_size: Dims,
    dilation?: number | Dims,
    padding?: number | Dims,
    stride?: number | Dims,
  ): Tensor;
  /**
   * The largest element of every window; with return_indices, and where it lies. Defaults: padding = 0, dilation =
   * 1, ceil_mode = False, return_indices = False.
   */
  function max_pool1d(
    input: Tensor,
    kernel_size: Size<1>,
    stride?: Size<1> | null,
    padding?: Size<1>,
    dilation?: Size<1>,
    ceil_mode?: boolean,
    return_indices?: false,
  ): Tensor;
  function max_pool1d(
    input: Tensor,
    kernel_size: Size<1>,
    stride: Size<1> | null | undefined,
    padding: Size<1> | undefined,
    dilation: Size<1> | undefined,
    ceil_mode: boolean | undefined,
    return_indices: true,
  ): [values: Tensor, indices: Tensor];
  /**
   * The largest element of every window; with return_indices, and where it lies. Defaults: padding = 0, dilation =
   * 1, ceil_mode = False, return_indices = False.
   */
  function max_pool2d(
    input: Tensor,
    kernel_size: Size<2>,
    stride?: Size<2> | null,
    padding?: Size<2>,
    dilation?: Size<2>,
    ceil_mode?: boolean,
    return_indices?: false,
  ): Tensor;
  function max_pool2d(
    input: Tensor,
    kernel_size: Size<2>,
    stride: Size<2> | null | undefined,
    padding: Size<2> | undefined,
    dilation: Size<2> | undefined,
    ceil_mode: boolean | undefined,
    return_indices: true,
  ): [values: Tensor, indices: Tensor];
  /**
   * The largest element of every window; with return_indices, and where it lies. Defaults: padding = 0, dilation =
   * 1, ceil_mode = False, return_indices = False.
   */
  function max_pool3d(
    input: Tensor,
    kernel_size: Size<3>,
    stride?: Size<3> | null,
    padding?: Size<3>,
    dilation?: Size<3>,
    ceil_mode?: boolean,
    return_indices?: false,
  ): Tensor;
  function max_pool3d(
    input: Tensor,
    kernel_size: Size<3>,
    stride: Size<3> | null | undefined,
    padding: Size<3> | undefined,
    dilation: Size<3> | undefined,
    ceil_mode: boolean | undefined,
    return_indices: true,
  ): [values: Tensor, indices: Tensor];
  /** The mean of every window. Defaults: padding = 0, ceil_mode = False, count_include_pad = True. */
  function avg_pool1d(
    input: Tensor,
    kernel_size: Size<1>,
    stride?: Size<1> | null,
    padding?: Size<1>,
    ceil_mode?: boolean,
    count_include_pad?: boolean,
  ): Tensor;
  /** The mean of every window. Defaults: padding = 0, ceil_mode = False, count_include_pad = True. */
  function avg_pool2d(
    input: Tensor,
    kernel_size: Size<2>,
    stride?: Size<2> | null,
    padding?: Size<2>,
    ceil_mode?: boolean,
    count_include_pad?: boolean,
    divisor_override?: number | null,
  ): Tensor;
  /** The mean of every window. Defaults: padding = 0, ceil_mode = False, count_include_pad = True. */
  function avg_pool3d(
    input: Tensor,
    kernel_size: Size<3>,
    stride?: Size<3> | null,
    padding?: Size<3>,
    ceil_mode?: boolean,
    count_include_pad?: boolean,
    divisor_override?: number | null,
  ): Tensor;
  /** The largest elements of so many parts. Defaults: return_indices = False. */
  function adaptive_max_pool1d(input: Tensor, output_size: Size<1>, return_indices?: false): Tensor;
  function adaptive_max_pool1d(
    input: Tensor,
    output_size: Size<1>,
    return_indices: true,
  ): [values: Tensor, indices: Tensor];
  /** The largest elements of so many parts; None leaves an axis as it is. Defaults: return_indices = False. */
  function adaptive_max_pool2d(
    input: Tensor,
    output_size: number | readonly (number | null)[],
    return_indices?: false,
  ): Tensor;
  function adaptive_max_pool2d(
    input: Tensor,
    output_size: number | readonly (number | null)[],
    return_indices: true,
  ): [values: Tensor, indices: Tensor];
  /** Means over so many parts. */
  function adaptive_avg_pool1d(input: Tensor, output_size: Size<1>): Tensor;
  /** Means over so many parts; None leaves an axis as it is. */
  function adaptive_avg_pool2d(input: Tensor, output_size: number | readonly (number | null)[]): Tensor;
  /**
   * A sequence, an image or a volume in another size. mode: 'nearest', 'nearest-exact', 'linear', 'bilinear',
   * 'trilinear', 'bicubic' or 'area'. Defaults: mode = 'nearest', antialias = False.
   */
  function interpolate(
    input: Tensor,
    size?: number | Dims | null,
    scale_factor?: number | readonly number[] | null,
    mode?: string,
    align_corners?: boolean | null,
    recompute_scale_factor?: boolean | null,
    antialias?: boolean,
  ): Tensor;
  /** Images read at places from -1 to 1, x before y. Defaults: mode = 'bilinear', padding_mode = 'zeros'. */
  function grid_sample(
    input: Tensor,
    grid: Tensor,
    mode?: string,
    padding_mode?: string,
    align_corners?: boolean | null,
  ): Tensor;
  /** The places, from -1 to 1, that grid_sample() reads for images moved by matrices (batch, 2, 3). */
  function affine_grid(theta: Tensor, size: Dims, align_corners?: boolean | null): Tensor;
  /**
   * More elements before and after, last dim first; negative sizes cut. mode: 'constant', 'reflect', 'replicate'
   * or 'circular'. Defaults: mode = 'constant'.
   */
  function pad(input: Tensor, pad: Dims, mode?: string, value?: Scalar | null): Tensor;
  /** Channels become pixels: (..., channels * r * r, height, width) to (..., channels, height * r, width * r). */
  function pixel_shuffle(input: Tensor, upscale_factor: number): Tensor;
  /** Pixels become channels, the other way round. */
  function pixel_unshuffle(input: Tensor, downscale_factor: number): Tensor;
  /** The mean of squared differences. Defaults: reduction = 'mean'. */
  function mse_loss(input: Tensor, target: Tensor, reduction?: Reduction): Tensor;
  /** The mean of absolute differences. Defaults: reduction = 'mean'. */
  function l1_loss(input: Tensor, target: Tensor, reduction?: Reduction): Tensor;
  /** Squared near 0, absolute beyond beta. Defaults: reduction = 'mean', beta = 1.0. */
  function smooth_l1_loss(input: Tensor, target: Tensor, reduction?: Reduction, beta?: number): Tensor;
  /** Squared near 0, absolute beyond delta. Defaults: reduction = 'mean', delta = 1.0. */
  function huber_loss(input: Tensor, target: Tensor, reduction?: Reduction, delta?: number): Tensor;
  /** log(1 + exp(-target * x)). Defaults: reduction = 'mean'. */
  function soft_margin_loss(input: Tensor, target: Tensor, reduction?: Reduction): Tensor;
  /** x, or max(0, margin - x). Defaults: margin = 1.0, reduction = 'mean'. */
  function hinge_embedding_loss(input: Tensor, target: Tensor, margin?: number, reduction?: Reduction): Tensor;
  /**
   * -log of the softmax of logits at the target classes. Defaults: ignore_index = -100, reduction = 'mean',
   * label_smoothing = 0.0.
   */
  function cross_entropy(
    input: Tensor,
    target: Tensor,
    weight?: Tensor | null,
    ignore_index?: number,
    reduction?: Reduction,
    label_smoothing?: number,
  ): Tensor;
  /** -x at the target classes. Defaults: ignore_index = -100, reduction = 'mean'. */
  function nll_loss(
    input: Tensor,
    target: Tensor,
    weight?: Tensor | null,
    ignore_index?: number,
    reduction?: Reduction,
  ): Tensor;
  /** The cross-entropy of probabilities. Defaults: reduction = 'mean'. */
  function binary_cross_entropy(input: Tensor, target: Tensor, weight?: Tensor | null, reduction?: Reduction): Tensor;
  /** The cross-entropy of sigmoids. Defaults: reduction = 'mean'. */
  function binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight?: Tensor | null,
    reduction?: Reduction,
    pos_weight?: Tensor | null,
  ): Tensor;
  /** target * (log(target) - x). Defaults: reduction = 'mean', log_target = False. */
  function kl_div(input: Tensor, target: Tensor, reduction?: Reduction, log_target?: boolean): Tensor;
  /**
   * How unlikely counts are; x is the logarithm of what is expected, or that itself. full: with Stirling's term.
   * Defaults: log_input = True, full = False, eps = 1e-8, reduction = 'mean'.
   */
  function poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input?: boolean,
    full?: boolean,
    eps?: number,
    reduction?: Reduction,
  ): Tensor;
  /**
   * How unlikely targets are around x with variances, which are eps at least; NaN where one is negative. Defaults:
   * full = False, eps = 1e-6, reduction = 'mean'.
   */
  function gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var_: Operand,
    full?: boolean,
    eps?: number,
    reduction?: Reduction,
  ): Tensor;
  /** 1 - cos(a, b), or max(0, cos(a, b) - margin). Defaults: margin = 0.0, reduction = 'mean'. */
  function cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin?: number,
    reduction?: Reduction,
  ): Tensor;
  /** max(0, margin - target * (a - b)). Defaults: margin = 0.0, reduction = 'mean'. */
  function margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin?: number,
    reduction?: Reduction,
  ): Tensor;
  /**
   * The mean over other classes of max(0, margin - x[target] + x[other])^p. Defaults: p = 1.0, margin = 1.0,
   * reduction = 'mean'.
   */
  function multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p?: number,
    margin?: number,
    weight?: Tensor | null,
    reduction?: Reduction,
  ): Tensor;
  /**
   * How far classes that are none of a sample's come near those that are; targets are classes, and end at the
   * first -1. Defaults: reduction = 'mean'.
   */
  function multilabel_margin_loss(input: Tensor, target: Tensor, reduction?: Reduction): Tensor;
  /** Binary cross entropies of logits, their mean over the classes. Defaults: reduction = 'mean'. */
  function multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight?: Tensor | null,
    reduction?: Reduction,
  ): Tensor;
  /**
   * max(0, margin + |a - p| - |a - n|). Defaults: margin = 1.0, p = 2.0, eps = 1e-6, swap = False, reduction =
   * 'mean'.
   */
  function triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin?: number,
    p?: number,
    eps?: number,
    swap?: boolean,
    reduction?: Reduction,
  ): Tensor;
  /**
   * How much nearer than the margin the negative lies to the anchor than the positive does, by a distance of one's
   * own. Defaults: margin = 1.0, swap = False, reduction = 'mean'.
   */
  function triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance_function?: ((a: Tensor, b: Tensor) => Tensor) | null,
    margin?: number,
    swap?: boolean,
    reduction?: Reduction,
  ): Tensor;
  /**
   * Of sequences whose labels are given without their places. Defaults: blank = 0, reduction = 'mean',
   * zero_infinity = False.
   */
  function ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Dims,
    target_lengths: Tensor | Dims,
    blank?: number,
    reduction?: Reduction,
    zero_infinity?: boolean,
  ): Tensor;
  /**
   * cross_entropy(linear(x, weight), targets) whose logits exist for a chunk of rows at a time. Defaults:
   * ignore_index = -100, chunk = 1024.
   */
  function linear_cross_entropy(
    input: Tensor,
    weight: Tensor,
    target: Tensor,
    ignore_index?: number,
    chunk?: number,
  ): Tensor;
}

export declare namespace nn.init {
  /** Even between a and b. Defaults: a = 0.0, b = 1.0. */
  function uniform_(tensor: Tensor, a?: number, b?: number, generator?: Generator | null): Tensor;
  /** Normally distributed. Defaults: mean = 0.0, std = 1.0. */
  function normal_(tensor: Tensor, mean?: number, std?: number, generator?: Generator | null): Tensor;
  /** Normal, drawn again where outside of a..b. Defaults: mean = 0.0, std = 1.0, a = -2.0, b = 2.0. */
  function trunc_normal_(
    tensor: Tensor,
    mean?: number,
    std?: number,
    a?: number,
    b?: number,
    generator?: Generator | null,
  ): Tensor;
  /** One number everywhere. */
  function constant_(tensor: Tensor, val: number): Tensor;
  /** 0 everywhere. */
  function zeros_(tensor: Tensor): Tensor;
  /** 1 everywhere. */
  function ones_(tensor: Tensor): Tensor;
  /** 1 on the diagonal of a matrix, 0 elsewhere. */
  function eye_(tensor: Tensor): Tensor;
  /** Weights of a convolution that hands its channels on as they are. Defaults: groups = 1. */
  function dirac_(tensor: Tensor, groups?: number): Tensor;
  /**
   * Keeps the variance through rectifiers with a slope of a below 0; He et al., 2015. Defaults: a = 0.0, mode =
   * 'fan_in', nonlinearity = 'leaky_relu'.
   */
  function kaiming_uniform_(
    tensor: Tensor,
    a?: number,
    mode?: string,
    nonlinearity?: string,
    generator?: Generator | null,
  ): Tensor;
  /**
   * The same, normally distributed; He et al., 2015. Defaults: a = 0.0, mode = 'fan_in', nonlinearity =
   * 'leaky_relu'.
   */
  function kaiming_normal_(
    tensor: Tensor,
    a?: number,
    mode?: string,
    nonlinearity?: string,
    generator?: Generator | null,
  ): Tensor;
  /** Keeps the variance forwards and backwards; Glorot and Bengio, 2010. Defaults: gain = 1.0. */
  function xavier_uniform_(tensor: Tensor, gain?: number, generator?: Generator | null): Tensor;
  /** The same, normally distributed; Glorot and Bengio, 2010. Defaults: gain = 1.0. */
  function xavier_normal_(tensor: Tensor, gain?: number, generator?: Generator | null): Tensor;
  /**
   * Rows, or columns where there are fewer, at right angles to each other; Saxe et al., 2013. Defaults: gain =
   * 1.0.
   */
  function orthogonal_(tensor: Tensor, gain?: number, generator?: Generator | null): Tensor;
  /** What a nonlinearity asks of the spread of weights before it. */
  function calculate_gain(nonlinearity: string, param?: number | null): number;
}

export declare namespace linalg {
  /** The inverse of every matrix; LinAlgError names a singular one. */
  function inv(A: Tensor): Tensor;
  /**
   * X with A @ X = B, or X @ A = B with left=False. B is a vector for each matrix where its shape is A's without
   * the last dim. Defaults: left = True.
   */
  function solve(A: Tensor, B: Tensor, left?: boolean): Tensor;
  /**
   * As solve(), for a triangular A, of which one triangle is read; unitriangular: its diagonal counts as 1.
   * Defaults: left = True, unitriangular = False.
   */
  function solve_triangular(A: Tensor, B: Tensor, upper: boolean, left?: boolean, unitriangular?: boolean): Tensor;
  /**
   * (solution, residuals, rank, singular_values) for the smallest X with the least |A @ X - B|; always LAPACK's
   * gelsd.
   */
  function lstsq(A: Tensor, B: Tensor, rcond?: number | null, driver?: string | null): LeastSquares;
  /**
   * The Moore-Penrose inverse. Singular values below max(atol, rtol * the largest) count as 0. Defaults: hermitian
   * = False.
   */
  function pinv(A: Tensor, atol?: number | null, rtol?: number | null, hermitian?: boolean): Tensor;
  /**
   * L with A = L @ L.mT of symmetric positive-definite matrices, whose lower triangle is read; with upper=True
   * L.mT. Defaults: upper = False.
   */
  function cholesky(A: Tensor, upper?: boolean): Tensor;
  /** (Q, R) with A = Q @ R. mode: 'reduced', 'complete', or 'r' for R alone. Defaults: mode = 'reduced'. */
  function qr(A: Tensor, mode?: string): Qr;
  /**
   * (U, S, Vh) with A = U @ diag(S) @ Vh, S descending. Gradients go through the first min(m, n) vectors.
   * Defaults: full_matrices = True.
   */
  function svd(A: Tensor, full_matrices?: boolean, driver?: string | null): Svd;
  /** The singular values, descending. */
  function svdvals(A: Tensor, driver?: string | null): Tensor;
  /**
   * (eigenvalues, eigenvectors) of symmetric matrices, ascending. UPLO: which triangle is read, 'L' or 'U'.
   * Defaults: UPLO = 'L'.
   */
  function eigh(A: Tensor, UPLO?: string): Eigen;
  /** The eigenvalues of symmetric matrices, ascending. Defaults: UPLO = 'L'. */
  function eigvalsh(A: Tensor, UPLO?: string): Tensor;
  /** The determinant of every matrix. */
  function det(A: Tensor): Tensor;
  /** (sign, logabsdet) of the determinant of every matrix. */
  function slogdet(A: Tensor): SignAndLog;
  /** The p-norm along dims, or of all elements. Defaults: ord = 2, keepdim = False. */
  function vector_norm(
    x: Tensor,
    ord?: number,
    dim?: number | Dims | null,
    keepdim?: boolean,
    dtype?: DType | null,
  ): Tensor;
  /**
   * The norm of every matrix, whose dims are the last two unless given. ord: 'fro', 'nuc', 1, -1, 2, -2, inf or
   * -inf. Defaults: ord = 'fro', keepdim = False.
   */
  function matrix_norm(A: Tensor, ord?: Order, dim?: Dims | null, keepdim?: boolean, dtype?: DType | null): Tensor;
  /**
   * The 2-norm of all elements, or along dims; with an ord the norm of a vector, or of matrices where there are
   * two dims. Defaults: keepdim = False.
   */
  function norm(A: Tensor, ord?: Order | null, dim?: Dims | null, keepdim?: boolean, dtype?: DType | null): Tensor;
  /** How many singular values are above max(atol, rtol * the largest). Defaults: hermitian = False. */
  function matrix_rank(
    A: Tensor,
    atol?: number | null,
    rtol?: number | null,
    hermitian?: boolean,
    tol?: number | null,
  ): Tensor;
  /**
   * The norm of a matrix times that of its inverse, infinite for a singular one. p: an ord of matrix_norm(), 2
   * unless given.
   */
  function cond(A: Tensor, p?: Order | null): Tensor;
  /** A multiplied n times; the inverse for a negative n. */
  function matrix_power(A: Tensor, n: number): Tensor;
  /** 1 + A + A @ A / 2 + ... of every matrix. */
  function matrix_exp(A: Tensor): Tensor;
  /** The product of several matrices in the cheapest order; the first and the last may be vectors. */
  function multi_dot(tensors: readonly Tensor[]): Tensor;
}
