import { constants } from 'node:crypto'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { RequestListener } from 'node:http'
import type { Certificate } from './certificate.ts'

/**
 * Mozilla's intermediate recommendation without the DHE suites: authenticated and forward secret.
 */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** A handshake is a few round trips; a slower client would hold a connection to no purpose. */
const HANDSHAKE_TIMEOUT_MS = 10_000

/** A server that speaks HTTP over TLS 1.2 or 1.3. */
export function createTlsServer(
  certificate: Certificate,
  options: ServerOptions,
  handler: RequestListener,
): Server {
  return createServer(
    { ...options, ...contextOf(certificate), handshakeTimeout: HANDSHAKE_TIMEOUT_MS },
    handler,
  )
}

/** From the next handshake on the server shows this certificate; open connections stay. */
export function replaceCertificate(server: Server, certificate: Certificate): void {
  server.setSecureContext(contextOf(certificate))
}

function contextOf({ cert, key }: Certificate) {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2' as const,
    ciphers: CIPHERS,
    honorCipherOrder: true,
    // A client of TLS 1.2 may ask for handshakes on one connection, which cost the server more than
    // it.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  }
}
