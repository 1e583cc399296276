/**
 * The outcome of parsing input: a value, or one sentence with the correction.
 */
export type Parsed<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string }

export function parsed<T>(value: T): Parsed<T> {
  return { ok: true, value }
}

export function refused<T>(message: string): Parsed<T> {
  return { ok: false, message }
}
