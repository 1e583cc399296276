import {
  createdEnrolmentTokenSchema,
  listEnrolmentTokensResponseSchema,
  type CreateEnrolmentTokenRequest,
  type CreatedEnrolmentToken,
  type EnrolmentToken,
} from '@palisade/protocol'
import type { Call } from './call.ts'
import { collectPages } from './list-pages.ts'
import { apiPath } from './server-url.ts'

/** Tokens with which machines enrol themselves. */
export interface EnrolmentTokensClient {
  /**
   * Lists tokens that are not revoked, page by page; also used ones, and expired ones for 30 days.
   */
  list(): Promise<readonly EnrolmentToken[]>
  /** `token` in the answer has all data that a machine needs, and is shown only once. */
  create(body: CreateEnrolmentTokenRequest): Promise<CreatedEnrolmentToken>
  /** Revokes the token. Devices that enrolled with it stay. */
  revoke(tokenId: string): Promise<void>
}

export function createEnrolmentTokensClient(call: Call, root: string): EnrolmentTokensClient {
  return {
    list: async () => collectPages(call, { path: root, page: listEnrolmentTokensResponseSchema }),
    create: async (body) => call({ method: 'POST', path: root, body }, createdEnrolmentTokenSchema),
    revoke: async (tokenId) => call.empty({ method: 'DELETE', path: root + apiPath(tokenId) }),
  }
}
