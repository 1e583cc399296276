import type { HttpHead } from './http-head.ts'

/** The first bytes of a program in a tunnel, as far as they name a server. */
export type Flight =
  /** TLS; `serverName` as sent, or null without one. */
  | {
      readonly kind: 'tls'
      readonly serverName: string | null
      readonly hasEncryptedHello: boolean
    }
  | { readonly kind: 'http'; readonly head: HttpHead }
  /** HTTP/2 without TLS: its server is named in compressed fields, anew for each stream. */
  | { readonly kind: 'http2' }
  /** A PROXY header, after which the content of the connection is another one's. */
  | { readonly kind: 'proxied' }
  /** Any other protocol. */
  | { readonly kind: 'opaque' }
  /** Begins like TLS or HTTP, but cannot be read without doubt. */
  | { readonly kind: 'malformed'; readonly protocol: 'tls' | 'http' }
  /** Not enough bytes in time. */
  | { readonly kind: 'incomplete' }

/** Recognizes one family of protocols. */
export interface Classifier {
  /** Reads all bytes so far; returns null while more are needed. */
  read(received: Buffer): Flight | null
  /** Number of bytes that name no server yet in any protocol, so that they need not wait. */
  harmless(): number
}
