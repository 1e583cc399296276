/**
 * Returns the path of a request target as sent, without query and fragment. The target may be in
 * absolute form (RFC 9112 §3.2.2). Its origin is dropped, because the router ignores it too.
 */
export function pathOfTarget(target: string): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? ''
  return path === '' ? '/' : path
}
