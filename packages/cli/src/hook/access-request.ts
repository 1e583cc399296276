/** A request as the agent's local API takes it. */
export type AccessRequest =
  { readonly action: 'read' | 'write'; readonly path: string } | ConnectionRequest

export interface ConnectionRequest {
  readonly action: 'connect:tcp'
  readonly host: string
  readonly port: number
  /** The agent resolves an allowed name and decides its addresses, as its proxy would. */
  readonly resolve: true
}

/**
 * The connection that a fetch of an address makes; null if it is no http or https address. The host
 * is as the URL standard reads it, which is how a fetch reads it.
 */
export function requestOfUrl(text: string): ConnectionRequest | null {
  const url = URL.parse(text)
  const usual = url?.protocol === 'https:' ? 443 : url?.protocol === 'http:' ? 80 : null
  if (url === null || usual === null) return null
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return connectionTo(host, url.port === '' ? usual : Number(url.port))
}

export function connectionTo(host: string, port: number): ConnectionRequest {
  return { action: 'connect:tcp', host, port, resolve: true }
}
