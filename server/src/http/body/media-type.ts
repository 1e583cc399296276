/**
 * Tells whether a `Content-Type` value is `application/json` in UTF-8 (RFC 8259 §8.1). Parameters
 * other than `charset` have no meaning for JSON and are ignored.
 */
export function isJsonMediaType(contentType: string): boolean {
  // Fast path for the common form.
  if (contentType === 'application/json') return true
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase())
  if (type !== 'application/json') return false
  return parameters.every(
    (parameter) =>
      !/^charset\s*=/.test(parameter) || /^charset\s*=\s*(?:utf-8|"utf-8")$/.test(parameter),
  )
}
