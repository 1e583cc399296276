/**
 * The path of a request's target, as sent, without query and fragment. A target may name the
 * origin, too (RFC 9112 §3.2.2): the router does not look at it, so nothing else may.
 */
export function pathOfTarget(target: string): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? ''
  return path === '' ? '/' : path
}
