/**
 * Tells whether a `Content-Type` value is `application/json` in UTF-8 (RFC 8259 §8.1). Parameters
 * other than `charset` mean nothing for JSON and are ignored.
 */
export function isJsonMediaType(contentType: string): boolean {
  // As nearly everybody writes it; taking it apart takes a hundredth of a small write.
  if (contentType === 'application/json') return true
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase())
  if (type !== 'application/json') return false
  return parameters.every(
    (parameter) =>
      !/^charset\s*=/.test(parameter) || /^charset\s*=\s*(?:utf-8|"utf-8")$/.test(parameter),
  )
}
