/**
 * Tells whether a `Content-Type` value is `application/json` in UTF-8 (RFC 8259 §8.1). Parameters
 * other than `charset` mean nothing for JSON and are ignored.
 */
export function isJsonMediaType(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase())
  if (type !== 'application/json') return false
  return parameters.every(
    (parameter) =>
      !/^charset\s*=/.test(parameter) || /^charset\s*=\s*(?:utf-8|"utf-8")$/.test(parameter),
  )
}
