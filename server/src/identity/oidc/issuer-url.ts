const MAX_LENGTH = 2048
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/**
 * Tells whether the text may name an issuer (OpenID Connect Discovery §3): `https` with a host and
 * perhaps a path, nothing more; `http` only on this machine, since keys that come over plain HTTP
 * are keys of whoever is on the way.
 */
export function isIssuerUrl(text: string): boolean {
  if (text.length > MAX_LENGTH || /[?#@\\\s]/.test(text)) return false
  return isProtected(URL.parse(text))
}

/** Where the issuer describes itself: below its path, whether that ends in a slash or not. */
export function discoveryUrlOf(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** Tells whether keys of this issuer may be fetched from the address that it names. */
export function isKeySetUrl(text: string, issuer: string): boolean {
  const url = URL.parse(text)
  if (url === null || text.length > MAX_LENGTH || url.username !== '' || url.password !== '')
    return false
  // Or a document from the internet could send us to a service of this machine.
  return isProtected(url) && (url.protocol === 'https:' || issuer.startsWith('http://'))
}

function isProtected(url: URL | null): boolean {
  if (url === null || url.hostname === '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname))
}
