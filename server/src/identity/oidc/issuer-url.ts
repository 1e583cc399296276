const MAX_LENGTH = 2048
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/**
 * Whether the text is a valid issuer (OpenID Connect Discovery §3): `https` with a host and an
 * optional path, without query or fragment. `http` is allowed only on loopback, because a network
 * attacker could replace keys fetched over plain HTTP.
 */
export function isIssuerUrl(text: string): boolean {
  if (text.length > MAX_LENGTH || /[?#@\\\s]/.test(text)) return false
  return isProtected(URL.parse(text))
}

/** URL of the issuer's metadata, below its path. A slash at the end of the path is ignored. */
export function discoveryUrlOf(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** Whether keys of this issuer may be fetched from the `jwks_uri` in its metadata. */
export function isKeySetUrl(text: string, issuer: string): boolean {
  const url = URL.parse(text)
  if (url === null || text.length > MAX_LENGTH || url.username !== '' || url.password !== '')
    return false
  // Metadata from the internet must not redirect the server to a service on loopback (SSRF).
  return isProtected(url) && (url.protocol === 'https:' || issuer.startsWith('http://'))
}

function isProtected(url: URL | null): boolean {
  if (url === null || url.hostname === '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname))
}
