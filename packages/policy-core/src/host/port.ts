/** Tells whether `value` is a port: a whole number 1 to 65535. */
export function isPort(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && (value & 0xffff) === value
}

/** Reads decimal digits without sign, leading zero or white space; null when they are no port. */
export function parsePort(text: string): number | null {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : null
  return isPort(port) ? port : null
}
