const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused; is it running?',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved',
  ECONNRESET: 'the connection was cut off',
  UND_ERR_SOCKET: 'the connection was cut off',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
}

const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Describes a failure of `fetch`, with the correction. `server` is the canonical base. */
export function describeNetworkError(error: unknown, server: string): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(cause instanceof Error)) return 'network failure'
  const code = 'code' in cause ? String(cause.code) : ''
  return (
    WORDS[code] ??
    describeProtocolError(cause, code, server) ??
    (cause.message || 'network failure')
  )
}

function describeProtocolError(cause: Error, code: string, server: string): string | null {
  if (UNKNOWN_AUTHORITY.has(code))
    return 'no authority known here signed its certificate; name yours by NODE_EXTRA_CA_CERTS=FILE'
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO')
    return `it speaks no TLS there; write \`${server.replace(/^https:/, 'http:')}\``
  if (cause.name === 'HTTPParserError' && server.startsWith('http:'))
    return `it speaks no HTTP there; with TLS, write \`${server.replace(/^http:/, 'https:')}\``
  return null
}
