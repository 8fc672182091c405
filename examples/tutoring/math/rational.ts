/** Exact fractions, so that a grade does not depend on rounding. */
export interface Rational {
  readonly top: bigint
  /** Always positive, and without a common divisor with `top`. */
  readonly bottom: bigint
}

export function rational(top: bigint, bottom: bigint = 1n): Rational {
  const divisor = greatestDivisor(top, bottom) * (bottom < 0n ? -1n : 1n)
  return { top: top / divisor, bottom: bottom / divisor }
}

export const zero: Rational = rational(0n)
export const one: Rational = rational(1n)

export function add(left: Rational, right: Rational): Rational {
  return rational(left.top * right.bottom + right.top * left.bottom, left.bottom * right.bottom)
}

export function subtract(left: Rational, right: Rational): Rational {
  return add(left, negative(right))
}

export function multiply(left: Rational, right: Rational): Rational {
  return rational(left.top * right.top, left.bottom * right.bottom)
}

/** Undefined if the divisor is zero. */
export function divide(left: Rational, right: Rational): Rational | undefined {
  if (isZero(right)) return undefined
  return rational(left.top * right.bottom, left.bottom * right.top)
}

export function negative({ top, bottom }: Rational): Rational {
  return { top: -top, bottom }
}

export function isZero({ top }: Rational): boolean {
  return top === 0n
}

export function equal(left: Rational, right: Rational): boolean {
  return left.top === right.top && left.bottom === right.bottom
}

export function isWhole({ bottom }: Rational): boolean {
  return bottom === 1n
}

/** Parses `12.5` and `3`. */
export function fromDecimal(text: string): Rational {
  const [whole = '0', decimals = ''] = text.split('.')
  return rational(BigInt(`${whole || '0'}${decimals}`), 10n ** BigInt(decimals.length))
}

function greatestDivisor(left: bigint, right: bigint): bigint {
  let [larger, smaller] = [absolute(left), absolute(right)]
  while (smaller > 0n) [larger, smaller] = [smaller, larger % smaller]
  return larger === 0n ? 1n : larger
}

export function absolute(value: bigint): bigint {
  return value < 0n ? -value : value
}
