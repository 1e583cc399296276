/** The author of a change, with address and request; kept with the change. */
export interface Author {
  /**
   * `user:alice`, `organization:acme:<token id>`, `issuer:<its URL>`, `enrolment:acme:<token id>`,
   * `rollout:acme:<id>` or `operator`.
   */
  readonly actor: string
  /** Address of the client; null for a command on the server's own machine. */
  readonly address: string | null
  readonly request_id: string | null
}

/** Where a request comes from. */
export type RequestOrigin = Omit<Author, 'actor'>

/** The user that runs `palisade-server`, with access to the store itself. */
export const OPERATOR: Author = { actor: 'operator', address: null, request_id: null }

/** The server itself, as when it sums up failed sign-ins or removes old events. */
export const SERVER: Author = { actor: 'server', address: null, request_id: null }
